"""The verdict of an audit, from the conclusions of all its comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from fairbandits.audit.results import Comparison

#: Exit statuses of the command; 2 is an error.
FAIR, UNFAIR, UNDECIDED = 0, 1, 3
# The conclusions, the most important to report first.
_PRIORITY = ("unfair", "gap", "undecided", "fair", "too small")


def exit_status(comparisons: Sequence[Comparison], tolerance: float | None) -> int:
    """Return the verdict: unfair if any comparison is, fair if all are, otherwise undecided.

    Without a tolerance there is no verdict, and the status is 0.
    """
    conclusions = {comparison.conclusion for comparison in comparisons}
    if tolerance is None or conclusions == {"fair"}:
        return FAIR
    return UNFAIR if "unfair" in conclusions else UNDECIDED


def headline(comparisons: Sequence[Comparison]) -> Comparison:
    """Return the comparison to report first: the clearest one, single attributes before intersections."""
    return min(comparisons, key=_rank)


def _rank(comparison: Comparison) -> tuple[int, int, float, float]:
    analysis = comparison.analysis
    clearest = (-analysis.gap.low, -float(analysis.gap)) if analysis is not None else (0.0, 0.0)
    return _PRIORITY.index(comparison.conclusion), len(comparison.attributes), *clearest
