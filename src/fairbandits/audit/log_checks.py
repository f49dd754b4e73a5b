"""Problems with the rows of a log: duplicates, unknown times, labels written in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairbandits.audit.log_sums import COUNT, MISSING, LogSums
from fairbandits.audit.results import Comparison
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.logs.label_variants import label_variants
from fairbandits.logs.log import Log
from fairbandits.views.short_repr import ShortRepr


@dataclass(frozen=True, repr=False)
class LogChecks(ShortRepr):
    """Facts about the rows that an auditor should know before reading the results.

    Attributes
    ----------
    duplicates : int or None
        The number of rows that repeat the decision and the arm of an earlier row; None without a decision column.
    is_dropping : bool
        Whether duplicates were dropped.
    without_time : int
        The number of rows whose time is unknown. They count towards the whole log, but not towards any window.
    outside_time : int
        The number of rows whose time lies far outside the period of all other rows.
    without_user : int
        The number of rows whose user is unknown, if the log has a user column.
    shared_users : dict of str to int
        By attribute, the number of users who appear in several groups, if there are any.
    variants : tuple of pairs
        A column, and labels in it that differ from each other only in spaces or case.
    is_in_row_order : bool
        Whether the windows of time follow the order of the rows because the log has no time column.
    """

    duplicates: int | None
    is_dropping: bool
    without_time: int = 0
    outside_time: int = 0
    without_user: int = 0
    shared_users: Mapping[str, int] = field(default_factory=dict)
    variants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_in_row_order: bool = False


def check_rows(log: Log, sums: LogSums, units: UnitSums | None, comparisons: Sequence[Comparison]) -> LogChecks:
    """Check the rows of a log, given the sums from both passes (the second may be None) and its comparisons."""
    in_blocks = sums.by_block[..., [COUNT, MISSING]].sum() if sums.by_block.size else 0.0
    labels = {log.roles.arm: sums.arms, **sums.labels}
    return LogChecks(
        log.count_duplicates(),
        log.dropped is not None,
        sums.rows - int(in_blocks),
        0 if units is None else units.n_outside,
        0 if units is None or not units.n_known else units.n_unknown,
        {each.name: each.shared_users for each in comparisons if len(each.attributes) == 1 and each.shared_users},
        tuple((column, found) for column in labels for found in label_variants(labels[column])),
        log.roles.time is None and any(_has_windows(each) for each in comparisons),
    )


def _has_windows(comparison: Comparison) -> bool:
    analysis = comparison.analysis
    return analysis is not None and analysis.timeline is None and analysis.has_history
