"""Aggregation of a log into sums, in one or two passes, with memory that does not grow with the number of rows."""

from __future__ import annotations

import copy
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Protocol, Self, TypeVar

import numpy as np

from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.time_blocks import TimeUnit
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.unit_table import Ints
from fairbandits.audit.windows import Windows
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.log import Log
from fairbandits.models.threads import n_threads

# Threads share the parts of a log: there are enough parts for many cores, but none too small to be worth a task.
_MAX_PARTS, _ROWS_PER_PART = 16, 500_000
# The number of chunks that may wait to be added up, so that reading can continue in bounded memory.
_MAX_WAITING = 2


class _Sums(Protocol):
    def merge(self, other: Self) -> None: ...


S = TypeVar("S", bound=_Sums)


def aggregate_log(log: Log, reward_range: tuple[float, float] = (0.0, 1.0)) -> LogSums:
    """Aggregate a log, or a part of one, by arm and by time block: the first pass.

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
    return _aggregate(log, partial(_log_sums, reward_range=reward_range))


def aggregate_units(log: Log, windows: Windows, lowest: float) -> UnitSums:
    """Aggregate a log, or a part of one, by user and window: the second pass.

    Parameters
    ----------
    log : Log
        The log.
    windows : Windows
        The windows of time.
    lowest : float
        The lowest possible reward.
    """
    if log.roles.user is None:
        return _aggregate(log, partial(_unit_sums, windows=windows, lowest=lowest))
    sums, chunks = _first_unit_sums(log, windows)
    # This thread reads. Each shard of users has its own thread, which adds the chunks in order, so the sums do not
    # depend on the number of threads.
    threads = [ThreadPoolExecutor(1, thread_name_prefix="fairbandits-audit") for _ in sums.shards]
    waiting: deque[list[Future[None]]] = deque()
    with ExitStack() as stack:
        for thread in threads:
            stack.enter_context(thread)
        for chunk, window in chunks:
            tasks = sums.tasks(chunk, window, lowest)
            waiting.append([thread.submit(task) for thread, task in zip(threads, tasks, strict=True)])
            _wait(waiting, _MAX_WAITING)
        _wait(waiting, 0)
    return sums


def merged(sums: S, others: S) -> S:
    """Return the merged sums of two parts of a log, leaving both arguments unchanged."""
    both = copy.deepcopy(sums)
    both.merge(others)
    return both


def _aggregate(log: Log, sums_of: Callable[[Log], S]) -> S:
    """Aggregate the parts of a log with one thread per core, and merge them in order."""
    # The split depends only on the log, so the sums do not depend on the number of threads.
    parts = iter(log.split(_n_parts(log)))
    total: S | None = None
    with ThreadPoolExecutor(n_threads(), thread_name_prefix="fairbandits-audit") as threads:
        running = deque(threads.submit(sums_of, part) for part in itertools.islice(parts, n_threads()))
        while running:
            sums = running.popleft().result()
            running.extend(threads.submit(sums_of, part) for part in itertools.islice(parts, 1))
            if total is None:
                total = sums
            else:
                total.merge(sums)
    assert total is not None  # noqa: S101 - a log has at least one part
    return total


def _n_parts(log: Log) -> int:
    rows = [fragment.n_rows for fragment in log.fragments]
    # Splitting a CSV file would read it twice, once to count its rows.
    known = sum(n for n in rows if n is not None)
    return 1 if None in rows else max(1, min(_MAX_PARTS, known // _ROWS_PER_PART))


def _log_sums(log: Log, reward_range: tuple[float, float]) -> LogSums:
    columns = [*log.roles.groups, *([log.roles.time] if log.roles.time else [])]
    sums = None
    for chunk in log.chunks(columns=columns):
        sums = LogSums(log.roles.groups, reward_range, _time_unit(chunk)) if sums is None else sums
        _add_chunk(sums, chunk, log.roles.reward)
    return LogSums(log.roles.groups, reward_range) if sums is None else sums


def _unit_sums(log: Log, windows: Windows, lowest: float) -> UnitSums:
    sums, chunks = _first_unit_sums(log, windows)
    for chunk, window in chunks:
        sums.add(chunk, window, lowest)
    return sums


def _first_unit_sums(log: Log, windows: Windows) -> tuple[UnitSums, Iterator[tuple[Chunk, Ints]]]:
    """Return empty sums, and the chunks to add, with the window of each decision."""
    roles = log.roles
    columns = [*roles.groups, *(column for column in (roles.time, roles.user) if column)]
    sums = UnitSums(roles.groups, windows.n, roles.user is not None)

    def chunks() -> Iterator[tuple[Chunk, Ints]]:
        for chunk in log.chunks(columns=columns):
            sums.n_outside += windows.count_outside(chunk)
            yield chunk, windows.numbers(windows.blocks.chunk_numbers(chunk))

    return sums, chunks()


def _wait(waiting: deque[list[Future[None]]], most: int) -> None:
    while len(waiting) > most:
        for task in waiting.popleft():
            task.result()


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
