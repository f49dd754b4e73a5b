"""Aggregation of a log to sums, in one pass and in memory that does not grow with the log."""

from __future__ import annotations

import copy
import itertools
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.time_blocks import TimeUnit
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.log import Log
from fairbandits.models.threads import n_threads

# Threads take turns with the parts of a log: enough parts for many cores, and none too small to be worth a task.
_MAX_PARTS, _ROWS_PER_PART = 16, 500_000


def aggregate_log(log: Log, reward_range: tuple[float, float] = (0.0, 1.0)) -> LogSums:
    """Aggregate a log, or a part of one, with one thread per core.

    Parameters
    ----------
    log : Log
        The log. Only the arm, reward, group and time columns are read.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.

    Returns
    -------
    LogSums
        The sums; those of several parts of a log can be merged.
    """
    # The split depends only on the log, so the sums do not depend on the number of threads.
    parts = iter(log.split(_n_parts(log)))
    total: LogSums | None = None
    with ThreadPoolExecutor(n_threads(), thread_name_prefix="fairbandits-audit") as threads:
        running = deque(
            threads.submit(_aggregate_part, part, reward_range) for part in itertools.islice(parts, n_threads())
        )
        while running:
            sums = running.popleft().result()
            running.extend(
                threads.submit(_aggregate_part, part, reward_range) for part in itertools.islice(parts, 1)
            )
            if total is None:
                total = sums
            else:
                total.merge(sums)
    assert total is not None  # noqa: S101 - a log has at least one part
    return total


def merged(sums: LogSums, others: LogSums) -> LogSums:
    """Return the merged sums of two parts of a log; both arguments stay unchanged."""
    both = copy.deepcopy(sums)
    both.merge(others)
    return both


def _n_parts(log: Log) -> int:
    rows = [fragment.n_rows for fragment in log.fragments]
    # Splitting a CSV file would read it twice, once to count its rows.
    known = sum(n for n in rows if n is not None)
    return 1 if None in rows else max(1, min(_MAX_PARTS, known // _ROWS_PER_PART))


def _aggregate_part(log: Log, reward_range: tuple[float, float]) -> LogSums:
    columns = [*log.roles.groups, *([log.roles.time] if log.roles.time else [])]
    sums = None
    for chunk in log.chunks(columns=columns):
        sums = LogSums(log.roles.groups, reward_range, _time_unit(chunk)) if sums is None else sums
        _add_chunk(sums, chunk, log.roles.reward)
    return LogSums(log.roles.groups, reward_range) if sums is None else sums


def _time_unit(chunk: Chunk) -> TimeUnit:
    if chunk.time is None:
        return "row"
    return "date" if np.issubdtype(chunk.time.dtype, np.datetime64) else "number"


def _add_chunk(sums: LogSums, chunk: Chunk, reward_column: str) -> None:
    outside = sums.add(chunk)
    if outside >= 0:
        low, high = sums.reward_range
        raise chunk.location.error(
            f"reward must be between {low:g} and {high:g}, got {chunk.reward[outside]}; "
            "set reward_range=(lowest, highest) (--reward-range)",
            reward_column,
            outside,
        )
