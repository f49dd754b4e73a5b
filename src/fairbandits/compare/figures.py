"""The figure of a world: loss against gap, the worst-off group's reward, and each group's regret.

Bars are 95% confidence intervals over seeds, as in the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.compare import tables
from fairbandits.compare.subgroups import group_label
from fairbandits.compare.suite import PART_TITLES
from fairbandits.compare.summary import PolicySummary, WorldSummary
from fairbandits.report import figure_style
from fairbandits.views import plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2  # inches: two columns of a paper
# A policy whose loss exceeds this many times the median is listed at the edge; as a point, it would compress the
# scale of all others.
_OUTLIER_FACTOR = 3.0
# With more groups than this, the figure has no legend.
_MAX_GROUPS = 10
# The longest line of a policy's name, in characters.
_LABEL_WIDTH = 32


def world_figure(
    name: str, summary: WorldSummary, tolerance: float, data_source: str, seeds: int, titles: Sequence[str]
) -> Figure:
    """Draw the results in a world.

    Parameters
    ----------
    name : str
        The name of the world.
    summary : WorldSummary
        The results.
    tolerance : float
        The tolerated reward gap.
    data_source : str
        One line that names the data.
    seeds : int
        The number of seeds.
    titles : sequence of str
        All policies of the comparison; each has the same colour and marker in every figure.
    """
    styles = policy_styles(titles)
    with figure_style.style_context():
        figure = figure_style.new_figure(WIDTH, 2.4 + 0.12 * len(summary.policies))
        trade_off, worst_off, regret = figure.subplots(1, 3, width_ratios=[1.5, 1, 1])
        draw_trade_off(trade_off, summary, tolerance, styles)
        _draw_worst_off(worst_off, summary, styles)
        _draw_regret(regret, summary)
        spread = f"means and 95% confidence intervals over {seeds} seeds" if seeds > 1 else "one seed"
        remark = f"{name}: {PART_TITLES[summary.world.measured]}, {spread}; filled: on or near the measured front"
        figure_style.add_header(figure, data_source, remark)
    return figure


def _marker(index: int) -> dict[str, Any]:
    markers = plot_style.MARKERS
    return {"color": plot_style.line_style(index)[0], "marker": markers[index % len(markers)]}


def policy_styles(titles: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colour and the marker of each policy."""
    return {title: _marker(index) for index, title in enumerate(titles)}


