"""A log in, cells out: one pass in chunks, in memory that does not grow with the log."""

from __future__ import annotations

import copy
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from fairbandits.logs.audit.blocks import Kind
from fairbandits.logs.audit.cells import Cells
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.log import Log


def count_cells(log: Log, reward_range: tuple[float, float] = (0.0, 1.0)) -> Cells:
    """Read a log, or a part of one, and count who got what.

    Parameters
    ----------
    log : Log
        The log. What is read of it: arm, reward, groups, and the time where there is one.
    reward_range : tuple of two floats
        The lowest and the highest possible reward.

    Returns
    -------
    Cells
        Those of parts of a log add up: `cells.merge(others)`.
    """
    columns = [*log.roles.groups, *([log.roles.time] if log.roles.time else [])]
    cells = Cells(log.roles.groups, reward_range)
    # One thread counts what the other has read.
    with ThreadPoolExecutor(1, thread_name_prefix="fairbandits-audit") as counter:
        counted: Future[None] | None = None
        for chunk in log.chunks(columns=columns):
            if counted is None:
                cells = Cells(log.roles.groups, reward_range, _kind(chunk))
            else:
                counted.result()
            counted = counter.submit(_add, cells, chunk, log.roles.reward)
        if counted is not None:
            counted.result()
    return cells


def merged(cells: Cells, others: Cells) -> Cells:
    """Give the cells of two parts of a log as one; both stay as they are."""
    both = copy.deepcopy(cells)
    both.merge(others)
    return both


def _kind(chunk: Chunk) -> Kind:
    if chunk.time is None:
        return "row"
    return "date" if np.issubdtype(chunk.time.dtype, np.datetime64) else "number"


def _add(cells: Cells, chunk: Chunk, column: str) -> None:
    outside = cells.add(chunk)
    if outside >= 0:
        low, high = cells.reward_range
        raise chunk.place.error(
            f"{chunk.reward[outside]} came; expected a reward in [{low:g}, {high:g}]. Say which are possible: "
            "reward_range=(lowest, highest) (--reward-range)",
            column,
            outside,
        )
