"""What all comparisons say together."""

from __future__ import annotations

from collections.abc import Sequence

from fairbandits.audit.results import Comparison

# What the command ends with; 2 stands for what is no log.
FAIR, UNFAIR, TOO_LITTLE = 0, 1, 3
# What a reader is to hear of first.
_ORDER = ("unfair", "apart", "unsure", "fair", "too small")


def status_of(comparisons: Sequence[Comparison], tolerance: float | None) -> int:
    """Give the verdict: unfair if any comparison is, fair if all are, else there is too little data to say.

    Where nobody said what is tolerated there is no verdict, and the status is 0.
    """
    words = {comparison.word for comparison in comparisons}
    if tolerance is None or words == {"fair"}:
        return FAIR
    return UNFAIR if "unfair" in words else TOO_LITTLE


def foremost(comparisons: Sequence[Comparison]) -> Comparison:
    """Give the comparison to tell of first: what is surest, by one attribute rather than by several."""
    return min(comparisons, key=_place)


def _place(comparison: Comparison) -> tuple[int, int, float, float]:
    difference = comparison.difference
    surest = (-difference.gap.low, -float(difference.gap)) if difference is not None else (0.0, 0.0)
    return _ORDER.index(comparison.word), len(comparison.attributes), *surest
