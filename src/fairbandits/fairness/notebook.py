"""Group records, gaps and summaries in notebooks: HTML views and the plot of a record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from fairbandits.fairness.gaps import Gap, GroupSummary
from fairbandits.fairness.groups import DEFAULT_ATTRIBUTE
from fairbandits.views import html
from fairbandits.views.group_styles import group_styles
from fairbandits.views.interval_plots import add_grid, draw_interval, extremes_of, label_rows
from fairbandits.views.plot_style import ink, plot_axes
from fairbandits.views.text import confidence_label, decimals, number_formatter, shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairbandits.fairness.group_rewards import GroupRewards

_MAX_PLOTTED = 20


def group_label(attribute: str, group: object) -> str:
    """Return the name of a group, with its attribute if that has a name.

    Examples
    --------
    >>> group_label("sex", "female"), group_label("group", "female")
    ('sex female', 'female')
    """
    return str(group) if attribute == DEFAULT_ATTRIBUTE else f"{attribute} {group}"


def groups_html(groups: GroupRewards) -> str:
    """Return the view of a group record."""
    return html.card("Rewards of each group", *group_parts(groups))


def group_parts(groups: GroupRewards) -> tuple[str, ...]:
    """Return the table of the groups and the sentence about the gap, for this view and for that of a policy."""
    summaries = _ordered(groups.summaries())
    if not summaries:
        return ("no rewards yet",)
    gap = groups.gap()
    return _summary_table(summaries), f"{_gap_sentence(gap)}." if gap.attribute else ""


def gap_html(gap: Gap) -> str:
    """Return the view of a gap."""
    number = _formatter([(gap.low, gap.high)])
    values = {confidence_label(gap.confidence): f"{number(gap.low)} to {number(gap.high)} (anytime-valid)"}
    if gap.attribute:
        values |= {
            "advantaged": group_label(gap.attribute, gap.advantaged),
            "disadvantaged": group_label(gap.attribute, gap.disadvantaged),
        }
    return html.card(number(float(gap)), html.facts(values))


def summary_html(summary: GroupSummary) -> str:
    """Return the view of the rewards of one group."""
    return html.card("Rewards of one group", _summary_table([summary]))


def plot_groups(groups: GroupRewards, ax: Axes | None, attribute: str | None, confidence: float) -> Axes:
    """Plot the mean reward of each group with its interval, and the gap."""
    served = [summary for summary in groups.summaries(attribute, confidence) if summary.count]
    if not served:
        raise ValueError("a plot needs at least one reward, got none; record some first")
    rows = extremes_of(_ordered(served), _MAX_PLOTTED)
    gap = groups.gap(attribute, confidence)
    with plot_axes(ax, 6.4, 1.4 + 0.3 * len(rows)) as axes:
        styles = group_styles((summary.attribute, summary.group) for summary in served)
        for y, summary in enumerate(rows):
            style, bounds = styles[summary.attribute, summary.group], (summary.mean, summary.low, summary.high)
            draw_interval(axes, y, *bounds, colour=style.colour, marker=style.marker, size=6.0)
        label_rows(axes, [shorten_name(group_label(summary.attribute, summary.group)) for summary in rows])
        if gap.attribute:
            _mark_gap(axes, gap, rows)
        n_omitted = len(served) - len(rows)
        remark = f"\n{n_omitted:,} groups in between are not shown" if n_omitted else ""
        axes.set_xlabel(f"mean reward, with its anytime-valid {confidence_label(confidence)} (bar){remark}")
        axes.set_title("Mean reward of each group")
        add_grid(axes)
    return axes


def _mark_gap(ax: Axes, gap: Gap, rows: Sequence[GroupSummary]) -> None:
    """Draw the gap as an arrow below the rows, between the means of its two groups."""
    at: dict[tuple[str, object], tuple[int, float]] = {
        (summary.attribute, summary.group): (y, summary.mean) for y, summary in enumerate(rows)
    }
    pair = [at.get((gap.attribute, group)) for group in (gap.disadvantaged, gap.advantaged)]
    below = len(rows) - 0.25
    for found in pair:
        if found is None:
            return  # with many groups, the rows may not include those of this attribute
        y, mean = found
        ax.vlines(mean, y, below, color=ink(), linewidth=0.7, linestyle=(0, (1, 2)))
    (_, low), (_, high) = (found for found in pair if found is not None)
    ax.annotate("", (low, below), (high, below), arrowprops={"arrowstyle": "<->", "color": ink(), "lw": 0.9})
    number = _formatter([(gap.low, gap.high)])
    text = f"gap {number(float(gap))} ({number(gap.low)} to {number(gap.high)})"
    ax.annotate(text, ((low + high) / 2.0, below), (0, -4), textcoords="offset points", va="top", ha="center")
    ax.set_ylim(len(rows) + 0.6, -0.5)


def _ordered(summaries: Iterable[GroupSummary]) -> list[GroupSummary]:
    """Return summaries by attribute, the worst-off group of each first."""
    return sorted(summaries, key=lambda summary: (summary.attribute, summary.mean))


def _summary_table(summaries: Sequence[GroupSummary]) -> html.Markup:
    number = _formatter([(summary.low, summary.high) for summary in summaries])
    scale = min(summary.low for summary in summaries), max(summary.high for summary in summaries)
    columns = ("group", "rewards", "mean reward", confidence_label(summaries[0].confidence), "")
    rows = (
        (
            group_label(summary.attribute, summary.group),
            f"{summary.count:,}",
            number(summary.mean) if summary.count else "",
            f"{number(summary.low)} to {number(summary.high)}",
            html.interval_bar(summary.mean, summary.low, summary.high, scale) if summary.count else "",
        )
        for summary in summaries
    )
    return html.table(columns, rows, len(summaries))


def _gap_sentence(gap: Gap) -> str:
    number = _formatter([(gap.low, gap.high)])
    interval = f"anytime-valid {confidence_label(gap.confidence)} {number(gap.low)} to {number(gap.high)}"
    pair = f"{group_label(gap.attribute, gap.advantaged)} minus {group_label(gap.attribute, gap.disadvantaged)}"
    return f"Reward gap {number(float(gap))} ({interval}): {pair}"


def _formatter(bounds: Sequence[tuple[float, float]]) -> Callable[[float], str]:
    """Return the format of numbers with intervals: as many decimals as the narrowest one needs."""
    widths = [high - low for low, high in bounds if 0.0 < high - low < math.inf]
    largest = max((abs(bound) for pair in bounds for bound in pair if math.isfinite(bound)), default=0.0) or 1.0
    return number_formatter(decimals(10.0 ** math.ceil(math.log10(largest)), min(widths, default=0.0)))
