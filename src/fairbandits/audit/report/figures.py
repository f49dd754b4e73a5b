"""The pictures of an audit: who gained how much, since when, and by which arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.audit.report.sentences import shows
from fairbandits.audit.results import GroupGains, GroupGap
from fairbandits.report import figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 3.3  # inches: it is shown larger, so that its letters are as large as those of the text
_MOST_GROUPS = 10
# So many can be told apart by colour and dashes; of more, only the group ahead and the group behind are coloured.
_COLOURED = 6
_OTHERS = "#8c949d"
_BEHIND, _AHEAD = figure_style.LINE_STYLES[1], figure_style.LINE_STYLES[0]
_SHOWN, _SAME_ARM = "#56B4E9", "#E69F00"
_LONGEST = 24


def gains(found: GroupGap, tolerance: float | None) -> Figure:
    """Draw what each group gained: a dot for the mean, a bar for where it may truly be."""
    groups, left_out = _some(found.groups)
    with figure_style.style_context():
        figure = figure_style.new_figure(_WIDTH, 0.85 + 0.26 * len(groups))
        axes = figure.subplots()
        looks = _looks(found)
        for y, group in enumerate(groups):
            colour = looks[group.labels][0]
            axes.hlines(y, group.low, group.high, color=colour, linewidth=4.5, alpha=0.45, capstyle="round")
            axes.plot([group.mean], [y], "o", color=colour, markersize=5)
        if tolerance is not None:
            axes.axvspan(found.behind.mean, found.behind.mean + tolerance, color=_OTHERS, alpha=0.18, linewidth=0)
        axes.set_yticks(range(len(groups)), [_short(group.name) for group in groups])
        axes.set_ylim(len(groups) - 0.5, -0.5)
        remark = f"\n{left_out:,} groups between these are not drawn" if left_out else ""
        axes.set_xlabel(f"mean reward per decision{remark}")
        axes.tick_params(axis="y", length=0)
        _plain(axes)
    return figure


def over_time(found: GroupGap) -> Figure:
    """Draw the mean of all rewards so far of each group, as it was known in time."""
    timeline = found.timeline
    ends: Any = [timeline.blocks.start(place + 1) for place in range(timeline.blocks.n)]
    if timeline.blocks.kind == "number":
        ends = list(map(float, ends))  # which may be larger than int64 holds
    groups, _ = _some(found.groups)
    drawn_groups = {group.labels for group in groups}
    with figure_style.style_context():
        figure = figure_style.new_figure(_WIDTH, 2.2)
        axes = figure.subplots()
        lines: dict[str, Any] = {}
        looks = _looks(found)
        for i, group in enumerate(timeline.groups):
            if group.labels not in drawn_groups:
                continue
            colour, dashes = looks[group.labels]
            [line] = axes.plot(ends, timeline.means.mean[:, i], color=colour, linestyle=dashes)
            if colour == _OTHERS:
                continue
            low, high = timeline.means.low[:, i], timeline.means.high[:, i]
            axes.fill_between(ends, low, high, color=colour, alpha=0.15, linewidth=0)
            lines[_short(group.name)] = line
        _zoom(axes, found, groups)
        _mark_since(axes, found, ends)
        axes.set_ylabel("mean reward so far")
        _label_time(axes, found)
        _plain(axes)
        figure_style.add_legend(figure, lines, longest=_LONGEST // 2)
    return figure


def arms(found: GroupGap) -> Figure:
    """Draw what each arm adds to the difference, by who was shown what and by who got more from the same arm."""
    parts = found.decomposition
    bars = [("all arms", parts.shown.value, parts.same_arm.value)]
    bars += [(_short(str(part.arm)), part.shown, part.same_arm) for part in parts.arms if parts.n_arms > 1]
    with figure_style.style_context():
        figure = figure_style.new_figure(_WIDTH, 0.95 + 0.2 * len(bars))
        axes = figure.subplots()
        made: dict[str, Any] = {}
        for y, (_, shown, same) in enumerate(bars):
            # DecompositionParts of one sign stand behind each other, parts of two on either side of zero.
            behind = shown if shown * same > 0.0 else 0.0
            made["who was shown what"] = axes.barh(y, shown, color=_SHOWN, height=0.65)
            made["who got more from it"] = axes.barh(
                y, same, left=behind, color=_SAME_ARM, height=0.65, hatch="////", edgecolor="white", linewidth=0
            )
        axes.axvline(0.0, color=figure_style.INK, linewidth=0.6)
        axes.set_yticks(range(len(bars)), [name for name, *_ in bars])
        axes.set_ylim(len(bars) - 0.5, -0.5)
        if len(bars) > 1:
            axes.axhline(0.5, color=_OTHERS, linewidth=0.5, linestyle=":")
        axes.set_xlabel("part of the difference")
        axes.tick_params(axis="y", length=0)
        _plain(axes)
        figure_style.add_legend(figure, made)
    return figure


def _some(groups: tuple[GroupGains, ...]) -> tuple[tuple[GroupGains, ...], int]:
    """Of very many groups give those at either end, and how many are left out."""
    if len(groups) <= _MOST_GROUPS:
        return groups, 0
    half = _MOST_GROUPS // 2
    return (*groups[:half], *groups[-half:]), len(groups) - 2 * half


def _looks(found: GroupGap) -> dict[tuple[Any, ...], tuple[str, Any]]:
    """Give each group its colour and its dashes: the same in all pictures."""
    between = found.groups[1:-1]
    if len(found.groups) > _COLOURED:
        looks = {group.labels: (_OTHERS, (0, (1, 1))) for group in between}
    else:
        looks = {group.labels: figure_style.line_style(number) for number, group in enumerate(between, start=2)}
    return {**looks, found.behind.labels: _BEHIND, found.ahead.labels: _AHEAD}


def _zoom(axes: Axes, found: GroupGap, groups: tuple[GroupGains, ...]) -> None:
    """Show what is near the means: at first, when little is known, intervals are as wide as can be."""
    means = found.timeline.means.mean[len(found.timeline.means.mean) // 10 :]
    low = min(np.nanmin(means), *(group.low for group in groups))
    high = max(np.nanmax(means), *(group.high for group in groups))
    edge = 0.25 * (high - low) or 0.01
    axes.set_ylim(low - edge, high + edge)


def _mark_since(axes: Axes, found: GroupGap, ends: Any) -> None:
    since = found.timeline.since
    if since is not None and shows(found):
        axes.axvline(ends[since], color=figure_style.INK, linewidth=0.8, linestyle=(0, (2, 2)))


def _label_time(axes: Axes, found: GroupGap) -> None:
    kind = found.timeline.blocks.kind
    if kind == "date":
        from matplotlib import dates  # noqa: PLC0415 - an extra

        untyped: Any = dates
        locator = untyped.AutoDateLocator(minticks=3, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
        # Who has no date may have written the first or the last there is: the margins must not go beyond.
        low, high = axes.get_xlim()
        first, last = untyped.date2num(np.array(["0001-01-01", "9999-12-31"], "datetime64[s]"))
        if low < first or high > last:
            axes.set_xlim(max(low, first), min(high, last))
        return
    axes.set_xlabel("decisions" if kind == "row" else "time")
    axes.xaxis.set_major_locator(_few_ticks())
    if kind == "row":
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    return MaxNLocator(4)


def _plain(axes: Axes) -> None:
    axes.grid(axis="both" if axes.get_ylabel() else "x", color=_OTHERS, alpha=0.25, linewidth=0.5)
    axes.set_axisbelow(True)


def _short(name: str) -> str:
    # Names that begin alike may end differently.
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[: half - 1].rstrip()}…{name[-half:].lstrip()}"
