"""The verdict of an audit, from the conclusions of all its comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from fairbandits.audit.results import Comparison
from fairbandits.audit.settings import AuditSettings

#: Exit statuses of the command; 2 is an error.
FAIR, UNFAIR, UNDECIDED = 0, 1, 3
# The conclusions, in descending order of importance.
_PRIORITY = ("unfair", "gap", "undecided", "fair", "too small")


def exit_status(comparisons: Sequence[Comparison], settings: AuditSettings) -> int:
    """Return the verdict: unfair if any comparison is, recently or overall; fair if all are, without obstacles.

    Without a tolerance there is no verdict, and the status is 0.
    """
    conclusions = {conclusion for each in comparisons for conclusion in conclusions_of(each)}
    if settings.tolerance is None:
        return FAIR
    if "unfair" in conclusions:
        return UNFAIR
    is_open = conclusions != {"fair"} or any(obstacles(each, settings) for each in comparisons)
    return UNDECIDED if is_open else FAIR


def conclusions_of(comparison: Comparison) -> tuple[str, ...]:
    """Return the conclusions about the whole log and, if there is one, about the most recent window."""
    recent = comparison.recent_conclusion
    return (comparison.conclusion,) if recent is None else (comparison.conclusion, recent)


def obstacles(comparison: Comparison, settings: AuditSettings) -> tuple[str, ...]:
    """Return the reasons that rule out a verdict of "fair": "unassessed", "unknown" or "outside"."""
    unassessed, tolerance = comparison.unassessed, settings.tolerance
    if tolerance is None:
        return ()
    found = {
        "unassessed": unassessed.share > settings.max_unassessed,
        "unknown": unassessed.unknown > 0 and unassessed.worst_case > tolerance,
        "outside": bool(unassessed.outside),
    }
    return tuple(name for name, is_found in found.items() if is_found)


def headline(comparisons: Sequence[Comparison]) -> Comparison:
    """Return the comparison to report first: the clearest one, with single attributes before intersections."""
    return min(comparisons, key=_rank)


def _rank(comparison: Comparison) -> tuple[int, int, float, float]:
    analysis = comparison.analysis
    clearest = (-analysis.gap.low, -float(analysis.gap)) if analysis is not None else (0.0, 0.0)
    priority = min(_PRIORITY.index(conclusion) for conclusion in conclusions_of(comparison))
    return priority, len(comparison.attributes), *clearest
