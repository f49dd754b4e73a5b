"""The figures of an audit over time: by window for a finished log, cumulative for a log that is being watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.report.figures import Styles
from fairbandits.audit.results import GapAnalysis, GroupResult, History, Timeline
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.report import figure_style
from fairbandits.views import plot_style
from fairbandits.views.interval_plots import add_grid
from fairbandits.views.plot_style import GREY
from fairbandits.views.text import shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The entries of a legend.
Legend = dict[str, Any]

# If there are more groups than this, only those with the lowest and the highest mean are drawn over time.
_MAX_LINES = 6
_HEIGHT = 2.2


def on_page(draw: Callable[..., Legend], *arguments: Any) -> Figure:
    """Return a figure for the page, drawn by one of the functions below."""
    with figure_style.style_context():
        figure = figure_style.new_figure(figure_style.PAGE_WIDTH, _HEIGHT)
        figure_style.add_legend(figure, draw(figure.subplots(), *arguments), fits=True)
    return figure


def window_means(ax: Axes, analysis: GapAnalysis, history: History, styles: Styles) -> Legend:
    """Draw the mean reward of each group in each window, with confidence intervals."""
    numbers = {group.labels: i for i, group in enumerate(history.groups)}
    groups = [group for group in _drawn(analysis) if _has_points(history.means.mean[:, numbers[group.labels]])]
    centres, widths = _positions(history)
    lines: Legend = {}
    for place, group in enumerate(groups):
        i = numbers[group.labels]
        style = styles[group.labels]
        # Groups are drawn side by side, so that their intervals do not hide each other.
        x = centres + widths * 0.6 * ((place + 0.5) / len(groups) - 0.5)
        means = history.means
        _draw_bars(ax, x, means.low[:, i], means.high[:, i], style.colour)
        [line] = ax.plot(x, means.mean[:, i], color=style.colour, linestyle=style.dashes, linewidth=0.6)
        line.set(marker=style.marker, markersize=3.5)
        lines[shorten_name(group.name)] = line
    _mark_recent(ax, history)
    ax.set_ylabel("mean reward in the window")
    _label_time(ax, history.windows.blocks.unit)
    add_grid(ax, "y")
    return lines


def window_gaps(ax: Axes, history: History, styles: Styles, tolerance: float | None) -> Legend:
    """Draw the gap in each window with its confidence interval, in the colour of the disadvantaged group."""
    centres, _ = _positions(history)
    lines: Legend = {}
    for x, window in zip(centres, history.gaps, strict=True):
        if window.disadvantaged is None:
            continue
        style, gap = styles[window.disadvantaged.labels], window.gap
        _draw_bars(ax, x, gap.low, gap.high, style.colour)
        name = f"{shorten_name(window.disadvantaged.name)} is worse off"
        [point] = ax.plot([x], [gap.value], style.marker, color=style.colour, markersize=4.5)
        lines.setdefault(name, point)
    if tolerance is not None:
        dashes: Any = (0, (2, 2))
        lines["tolerance"] = ax.axhline(tolerance, color=plot_style.ink(), linewidth=0.8, linestyle=dashes)
    ax.set_ylim(bottom=0.0)
    _mark_recent(ax, history)
    ax.set_ylabel("gap in the window")
    _label_time(ax, history.windows.blocks.unit)
    add_grid(ax, "y")
    return lines


def cumulative_means(ax: Axes, analysis: GapAnalysis, timeline: Timeline, styles: Styles) -> Legend:
    """Draw the cumulative mean reward of each group over time, with confidence bands."""
    ends = _edges(timeline.blocks, range(1, timeline.blocks.n + 1))
    numbers = {group.labels: i for i, group in enumerate(timeline.groups)}
    groups = tuple(each for each in _drawn(analysis) if _has_points(timeline.means.mean[:, numbers[each.labels]]))
    lines: Legend = {}
    for group in groups:
        i, style = numbers[group.labels], styles[group.labels]
        [line] = ax.plot(ends, timeline.means.mean[:, i], color=style.colour, linestyle=style.dashes)
        low, high = timeline.means.low[:, i], timeline.means.high[:, i]
        ax.fill_between(ends, low, high, color=style.colour, alpha=0.15, linewidth=0)
        lines[shorten_name(group.name)] = line
    _set_value_range(ax, timeline, groups)
    if timeline.since is not None and analysis.is_detectable:
        ax.axvline(ends[timeline.since], color=plot_style.ink(), linewidth=0.8, linestyle=(0, (2, 2)))
    ax.set_ylabel("cumulative mean reward")
    _label_time(ax, timeline.blocks.unit)
    add_grid(ax, "both")
    return lines


def _drawn(analysis: GapAnalysis) -> tuple[GroupResult, ...]:
    """Return the groups to draw over time: all of them or, if there are many, the first and the last."""
    groups = analysis.groups
    return groups if len(groups) <= _MAX_LINES else (groups[0], groups[-1])


def _has_points(means: Any) -> bool:
    """Return whether a group has enough data in any window; other groups are not listed in the legend."""
    return not bool(np.isnan(means).all())


def _draw_bars(axes: Axes, x: Any, low: Any, high: Any, colour: str) -> None:
    axes.vlines(x, low, high, color=colour, linewidth=2.4, alpha=0.45)


def _mark_recent(axes: Axes, history: History) -> None:
    start, end = (_edges(history.windows.blocks, [int(block)])[0] for block in history.windows.first_block[-2:])
    axes.axvspan(start, end, color=GREY, alpha=0.13, linewidth=0)


def _positions(history: History) -> tuple[Any, Any]:
    """Return the centre and the width of each window on the time axis."""
    edges: NDArray[Any] = np.asarray(_edges(history.windows.blocks, history.windows.first_block.tolist()))
    widths = edges[1:] - edges[:-1]
    return edges[:-1] + widths / 2, widths


def _edges(blocks: TimeBlocks, numbers: Any) -> list[Any]:
    """Return the start of each block as a number on the time axis."""
    starts: list[Any] = [blocks.start(number) for number in numbers]
    if blocks.unit != "date":
        return list(map(float, starts))  # they may exceed int64
    from matplotlib.dates import date2num  # noqa: PLC0415 - an extra

    untyped: Any = date2num
    return list(untyped(np.array(starts)))


def _set_value_range(axes: Axes, timeline: Timeline, groups: tuple[GroupResult, ...]) -> None:
    """Zoom in on the means, because the first intervals span the whole reward range."""
    means = timeline.means.mean[len(timeline.means.mean) // 10 :]
    low = min(np.nanmin(means), *(group.low for group in groups))
    high = max(np.nanmax(means), *(group.high for group in groups))
    margin = 0.25 * (high - low) or 0.01
    axes.set_ylim(low - margin, high + margin)


def _label_time(axes: Axes, unit: str) -> None:
    """Label the time axis: dates, numbers of decisions, or the log's own numbers."""
    if unit == "date":
        from matplotlib import dates  # noqa: PLC0415 - an extra

        untyped: Any = dates
        locator = untyped.AutoDateLocator(minticks=3, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
        # The first or last possible date may stand for an unknown one; margins beyond it cannot be drawn.
        low, high = axes.get_xlim()
        first, last = untyped.date2num(np.array(["0001-01-01", "9999-12-31"], "datetime64[s]"))
        axes.set_xlim(max(low, first), min(high, last))
        return
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    axes.set_xlabel("decisions" if unit == "row" else "time")
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if unit == "row":
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
