"""What is wrong with the rows of a log: duplicates, times that are unknown, labels written in several ways."""

from __future__ import annotations

from dataclasses import dataclass

from fairbandits.audit.log_sums import COUNT, MISSING, LogSums
from fairbandits.logs.label_variants import label_variants
from fairbandits.logs.log import Log


@dataclass(frozen=True)
class LogChecks:
    """What an auditor should know about the rows before the results.

    Attributes
    ----------
    duplicates : int or None
        The number of rows that repeat the decision and the arm of an earlier row; None without a decision column.
    is_dropping : bool
        Whether duplicates were dropped.
    without_time : int
        The number of rows whose time is unknown. They count for the whole log, and for no window.
    variants : tuple of pairs
        A column, and labels of it that differ from each other only by spaces or case.
    """

    duplicates: int | None
    is_dropping: bool
    without_time: int
    variants: tuple[tuple[str, tuple[str, ...]], ...]


def check_rows(log: Log, sums: LogSums) -> LogChecks:
    """Check the rows of a log, given the sums of its first pass."""
    in_blocks = sums.by_block[..., [COUNT, MISSING]].sum() if sums.by_block.size else 0.0
    labels = {log.roles.arm: sums.arms, **sums.labels}
    return LogChecks(
        log.count_duplicates(),
        log.dropped is not None,
        sums.rows - int(in_blocks),
        tuple((column, found) for column in labels for found in label_variants(labels[column])),
    )
