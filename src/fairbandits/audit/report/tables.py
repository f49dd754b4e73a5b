"""The tables of an audit as text, for the page and the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairbandits.audit.audit import Audit
from fairbandits.audit.results import Comparison, GroupResult, WindowGap
from fairbandits.report.phrases import percent

Row = tuple[str, list[str]]


def group_table(audit: Audit, comparison: Comparison) -> tuple[list[str], list[Row]]:
    """Return the titles of the columns, and a row for each group."""
    has_users = audit.sentences.unit == "users"
    users = ["users", "effective users"] if has_users else []
    titles = ["rewards", *users, "mean reward", audit.sentences.interval_name, "missing"]
    return titles, [_group_row(audit, comparison, group, has_users) for group in comparison.groups]


def _group_row(audit: Audit, comparison: Comparison, group: GroupResult, has_users: bool) -> Row:
    number, suppression = audit.sentences.comparison_formatter(comparison), audit.sentences.suppression
    counted = [group.rewards, group.users, group.effective_users] if has_users else [group.rewards]
    counts = [suppression.count(comparison, group, count) for count in counted]
    if suppression.is_small(comparison, group):
        return group.name, [*counts, "", "too small", ""]
    interval = f"{number(group.low)} to {number(group.high)}" if group.is_large_enough else "too small"
    share = "" if suppression.is_hidden(comparison, group) else percent(group.missing_share.value)
    return group.name, [*counts, number(group.mean), interval, share]


def verdict_table(audit: Audit) -> tuple[list[str], list[Row]]:
    """Return the gap of each comparison with its conclusion, over the whole log and in the most recent window."""
    has_recent = any(each.recent_conclusion is not None for each in audit.comparisons)
    periods = [" over the whole log", " now"] if has_recent else [""]
    titles = [title + period for period in periods for title in ("gap", audit.sentences.interval_name, "conclusion")]
    return titles, [(each.name, _verdict_cells(audit, each, has_recent)) for each in audit.comparisons]


def _verdict_cells(audit: Audit, comparison: Comparison, has_recent: bool) -> list[str]:
    number, analysis = audit.sentences.comparison_formatter(comparison), comparison.analysis
    if analysis is None:
        return [*["", "", "too small"] * (1 + has_recent)]
    gap = analysis.gap
    cells = [number(float(gap)), f"{number(gap.low)} to {number(gap.high)}", comparison.conclusion]
    return [*cells, *(_recent_cells(analysis.recent, number) if has_recent else [])]


def _recent_cells(recent: WindowGap | None, number: Callable[[float], str]) -> list[str]:
    if recent is None or math.isnan(recent.gap.value):
        return ["", "", "too small"]
    return [number(recent.gap.value), f"{number(recent.gap.low)} to {number(recent.gap.high)}", recent.conclusion]
