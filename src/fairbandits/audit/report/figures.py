"""The figures of an audit: mean rewards by group, their history, and the contributions of arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.audit.results import GapAnalysis, GroupResult
from fairbandits.report import figure_style
from fairbandits.report.interval_plots import GREY, WIDTH, add_grid, draw_interval, label_rows, shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_GROUPS = 10
# Up to this many groups have distinct styles; of more, only the two extreme groups are coloured.
_MAX_COLOURED = 6
_DISADVANTAGED, _ADVANTAGED = figure_style.LINE_STYLES[1], figure_style.LINE_STYLES[0]
_EXPOSURE, _WITHIN_ARM = "#56B4E9", "#E69F00"
# Longer names are put below each other in a legend.
_MAX_LEGEND_NAME = 12


def mean_rewards(analysis: GapAnalysis, tolerance: float | None) -> Figure:
    """Plot the mean reward of each group with its confidence interval."""
    groups, n_omitted = _extreme_groups(analysis.groups)
    with figure_style.style_context():
        figure = figure_style.new_figure(WIDTH, 0.85 + 0.26 * len(groups))
        axes = figure.subplots()
        styles = _group_styles(analysis)
        for y, group in enumerate(groups):
            draw_interval(axes, y, group.mean, group.low, group.high, colour=styles[group.labels][0])
        if tolerance is not None:
            lowest = analysis.disadvantaged.mean
            axes.axvspan(lowest, lowest + tolerance, color=GREY, alpha=0.18, linewidth=0)
        label_rows(axes, [shorten_name(group.name) for group in groups])
        remark = f"\n{n_omitted:,} groups in between are not shown" if n_omitted else ""
        axes.set_xlabel(f"mean reward per decision{remark}")
        add_grid(axes)
    return figure


def history(analysis: GapAnalysis) -> Figure:
    """Plot the cumulative mean reward of each group over time, with confidence bands."""
    timeline = analysis.timeline
    ends: Any = [timeline.blocks.start(number + 1) for number in range(timeline.blocks.n)]
    if timeline.blocks.unit == "number":
        ends = list(map(float, ends))  # they may exceed int64
    groups, _ = _extreme_groups(analysis.groups)
    shown = {group.labels for group in groups}
    with figure_style.style_context():
        figure = figure_style.new_figure(WIDTH, 2.2)
        axes = figure.subplots()
        lines: dict[str, Any] = {}
        styles = _group_styles(analysis)
        for i, group in enumerate(timeline.groups):
            if group.labels not in shown:
                continue
            colour, dashes = styles[group.labels]
            [line] = axes.plot(ends, timeline.means.mean[:, i], color=colour, linestyle=dashes)
            if colour == GREY:
                continue
            low, high = timeline.means.low[:, i], timeline.means.high[:, i]
            axes.fill_between(ends, low, high, color=colour, alpha=0.15, linewidth=0)
            lines[shorten_name(group.name)] = line
        _set_value_range(axes, analysis, groups)
        if timeline.since is not None and analysis.is_detectable:
            axes.axvline(ends[timeline.since], color=figure_style.INK, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.set_ylabel("cumulative mean reward")
        _label_time(axes, timeline.blocks.unit)
        add_grid(axes, "both")
        figure_style.add_legend(figure, lines, longest=_MAX_LEGEND_NAME)
    return figure


def arm_contributions(analysis: GapAnalysis) -> Figure:
    """Plot the contribution of each arm to the gap, split into exposure and within-arm effects."""
    parts = analysis.decomposition
    bars = [("all arms", parts.exposure_effect.value, parts.within_arm_effect.value)]
    if parts.n_arms > 1:
        bars += [(shorten_name(str(p.arm)), p.exposure_effect, p.within_arm_effect) for p in parts.arms]
    with figure_style.style_context():
        figure = figure_style.new_figure(WIDTH, 0.95 + 0.2 * len(bars))
        axes = figure.subplots()
        handles: dict[str, Any] = {}
        for y, (_, exposure, within_arm) in enumerate(bars):
            # Effects of the same sign are stacked; those of opposite signs lie on either side of zero.
            left = exposure if exposure * within_arm > 0.0 else 0.0
            handles["exposure effect"] = axes.barh(y, exposure, color=_EXPOSURE, height=0.65)
            handles["within-arm effect"] = axes.barh(
                y,
                within_arm,
                left=left,
                color=_WITHIN_ARM,
                height=0.65,
                hatch="////",
                edgecolor="white",
                linewidth=0,
            )
        axes.axvline(0.0, color=figure_style.INK, linewidth=0.6)
        label_rows(axes, [name for name, *_ in bars])
        if len(bars) > 1:
            axes.axhline(0.5, color=GREY, linewidth=0.5, linestyle=":")
        axes.set_xlabel("contribution to the gap")
        add_grid(axes)
        figure_style.add_legend(figure, handles)
    return figure


def _extreme_groups(groups: tuple[GroupResult, ...]) -> tuple[tuple[GroupResult, ...], int]:
    """Return the groups to show, of many those at either end, and the number of groups omitted."""
    if len(groups) <= _MAX_GROUPS:
        return groups, 0
    half = _MAX_GROUPS // 2
    return (*groups[:half], *groups[-half:]), len(groups) - 2 * half


def _group_styles(analysis: GapAnalysis) -> dict[tuple[Any, ...], tuple[str, Any]]:
    """Return the colour and dashes of each group, the same in all figures."""
    between = analysis.groups[1:-1]
    if len(analysis.groups) > _MAX_COLOURED:
        styles = {group.labels: (GREY, (0, (1, 1))) for group in between}
    else:
        styles = {group.labels: figure_style.line_style(number) for number, group in enumerate(between, start=2)}
    return {**styles, analysis.disadvantaged.labels: _DISADVANTAGED, analysis.advantaged.labels: _ADVANTAGED}


def _set_value_range(axes: Axes, analysis: GapAnalysis, groups: tuple[GroupResult, ...]) -> None:
    """Zoom to the means, because the first intervals span the whole reward range."""
    means = analysis.timeline.means.mean[len(analysis.timeline.means.mean) // 10 :]
    low = min(np.nanmin(means), *(group.low for group in groups))
    high = max(np.nanmax(means), *(group.high for group in groups))
    margin = 0.25 * (high - low) or 0.01
    axes.set_ylim(low - margin, high + margin)


def _label_time(axes: Axes, unit: str) -> None:
    if unit == "date":
        from matplotlib import dates  # noqa: PLC0415 - an extra

        untyped: Any = dates
        locator = untyped.AutoDateLocator(minticks=3, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
        # The first or last possible date may stand for an unknown one; margins beyond it cannot be drawn.
        low, high = axes.get_xlim()
        first, last = untyped.date2num(np.array(["0001-01-01", "9999-12-31"], "datetime64[s]"))
        if low < first or high > last:
            axes.set_xlim(max(low, first), min(high, last))
        return
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    axes.set_xlabel("decisions" if unit == "row" else "time")
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if unit == "row":
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
