"""The tables of an audit as text, for the page and the terminal."""

from __future__ import annotations

from fairbandits.audit.audit import Audit
from fairbandits.audit.results import Comparison, GroupResult
from fairbandits.views.text import percent

Row = tuple[str, list[str]]


def group_table(audit: Audit, comparison: Comparison) -> tuple[list[str], list[Row]]:
    """Return the titles of the columns, and a row for each group."""
    has_users = audit.sentences.user_name == "users"
    users = ["users", "effective"] if has_users else []
    titles = ["rewards", *users, "mean reward", audit.sentences.interval_name, "missing"]
    return titles, [_group_row(audit, comparison, group, has_users) for group in comparison.groups]


def _group_row(audit: Audit, comparison: Comparison, group: GroupResult, has_users: bool) -> Row:
    number, suppression = audit.sentences.comparison_formatter(comparison), audit.sentences.suppression
    counted = [group.rewards, group.users, group.effective_users] if has_users else [group.rewards]
    counts = [suppression.count(comparison, group, count) for count in counted]
    is_hidden = suppression.is_hidden(comparison, group)
    if is_hidden and not group.is_large_enough:
        return group.name, [*counts, "", "too small" if suppression.is_small(comparison, group) else "", ""]
    interval = f"{number(group.low)} to {number(group.high)}" if group.is_large_enough else "too small"
    share = "" if is_hidden else percent(group.missing_share.value)
    return group.name, [*counts, number(group.mean), interval, share]


def verdict_table(audit: Audit) -> tuple[list[str], list[Row]]:
    """Return the gap and the conclusion of each comparison, over the whole log and in the most recent window."""
    titles = ["period", "gap", audit.sentences.interval_name, "disadvantaged", "conclusion"]
    return titles, [row for comparison in audit.comparisons for row in _verdict_rows(audit, comparison)]


def _verdict_rows(audit: Audit, comparison: Comparison) -> list[Row]:
    number, analysis = audit.sentences.comparison_formatter(comparison), comparison.analysis
    if analysis is None:
        return [(comparison.name, ["whole log", "", "", "", comparison.conclusion])]
    gap, recent, worst = analysis.gap, analysis.recent, analysis.disadvantaged
    whole = [number(float(gap)), f"{number(gap.low)} to {number(gap.high)}", worst.name, comparison.conclusion]
    if recent is None:
        return [(comparison.name, ["whole log", *whole])]
    now = ["", "", "", recent.conclusion]
    if recent.disadvantaged is not None:
        interval = f"{number(recent.gap.low)} to {number(recent.gap.high)}"
        now = [number(recent.gap.value), interval, recent.disadvantaged.name, recent.conclusion]
    return [(comparison.name, ["whole log", *whole]), (comparison.name, ["now", *now])]