def draw_trade_off(
    ax: Axes, summary: WorldSummary, tolerance: float, markers: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Draw the utility loss of each policy against its reward gap; return the points by policy."""
    points = {}
    metrics = {title: policy.metrics for title, policy in summary.policies.items()}
    limit = _OUTLIER_FACTOR * float(np.median([values["utility_loss"][0] for values in metrics.values()])) + 0.01
    outliers = {title: values for title, values in metrics.items() if values["utility_loss"][0] > limit}
    tops, rights = [max((loss for _, loss in summary.frontier), default=0.0)], [2 * tolerance]
    for title in (title for title in metrics if title not in outliers):
        policy = summary.policies[title]
        loss, gap = _mean_and_error(policy, "utility_loss"), _mean_and_error(policy, "reward_gap")
        points[title] = _draw_point(ax, gap, loss, policy, markers[title])
        tops.append(sum(loss))
        rights.append(sum(gap))
    # Leave space at the top for the list of outliers.
    top, right = (1.1 + 0.07 * len(outliers)) * max(tops) + 0.002, 1.08 * max(rights)
    _draw_frontier(ax, summary, right)
    ax.axvline(tolerance, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)))
    _annotate(ax, "tolerance", (tolerance, top), va="top")
    _list_outliers(ax, outliers, top, right)
    ax.set_xlim(-0.02 * right, right)
    ax.set_ylim(-0.03 * top, top)
    ax.set_xlabel("reward gap")
    ax.set_ylabel("utility loss")
    return points


def _mean_and_error(policy: PolicySummary, metric: str) -> tuple[float, float]:
    """Return the mean of a metric, and half the width of its 95% confidence interval; 0 with a single seed."""
    bounds = tables.interval(policy, metric)
    return policy.metrics[metric][0], 0.0 if bounds is None else (bounds[1] - bounds[0]) / 2


def _draw_point(
    ax: Axes, x: tuple[float, float], y: tuple[float, float], policy: PolicySummary, marker: dict[str, Any]
) -> Any:
    """Draw a policy with its intervals, filled if it is on or near the front."""
    face = ax.get_facecolor() if policy.front == "off" else marker["color"]
    bars: dict[str, Any] = {"xerr": x[1] or None, "yerr": y[1] or None}
    return ax.errorbar(x[0], y[0], **bars, linestyle="", elinewidth=0.7, markersize=5, mfc=face, **marker)


def _annotate(ax: Axes, text: str, point: tuple[float, float], va: str) -> None:
    ax.annotate(
        text, point, fontsize="small", color=plot_style.GREY, va=va, xytext=(3, 0), textcoords="offset points"
    )


def _draw_frontier(ax: Axes, summary: WorldSummary, right: float) -> None:
    """Draw the mean frontier of the oracle, and shade the region below it.

    In each seed, no policy lies below the frontier. A mean over seeds can lie slightly below it, if the policy's
    gaps differ between seeds.
    """
    if not summary.frontier:
        return
    gaps, losses = (list(values) for values in zip(*summary.frontier, strict=True))
    # Beyond the last tolerance the loss stays the same.
    line = [*gaps, max(right, gaps[-1])], [*losses, losses[-1]]
    ax.plot(*line, color=plot_style.ink(), linewidth=1.4, zorder=1)
    ax.fill_between(*line, -1.0, color=plot_style.GREY, alpha=0.2, zorder=0, linewidth=0)
    _annotate(ax, "oracle", (gaps[0], losses[0]), va="bottom")


def _list_outliers(ax: Axes, outliers: dict[str, Any], top: float, right: float) -> None:
    """List the loss and the gap of each policy outside the axes."""
    lines = (
        f"↑ {title}: {values['utility_loss'][0]:.2f}, {values['reward_gap'][0]:.2f}"
        for title, values in outliers.items()
    )
    text = "\n".join(["", *lines])  # the first line is taken by the label of the tolerance
    ax.text(right, top, text, fontsize="small", ha="right", va="top", color=plot_style.GREY)


def set_policy_axis(ax: Axes, titles: Sequence[str], labelled: bool) -> None:
    """Label the rows with the names of the policies, the first one at the top."""
    ax.set_yticks(range(len(titles)), [fill(title, _LABEL_WIDTH) if labelled else "" for title in titles])
    ax.set_ylim(max(len(titles), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for row in range(len(titles)):
        ax.axhline(row, color="0.92", linewidth=0.6, zorder=0)


def _draw_worst_off(ax: Axes, summary: WorldSummary, markers: Mapping[str, dict[str, Any]]) -> None:
    for row, (title, policy) in enumerate(summary.policies.items()):
        if "worst_off_reward" in policy.metrics:
            _draw_point(ax, _mean_and_error(policy, "worst_off_reward"), (row, 0.0), policy, markers[title])
    if summary.oracle:
        ax.axvline(min(summary.oracle.values()), color="black", linewidth=1.0)
    set_policy_axis(ax, list(summary.policies), labelled=True)
    ax.set_xlabel("worst-off group's reward\n(line: oracle at the tolerance)")


def _draw_regret(ax: Axes, summary: WorldSummary) -> None:
    for index, group in enumerate(summary.groups):
        label = group_label(group)
        spreads = [_mean_and_error(policy, f"regret_{label}") for policy in summary.policies.values()]
        means, errors = zip(*spreads, strict=True)
        style = {"linestyle": "", "elinewidth": 0.7, "markersize": 4, "mfc": "none", **_marker(index)}
        ax.errorbar(means, range(len(means)), xerr=errors if any(errors) else None, label=label, **style)
    set_policy_axis(ax, list(summary.policies), labelled=False)
    ax.set_xlim(left=0.0)
    if not 0 < len(summary.groups) <= _MAX_GROUPS:
        ax.set_xlabel(f"regret of each of {len(summary.groups)} groups")
        return
    ax.set_xlabel("regret of each group")
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=6, frameon=False,
        handletextpad=0.1, columnspacing=0.8,
    )  # fmt: skip
