"""Traces in notebooks: the HTML view and the plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.fairness import metrics
from fairbandits.fairness.groups import DEFAULT_ATTRIBUTE
from fairbandits.fairness.notebook import group_label
from fairbandits.views import html
from fairbandits.views.group_styles import group_styles
from fairbandits.views.interval_plots import add_grid, extremes_of
from fairbandits.views.line_plots import draw_running_mean
from fairbandits.views.plot_style import GREY, legend_beside, plot_axes
from fairbandits.views.text import counted, number_formatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairbandits.simulate.trace import Trace

_MAX_LINES = 10
#: Metrics over all users, as opposed to those of groups, and their titles.
_OVERALL = {
    "utility_loss": "utility loss",
    "reward_gap": "reward gap",
    "observed_reward_gap": "reward gap, observed",
    "worst_off_reward": "worst-off group's reward",
}


def trace_html(trace: Trace) -> str:
    """Return the view of a trace: its metrics by part, and the groups of the last part."""
    if not len(trace):
        return html.card("Trace", "no rounds")
    number = number_formatter(4)
    by_part = {part: trace.metrics(part) for part in trace.parts}
    overall = [(title, *(number(of[name]) for of in by_part.values())) for name, title in _OVERALL.items()]
    title = f"Trace of {counted(len(trace), 'round')}"
    parts = ("", *(f"{part} ({int((trace.part == part).sum()):,} rounds)" for part in by_part))
    tables = html.table(parts, overall, len(overall)), _group_table(trace.in_part(trace.parts[-1]))
    return html.card(title, *tables, note=trace.data_source)


def _group_table(rounds: Trace) -> html.Markup:
    number, rows = number_formatter(4), []
    for attribute, groups in rounds.group.items():
        counts, means = metrics.group_rounds(groups), metrics.group_means(rounds.expected, groups)
        regrets = metrics.group_regret(rounds.best, rounds.expected, groups)
        rows += [
            (group_label(attribute, name), f"{n:,}", number(means[name]), number(regrets[name]))
            for name, n in counts.items()
        ]
    columns = (f"group, {rounds.parts[-1]}", "rounds", "mean reward", "regret")
    return html.table(columns, rows, len(rows))


def plot_trace(trace: Trace, ax: Axes | None, attribute: str | None) -> Axes:
    """Plot the cumulative mean reward of each group."""
    groups = trace.groups_by(attribute)
    last = trace.part == trace.parts[-1]
    # Sort groups by their mean in the last part, if they have one: the order of the lines at the end, and of the
    # legend.
    means = metrics.group_means(trace.expected, groups) | metrics.group_means(trace.expected[last], groups[last])
    names = extremes_of(sorted(means, key=lambda name: -means[name]), _MAX_LINES)
    styles = group_styles((name,) for name in names)
    with plot_axes(ax, 7.2, 3.4) as axes:
        bounds = [_draw_part(axes, trace, part, groups, styles) for part in trace.parts]
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        margin = 0.08 * (high - low) + 1e-3
        axes.set_ylim(low - margin, high + margin)
        axes.set_xlim(0, len(trace))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("round")
        axes.set_ylabel("cumulative mean reward")
        by = next(iter(trace.group)) if attribute is None else attribute
        title = "Mean reward of each group" if by == DEFAULT_ATTRIBUTE else f"Mean reward by {by}"
        # The names of the parts are between the title and the axes.
        axes.set_title(title, pad=18.0 if len(bounds) > 1 else None)
        add_grid(axes, "y")
        legend_beside(axes, _legend(axes, names), n_omitted=len(means) - len(names))
    return axes


def _draw_part(axes: Axes, trace: Trace, part: str, groups: Any, styles: Any) -> tuple[float, float]:
    """Draw the lines of one part, and mark where it begins; return the range of its values."""
    rounds = np.flatnonzero(trace.part == part)
    expected, of_part = trace.expected[rounds], groups[rounds]
    bounds = []
    for (name,), style in styles.items():
        curve = metrics.cumulative_mean(expected, of_part == name)
        defined = ~np.isnan(curve)
        if defined.any():
            line = {"color": style.colour, "linestyle": style.dashes, "label": str(name)}
            bounds.append(draw_running_mean(axes, rounds[defined] + 1, curve[defined], **line))
    if len(trace.parts) > 1:
        if rounds[0]:
            axes.axvline(float(rounds[0]), color=GREY, linewidth=0.8)
        axes.annotate(
            part, (float(rounds[0]), 1.0), (2, 3), xycoords=axes.get_xaxis_transform(),
            textcoords="offset points", va="bottom", color=GREY,
        )  # fmt: skip
    return min((low for low, _ in bounds), default=0.0), max((high for _, high in bounds), default=1.0)


def _legend(axes: Axes, names: list[Any]) -> dict[str, Any]:
    """Return the entries of the legend."""
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    return {str(name): lines[str(name)] for name in names if str(name) in lines}
