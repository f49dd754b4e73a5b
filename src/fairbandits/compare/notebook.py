"""Comparisons in notebooks: HTML views and the plot of a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairbandits.compare import tables
from fairbandits.compare.figures import draw_trade_off, policy_styles
from fairbandits.compare.suite import PART_TITLES
from fairbandits.views import html
from fairbandits.views.plot_style import legend_beside, plot_axes
from fairbandits.views.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairbandits.compare.summary import WorldSummary

_MAX_POLICIES = 10
_FRONT_MARKS = {"on": "●", "near": "◐", "off": "○"}


def comparison_html(worlds: Mapping[str, WorldSummary], titles: Sequence[str], data_source: str) -> str:
    """Return the view of a comparison: loss and gap of every policy in every world."""
    shown = titles[:_MAX_POLICIES]
    rows = ([name, *(_loss_and_gap(summary, title) for title in shown)] for name, summary in worlds.items())
    legend = "Utility loss / reward gap; ● on the measured Pareto front, ◐ near it, ○ off it."
    rest = len(titles) - len(shown)
    columns = ["world", *shown, *([f"and {rest} more"] if rest else [])]
    table = html.table(columns, rows, len(worlds))
    title = f"Comparison of {counted(len(titles), 'policy', 'policies')} in {counted(len(worlds), 'world')}"
    return html.card(title, legend, table, note=data_source)


def _loss_and_gap(summary: WorldSummary, title: str) -> str:
    if title not in summary.policies:
        return "not applicable"
    policy = summary.policies[title]
    loss, gap = (tables.format_mean(policy, metric) for metric in ("utility_loss", "reward_gap"))
    return f"{loss} / {gap} {_FRONT_MARKS[policy.front]}"


def world_html(summary: WorldSummary) -> str:
    """Return the view of the results in a world."""
    columns = ["policy", *tables.METRIC_TITLES.values(), "front"]
    rows = (
        [title, *(tables.format_mean(policy, metric) for metric in tables.METRIC_TITLES), policy.front]
        for title, policy in summary.policies.items()
    )
    table = html.table(columns, rows, len(summary.policies))
    measured = f"Measured: {PART_TITLES[summary.world.measured]}, {summary.rounds:,.0f} rounds."
    return html.card(summary.world.description, measured, table)


def plot_world(summary: WorldSummary, name: str, tolerance: float, titles: Sequence[str], ax: Axes | None) -> Axes:
    """Plot the utility loss of each policy against its reward gap, with the frontier of the oracle."""
    # The legend names every policy.
    with plot_axes(ax, 7.6, max(4.0, 0.8 + 0.22 * len(summary.policies))) as axes:
        points = draw_trade_off(axes, summary, tolerance, policy_styles(titles))
        axes.set_title(
            f"{name}: utility loss and reward gap\nbars: 95% CI over seeds; filled: on or near the measured front"
        )
        legend_beside(axes, points)
    return axes
