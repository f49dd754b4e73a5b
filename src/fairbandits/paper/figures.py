"""The figures of the reproduction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.paper import theory
from fairbandits.paper.tables import Table
from fairbandits.report import figure_style
from fairbandits.simulate import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_PART_TITLES = {"train": "training", "test": "testing"}


def cumulative_rewards(panels: Mapping[str, Sequence[Trace]], attribute: str | None = None) -> Figure:
    """Draw the cumulative mean reward of each group: training left, testing right, a row for each panel.

    Parameters
    ----------
    panels : mapping of str to traces
        By title, the traces of all seeds. With several, the line is their mean and the band one standard
        deviation to either side.
    attribute : str, optional
        The attribute whose groups to show; left out, the first one.
    """
    first = next(iter(panels.values()))[0]
    parts = first.parts
    with figure_style.style():
        styles = _styles(panels, attribute)
        figure, axes = figure_style.subplots(len(panels), len(parts), 1.45)
        lows, highs = [], []
        names: dict[str, Any] = {}
        for row, (title, traces) in enumerate(panels.items()):
            for column, part in enumerate(parts):
                ax = axes[row, column]
                low, high = _draw_part(ax, [trace.running_means(part, attribute) for trace in traces], styles)
                lows.append(low)
                highs.append(high)
                ax.set_xlabel(f"{_PART_TITLES[part]} round" if row == len(panels) - 1 else "")
                names |= {str(line.get_label()): line for line in ax.get_lines()}
            # To the left, over both columns: most titles are longer than one.
            axes[row, 0].set_title(title, loc="left")
            axes[row, 0].set_ylabel("mean reward so far")
        if np.isfinite(max(highs)):
            margin = 0.08 * (max(highs) - min(lows)) + 1e-3
            for ax in axes.flat:
                ax.set_ylim(min(lows) - margin, max(highs) + margin)
        figure_style.head(figure, first.data_source, _seeds(panels))
        figure_style.legend(figure, names)
    return figure


def gamma_trade_off(table: Table, data_source: str) -> Figure:
    """Draw what gamma buys and what it costs: difference and loss, measured and published."""
    gammas = [float(path[0]) for path in table]
    with figure_style.style():
        figure, axes = figure_style.subplots(1, 1, 2.1)
        ax = axes[0, 0]
        for number, metric in enumerate(("utility_loss", "reward_difference")):
            cells = [cells[metric] for cells in table.values()]
            colour, style = figure_style.STYLES[number]
            look: dict[str, Any] = {"color": colour, "marker": "os"[number], "markersize": 4}
            label = metric.replace("_", " ")
            means, sds = [cell.mean for cell in cells], [cell.sd or 0.0 for cell in cells]
            ax.errorbar(gammas, means, sds, linestyle=style, capsize=2, label=label, **look)
            # A little to the right, so that neither hides the other.
            beside, published = [gamma + 0.12 for gamma in gammas], [cell.published for cell in cells]
            ax.plot(beside, published, linestyle="", mfc="white", label=f"{label}, published", **look)
        ax.set_xticks(gammas)
        ax.set_xlabel("gamma")
        ax.set_ylabel("per round, test part")
        ax.set_ylim(bottom=-0.004)
        n = next(iter(table.values()))["utility_loss"].n
        figure_style.head(figure, data_source, f"mean ± sd of {n} seeds")
        figure_style.legend(figure, _sorted_lines(ax, "published"))
    return figure


def regret_and_bound(traces: Mapping[float, Sequence[Trace]]) -> Figure:
    """Draw the regret of every gamma, and the bound of Theorem 1 above it, on logarithmic axes."""
    with figure_style.style():
        figure, axes = figure_style.subplots(1, 1, 2.3)
        ax = axes[0, 0]
        rounds = len(next(iter(traces.values()))[0])
        at = np.unique(np.geomspace(1, rounds, 60).astype(np.int64))
        for (gamma, of_gamma), (colour, style) in zip(traces.items(), figure_style.STYLES, strict=False):
            measured = np.array([theory.regret(trace) for trace in of_gamma])[:, at - 1]
            mean, low, high = measured.mean(axis=0), measured.min(axis=0), measured.max(axis=0)
            ax.plot(at, mean, color=colour, linestyle=style, label=f"regret, gamma {gamma:g}")
            ax.fill_between(at, np.maximum(low, 1e-2), high, color=colour, alpha=0.15, linewidth=0)
            ax.plot(
                at, theory.bound(at, gamma), color=colour, linestyle=style, linewidth=0.8,
                marker="^", markevery=12, markersize=3.5, label=f"bound, gamma {gamma:g}",
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.05)
        ax.set_xlabel("round")
        ax.set_ylabel("regret so far")
        seeds = len(next(iter(traces.values())))
        figure_style.head(figure, theory.DATA_SOURCE, f"band: lowest to highest of {seeds} seeds")
        figure_style.legend(figure, _sorted_lines(ax, "bound"))
    return figure


def _draw_part(ax: Axes, curves: Sequence[Mapping[Any, Floats]], styles: Mapping[Any, Any]) -> tuple[float, float]:
    """Draw one part, and return between which values its lines run once they have settled."""
    low, high = np.inf, -np.inf
    for name, (colour, style) in styles.items():
        of_seeds = [curve[name] for curve in curves if name in curve]
        if not of_seeds:
            continue
        rounds, mean, sd = _mean_and_sd(of_seeds)
        ax.plot(rounds, mean, color=colour, linestyle=style, label=str(name))
        ax.fill_between(rounds, mean - sd, mean + sd, color=colour, alpha=0.18, linewidth=0)
        # The first few rounds swing widely, and would press the rest of the figure flat.
        settled = slice(len(mean) // 10, None)
        low = min(low, float((mean - sd)[settled].min()))
        high = max(high, float((mean + sd)[settled].max()))
    length = max((len(curve) for of_seed in curves for curve in of_seed.values()), default=1)
    ax.set_xlim(0, length)
    ax.margins(x=0)
    return low, high


def _styles(panels: Mapping[str, Sequence[Trace]], attribute: str | None) -> dict[Any, tuple[str, Any]]:
    """Give each group its line, the same in every panel and part."""
    traces = [trace for traces in panels.values() for trace in traces]
    names = {name for trace in traces for part in trace.parts for name in trace.running_means(part, attribute)}
    return {name: figure_style.style_of(number) for number, name in enumerate(sorted(names, key=str))}


def _mean_and_sd(curves: Sequence[Floats]) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Give the mean and the standard deviation of the seeds, from where each of them has seen the group."""
    stacked = np.array(curves)
    there = np.flatnonzero(~np.isnan(stacked).any(axis=0))
    stacked = stacked[:, there]
    return there + 1, stacked.mean(axis=0), stacked.std(axis=0, ddof=1) if len(curves) > 1 else 0 * stacked[0]


def _seeds(panels: Mapping[str, Sequence[Trace]]) -> str:
    n = len(next(iter(panels.values())))
    return f"mean of {n} seeds, band ± 1 sd" if n > 1 else "one run"


def _sorted_lines(ax: Axes, word: str) -> dict[str, Any]:
    """Give the lines by label, those with a word in it last: legends fill column by column."""
    lines = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    return {label: lines[label] for label in sorted(lines, key=lambda label: word in label)}
