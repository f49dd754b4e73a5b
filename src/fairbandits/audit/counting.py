"""A log in, cells out: one pass in chunks, in memory that does not grow with the log."""

from __future__ import annotations

import copy
import itertools
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.time_blocks import Kind
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.log import Log
from fairbandits.models.threads import n_threads

# DecompositionParts that threads take turns with: enough for many cores, none so small that its start counts.
_MOST_PARTS, _ROWS_EACH = 16, 500_000


def count_cells(log: Log, reward_range: tuple[float, float] = (0.0, 1.0)) -> LogSums:
    """Read a log, or a part of one, and count who got what, with a thread for each core.

    Parameters
    ----------
    log : Log
        The log. What is read of it: arm, reward, groups, and the time where there is one.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.

    Returns
    -------
    LogSums
        Those of parts of a log add up: `cells.merge(others)`.
    """
    # How it is cut depends on the log alone: sums do not depend on how many threads there are.
    parts = iter(log.split(_n_parts(log)))
    whole: LogSums | None = None
    with ThreadPoolExecutor(n_threads(), thread_name_prefix="fairbandits-audit") as threads:
        running = deque(
            threads.submit(_count, part, reward_range) for part in itertools.islice(parts, n_threads())
        )
        while running:
            cells = running.popleft().result()
            running.extend(threads.submit(_count, part, reward_range) for part in itertools.islice(parts, 1))
            if whole is None:
                whole = cells
            else:
                whole.merge(cells)
    assert whole is not None  # noqa: S101 - there is at least one part
    return whole


def _n_parts(log: Log) -> int:
    rows = [part.n_rows for part in log.fragments]
    # A file whose rows nobody has counted is read once, not twice.
    known = sum(n for n in rows if n is not None)
    return 1 if None in rows else max(1, min(_MOST_PARTS, known // _ROWS_EACH))


def _count(log: Log, reward_range: tuple[float, float]) -> LogSums:
    columns = [*log.roles.groups, *([log.roles.time] if log.roles.time else [])]
    cells = None
    for chunk in log.chunks(columns=columns):
        cells = LogSums(log.roles.groups, reward_range, _kind(chunk)) if cells is None else cells
        _add(cells, chunk, log.roles.reward)
    return LogSums(log.roles.groups, reward_range) if cells is None else cells


def merged(cells: LogSums, others: LogSums) -> LogSums:
    """Give the cells of two parts of a log as one; both stay as they are."""
    both = copy.deepcopy(cells)
    both.merge(others)
    return both


def _kind(chunk: Chunk) -> Kind:
    if chunk.time is None:
        return "row"
    return "date" if np.issubdtype(chunk.time.dtype, np.datetime64) else "number"


def _add(cells: LogSums, chunk: Chunk, column: str) -> None:
    outside = cells.add(chunk)
    if outside >= 0:
        low, high = cells.reward_range
        raise chunk.location.error(
            f"{chunk.reward[outside]} came; expected a reward in [{low:g}, {high:g}]. Say which are possible: "
            "reward_range=(lowest, highest) (--reward-range)",
            column,
            outside,
        )
