"""The settings of an audit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from fairbandits.validation import check_integer

#: The number of rewards that a group must have to be compared while a log is being watched.
MIN_ROWS = 100


@dataclass(frozen=True)
class AuditSettings:
    """The settings of an audit.

    Attributes
    ----------
    confidence : float
        The joint confidence level of all intervals.
    tolerance : float or None
        The largest gap that is tolerated.
    sequential : bool
        Whether the intervals are anytime-valid, for a log that is being watched while it grows.
    min_rows : int
        The number of rewards that a group must have to be compared; only for `sequential`.
    max_unassessed : float
        The largest share of users that may be unassessed for a verdict of "fair".
    lower_is_better : bool
        Whether rewards are harms, so that the group with the highest mean is disadvantaged.
    min_cell : int
        The number of users below which a group, overall or within an arm, is neither compared nor shown.
    reference : tuple of str
        The groups with which the others are compared, at most one per attribute; by default the advantaged groups.
    impact_ratios : bool
        Whether to report impact ratios.

    Examples
    --------
    >>> from fairbandits.audit.settings import AuditSettings
    >>> AuditSettings(tolerance=0.02).confidence
    0.95
    >>> AuditSettings(tolerance=-1.0)
    Traceback (most recent call last):
        ...
    ValueError: tolerance must be a non-negative number, got -1.0
    """

    confidence: float = 0.95
    tolerance: float | None = None
    sequential: bool = False
    min_rows: int = MIN_ROWS
    max_unassessed: float = 0.01
    lower_is_better: bool = False
    min_cell: int = 0
    reference: tuple[str, ...] = ()
    impact_ratios: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.confidence, Real) or not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be between 0 and 1, exclusive, got {self.confidence!r}")
        if self.tolerance is not None and not _is_between(self.tolerance, math.inf):
            raise ValueError(f"tolerance must be a non-negative number, got {self.tolerance!r}")
        if not _is_between(self.max_unassessed, 1.0):
            raise ValueError(
                f"max_unassessed (--max-unassessed) must be between 0 and 1, got {self.max_unassessed!r}"
            )
        check_integer("min_rows (--min-rows)", self.min_rows, 1)
        check_integer("min_cell (--min-cell)", self.min_cell, 0)
        if self.sequential and (self.reference or self.impact_ratios or self.min_cell):
            raise ValueError(
                "reference, impact_ratios and min_cell must not be set with sequential; they need a finished log "
                "(--reference, --impact-ratios, --min-cell, --sequential)"
            )
        if self.min_cell and self.impact_ratios:
            raise ValueError(
                "impact_ratios (--impact-ratios) must not be set with min_cell (--min-cell); their counts "
                "would reveal small groups"
            )


def _is_between(value: Any, highest: float) -> bool:
    return isinstance(value, Real) and 0.0 <= float(value) <= highest and math.isfinite(value)
