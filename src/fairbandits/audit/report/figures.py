"""The figures of an audit: mean rewards by group, and the contributions of arms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.results import Decomposition, GapAnalysis
from fairbandits.report import figure_style
from fairbandits.views import plot_style
from fairbandits.views.group_styles import GroupStyle, Labels
from fairbandits.views.interval_plots import add_grid, draw_interval, extremes_of, label_rows
from fairbandits.views.plot_style import GREY
from fairbandits.views.text import shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Styles = Mapping[Labels, GroupStyle]

_MAX_GROUPS = 10
# This colour is not used for any group.
_EXPOSURE, _WITHIN_ARM = "#7570B3", "#E69F00"


def mean_rewards(analysis: GapAnalysis, styles: Styles, tolerance: float | None) -> Figure:
    """Plot the mean reward of each group with its confidence interval."""
    n_shown = len(extremes_of(analysis.groups, _MAX_GROUPS))
    with figure_style.style_context():
        figure = figure_style.new_figure(figure_style.PAGE_WIDTH, 0.85 + 0.26 * n_shown)
        draw_mean_rewards(figure.subplots(), analysis, styles, tolerance, _MAX_GROUPS)
    return figure


def draw_mean_rewards(
    ax: Axes, analysis: GapAnalysis, styles: Styles, tolerance: float | None, max_groups: int
) -> None:
    """Draw the mean reward of each group or, if there are many groups, of those at either end."""
    groups = extremes_of(analysis.groups, max_groups)
    for y, group in enumerate(groups):
        style = styles[group.labels]
        draw_interval(ax, y, group.mean, group.low, group.high, colour=style.colour, marker=style.marker)
    if tolerance is not None:
        worst = analysis.disadvantaged.mean
        sign = 1.0 if analysis.advantaged.mean >= worst else -1.0
        ax.axvspan(worst, worst + sign * tolerance, color=GREY, alpha=0.18, linewidth=0)
    label_rows(ax, [shorten_name(group.name) for group in groups])
    n_omitted = len(analysis.groups) - len(groups)
    remark = f"\n{n_omitted:,} groups in between are not shown" if n_omitted else ""
    ax.set_xlabel(f"mean reward per decision{remark}")
    add_grid(ax)


def arm_contributions(analysis: GapAnalysis) -> Figure:
    """Plot the contribution of each arm to the gap, split into exposure and within-arm effects."""
    parts, gap = analysis.decomposition, analysis.gap
    total = IntervalEstimate(float(gap), gap.low, gap.high)
    bars = [("all arms", parts.exposure_effect.value, parts.within_arm_effect.value, total)]
    if parts.n_arms > 1:
        bars += [(shorten_name(str(p.arm)), p.exposure_effect, p.within_arm_effect, p.total) for p in parts.arms]
    has_intervals = not math.isnan(parts.exposure_effect.low)
    with figure_style.style_context():
        figure = figure_style.new_figure(figure_style.PAGE_WIDTH, 0.95 + 0.2 * len(bars))
        axes = figure.subplots()
        handles: dict[str, Any] = {}
        for y, (_, exposure, within_arm, both) in enumerate(bars):
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
            if has_intervals:
                axes.hlines(y, both.low, both.high, color=plot_style.ink(), linewidth=0.9)
                handles["sum"] = axes.plot([both.value], [y], "D", color=plot_style.ink(), markersize=2.6)[0]
        axes.axvline(0.0, color=plot_style.ink(), linewidth=0.6)
        label_rows(axes, [name for name, *_ in bars])
        if len(bars) > 1:
            axes.axhline(0.5, color=GREY, linewidth=0.5, linestyle=":")
        axes.set_xlabel("contribution to the gap")
        add_grid(axes)
        figure_style.add_legend(figure, handles, fits=True)
    return figure


def effects(parts: Decomposition) -> Figure:
    """Plot the exposure effect and the within-arm effect with their intervals."""
    rows = {
        "exposure effect": (parts.exposure_effect, _EXPOSURE),
        "within-arm effect": (parts.within_arm_effect, _WITHIN_ARM),
    }
    with figure_style.style_context():
        figure = figure_style.new_figure(figure_style.PAGE_WIDTH, 1.15)
        axes = figure.subplots()
        for y, (effect, colour) in enumerate(rows.values()):
            draw_interval(axes, y, effect.value, effect.low, effect.high, colour=colour, marker="D")
        axes.axvline(0.0, color=plot_style.ink(), linewidth=0.6)
        label_rows(axes, list(rows))
        axes.set_xlabel("part of the gap")
        add_grid(axes)
    return figure
