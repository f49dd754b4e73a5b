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
from fairbandits.views import plot_style
from fairbandits.views.line_plots import draw_running_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_PART_TITLES = {"train": "training", "test": "test"}


def cumulative_rewards(panels: Mapping[str, Sequence[Trace]], attribute: str | None = None) -> Figure:
    """Draw the cumulative mean reward of each group: training left, testing right, one row per panel.

    Parameters
    ----------
    panels : mapping of str to traces
        The traces of all seeds, by the title of the panel. Lines are means over seeds, and bands are one standard
        deviation on either side.
    attribute : str, optional
        The attribute that defines the groups; by default the first one.
    """
    first = next(iter(panels.values()))[0]
    parts = first.parts
    with figure_style.style_context():
        styles = _styles(panels, attribute)
        figure, axes = figure_style.subplots(len(panels), len(parts), 1.45)
        lows, highs = [], []
        legend: dict[str, Any] = {}
        for row, (title, traces) in enumerate(panels.items()):
            for column, part in enumerate(parts):
                ax = axes[row, column]
                low, high = _draw_part(ax, [trace.running_means(part, attribute) for trace in traces], styles)
                lows.append(low)
                highs.append(high)
                ax.set_xlabel(f"{_PART_TITLES[part]} round" if row == len(panels) - 1 else "")
                legend |= {str(line.get_label()): line for line in ax.get_lines()}
            # Left-aligned over both columns, because most titles are wider than one.
            axes[row, 0].set_title(title, loc="left")
            axes[row, 0].set_ylabel("mean reward")
        if np.isfinite(max(highs)):
            margin = 0.08 * (max(highs) - min(lows)) + 1e-3
            for ax in axes.flat:
                ax.set_ylim(min(lows) - margin, max(highs) + margin)
        figure_style.add_header(figure, first.data_source, _spread(panels))
        figure_style.add_legend(figure, legend)
    return figure


def gamma_trade_off(table: Table, data_source: str) -> Figure:
    """Draw utility loss and reward gap against gamma, measured and published."""
    gammas = [float(path[0]) for path in table]
    with figure_style.style_context():
        figure, axes = figure_style.subplots(1, 1, 2.1)
        ax = axes[0, 0]
        for number, metric in enumerate(("utility_loss", "reward_gap")):
            entries = [row[metric] for row in table.values()]
            colour, style = plot_style.LINE_STYLES[number]
            marker: dict[str, Any] = {"color": colour, "marker": "os"[number], "markersize": 4}
            label = metric.replace("_", " ")
            means, sds = [entry.mean for entry in entries], [entry.sd or 0.0 for entry in entries]
            ax.errorbar(gammas, means, sds, linestyle=style, capsize=2, label=label, **marker)
            # Shifted to the right, so that the published number does not hide the measured one.
            shifted, published = [gamma + 0.12 for gamma in gammas], [entry.published for entry in entries]
            ax.plot(shifted, published, linestyle="", mfc="white", label=f"{label}, published", **marker)
        ax.set_xticks(gammas)
        ax.set_xlabel("gamma")
        ax.set_ylabel("per round, test part")
        ax.set_ylim(bottom=-0.004)
        n = next(iter(table.values()))["utility_loss"].n
        figure_style.add_header(figure, data_source, f"mean ± sd of {n} seeds")
        figure_style.add_legend(figure, _legend_order(ax, "published"))
    return figure


def regret_and_bound(traces: Mapping[float, Sequence[Trace]]) -> Figure:
    """Draw the regret and the bound of Theorem 1 for every gamma, on logarithmic axes."""
    with figure_style.style_context():
        figure, axes = figure_style.subplots(1, 1, 2.3)
        ax = axes[0, 0]
        rounds = len(next(iter(traces.values()))[0])
        at = np.unique(np.geomspace(1, rounds, 60).astype(np.int64))
        for (gamma, of_gamma), (colour, style) in zip(traces.items(), plot_style.LINE_STYLES, strict=False):
            regret = np.array([theory.cumulative_regret(trace) for trace in of_gamma])[:, at - 1]
            mean, low, high = regret.mean(axis=0), regret.min(axis=0), regret.max(axis=0)
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
        ax.set_ylabel("cumulative regret")
        seeds = len(next(iter(traces.values())))
        figure_style.add_header(
            figure, theory.DATA_SOURCE, f"line: mean of {seeds} seeds; band: minimum to maximum"
        )
        figure_style.add_legend(figure, _legend_order(ax, "bound"))
    return figure


def _draw_part(ax: Axes, curves: Sequence[Mapping[Any, Floats]], styles: Mapping[Any, Any]) -> tuple[float, float]:
    """Draw one part, and return the lowest and the highest value after the first tenth of the rounds."""
    low, high = np.inf, -np.inf
    for name, (colour, style) in styles.items():
        of_seeds = [curve[name] for curve in curves if name in curve]
        if not of_seeds:
            continue
        rounds, mean, sd = _mean_and_sd(of_seeds)
        bounds = draw_running_mean(ax, rounds, mean, sd, color=colour, linestyle=style, label=str(name))
        low, high = min(low, bounds[0]), max(high, bounds[1])
    length = max((len(curve) for of_seed in curves for curve in of_seed.values()), default=1)
    ax.set_xlim(0, length)
    ax.margins(x=0)
    return low, high


def _styles(panels: Mapping[str, Sequence[Trace]], attribute: str | None) -> dict[Any, tuple[str, Any]]:
    """Return the line style of each group, the same in every panel and part."""
    traces = [trace for traces in panels.values() for trace in traces]
    names = {name for trace in traces for part in trace.parts for name in trace.running_means(part, attribute)}
    return {name: plot_style.line_style(index) for index, name in enumerate(sorted(names, key=str))}


def _mean_and_sd(curves: Sequence[Floats]) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return rounds, mean and standard deviation over seeds, for the rounds where every seed has a mean."""
    stacked = np.array(curves)
    defined = np.flatnonzero(~np.isnan(stacked).any(axis=0))
    stacked = stacked[:, defined]
    return defined + 1, stacked.mean(axis=0), stacked.std(axis=0, ddof=1) if len(curves) > 1 else 0 * stacked[0]


def _spread(panels: Mapping[str, Sequence[Trace]]) -> str:
    n = len(next(iter(panels.values())))
    spread = f"mean of {n} seeds, band ± 1 sd" if n > 1 else "one run"
    return f"cumulative mean reward; {spread}"


def _legend_order(ax: Axes, last: str) -> dict[str, Any]:
    """Return the lines by label, those whose label contains `last` at the end: legends fill column by column."""
    lines = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    return {label: lines[label] for label in sorted(lines, key=lambda label: last in label)}
