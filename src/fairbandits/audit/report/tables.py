"""The tables of an audit as text, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable

from fairbandits.audit.audit import Audit
from fairbandits.audit.report.clearest_gaps import clearest_gap, clearest_note
from fairbandits.audit.results import Comparison, GapAnalysis, GroupResult, WindowGap
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
    """Return the gap and the conclusion of each comparison, over the whole log and in the most recent window.

    If the largest gap is not clear, the row shows the clearest gap, marked with an asterisk.
    """
    titles = ["period", "gap", audit.sentences.interval_name, "disadvantaged", "conclusion"]
    return titles, [row for comparison in audit.comparisons for row in _verdict_rows(audit, comparison)]


def _verdict_rows(audit: Audit, comparison: Comparison) -> list[Row]:
    number, analysis = audit.sentences.comparison_formatter(comparison), comparison.analysis
    if analysis is None:
        return [(comparison.name, ["whole log", "", "", "", comparison.conclusion])]
    return [
        (comparison.name, [period, *_gap_cells(audit, result, number)]) for period, result in _periods(analysis)
    ]


def _gap_cells(audit: Audit, result: GapAnalysis | WindowGap, number: Callable[[float], str]) -> list[str]:
    if result.disadvantaged is None:
        return ["", "", "", result.conclusion]
    clearest = clearest_gap(result, audit.settings.tolerance)
    if clearest is not None:
        pair = clearest.difference
        cells = [
            f"{number(pair.value)}*",
            f"{number(pair.low)} to {number(pair.high)}",
            clearest.disadvantaged.name,
        ]
        return [*cells, result.conclusion]
    gap, value = result.gap, float(result.gap) if isinstance(result, GapAnalysis) else result.gap.value
    return [
        number(value),
        f"{number(gap.low)} to {number(gap.high)}",
        result.disadvantaged.name,
        result.conclusion,
    ]


def verdict_notes(audit: Audit) -> list[str]:
    """Return a note for each row of the verdict table that is marked with an asterisk."""
    sentences, notes = audit.sentences, []
    for comparison in audit.comparisons:
        if (analysis := comparison.analysis) is None:
            continue
        for period, result in _periods(analysis):
            if (clearest := clearest_gap(result, audit.settings.tolerance)) is not None:
                number = sentences.formatter(analysis)
                note = clearest_note(analysis, result, clearest, number, sentences.interval_name)
                notes.append(f"* {comparison.name}, {period}: {note}")
    return notes


def _periods(analysis: GapAnalysis) -> list[tuple[str, GapAnalysis | WindowGap]]:
    recent = [] if analysis.recent is None else [("now", analysis.recent)]
    return [("whole log", analysis), *recent]
