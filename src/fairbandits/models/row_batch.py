"""Rows of many rounds that are learned together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_SHARED,
    N_SHARED,
    NAME,
    START,
    STOP,
    Floats,
    Ints,
    SplitRows,
)
from fairbandits.models.kernels.split_rows import copy_rows, measure_rows, row_squares
from fairbandits.models.rows import Row

# Rows are copied in blocks of at most this many entries (32 MB).
_ENTRIES_AT_A_TIME = 2**21


class RowPiece(NamedTuple):
    """Some rows of one round: for each of `users`, the row of the arm at the corresponding place."""

    parts: SplitRows
    users: Ints
    places: Ints


class RowBatch:
    """Rows of many rounds, to be learned together; they stay where they are, and are copied block by block.

    Parameters
    ----------
    pieces : sequence of RowPiece
        The rows, round after round.
    order : array of int
        The index of each row of the batch among those of all pieces.
    width : int
        The number of features of every row.

    Attributes
    ----------
    learned : array of bool
        Whether each row had been learned when learning the batch failed.
    """

    def __init__(self, pieces: Sequence[RowPiece], order: Ints, width: int) -> None:
        self.width = width
        self.learned = np.zeros(len(order), np.bool_)
        self._pieces = pieces
        self._order = order
        self._columns: Ints = np.empty(0, np.int64)
        self._values: Floats = np.empty(0)
        self._firsts = np.cumsum([0, *(len(piece.users) for piece in pieces)])

    def __len__(self) -> int:
        return len(self._order)

    def squares(self) -> Floats:
        """Return x.x of every row; infinite for a row with a column that does not exist."""
        each = [row_squares(tuple(parts), users, places, self.width) for parts, users, places in self._pieces]
        return np.concatenate(each)[self._order]

    def blocks(self, chosen: Ints) -> Iterator[Ints]:
        """Split the indices of rows into blocks that are small enough to be copied."""
        size = max(1, _ENTRIES_AT_A_TIME // self.width)
        for first in range(0, len(chosen), size):
            yield chosen[first : first + size]

    def gather(self, chosen: Ints) -> SplitRows:
        """Copy out some rows, as rows of different users with one arm each; the next call overwrites them."""
        flat = self._order[chosen]
        sorter = np.argsort(flat)
        stops, columns, values, n_shared, names = self.copy(flat[sorter])
        n = len(flat)
        at = np.empty(n, np.int64)
        at[sorter] = np.arange(n)
        # Row i is the shared part 2 i, and the arm part that follows it in the same arrays.
        starts = np.zeros(2 * n + 1, np.int64)
        starts[2::2] = stops
        starts[1::2] = starts[:-1:2] + n_shared
        users, bounds = np.zeros((n, 4), np.int64), np.empty((n, 3), np.int64)
        users[:, FIRST_SHARED], users[:, N_SHARED], users[:, FIRST_ARM] = 2 * at, 1, at
        bounds[:, START], bounds[:, STOP], bounds[:, NAME] = starts[1::2], stops, names
        return SplitRows(starts, columns, values, users, np.zeros((1, 1), np.int64), bounds, columns, values)

    def copy(self, ascending: Ints) -> tuple[Ints, Ints, Floats, Ints, Ints]:
        """Copy out rows by their ascending indices in the pieces.

        Returns the stop of each row, the columns, the values, the number of leading entries that arms share, and
        the names of the arm parts.
        """
        edges = np.searchsorted(ascending, self._firsts)
        ranges = [(i, slice(*edges[i : i + 2].tolist())) for i in np.flatnonzero(np.diff(edges)).tolist()]
        pieces = [
            (tuple(parts), users[ascending[own] - self._firsts[i]], places[ascending[own] - self._firsts[i]], own)
            for i, own in ranges
            for parts, users, places in [self._pieces[i]]
        ]
        lengths, n_shared, names = np.empty((3, len(ascending)), np.int64)
        for parts, users, places, own in pieces:
            measure_rows(parts, users, places, lengths[own], n_shared[own], names[own])
        stops = np.cumsum(lengths)
        size = int(stops[-1]) if stops.size else 0
        columns, values, starts = *self._room_for(size), stops - lengths
        for parts, users, places, own in pieces:
            copy_rows(parts, users, places, starts[own], columns, values)
        return stops, columns, values, n_shared, names

    def _room_for(self, size: int) -> tuple[Ints, Floats]:
        """Return arrays for some entries, reused for every block: new memory would cost as much as copying."""
        if size > len(self._columns):
            self._columns, self._values = np.empty(size, np.int64), np.empty(size)
        return self._columns[:size], self._values[:size]


def piece_of_rows(rows: Sequence[Row]) -> RowPiece:
    """Return rows, possibly of different rounds, as one piece; those of larger rounds are copied out first."""
    single = [
        row.parts if len(row.parts.bounds) == 1 == len(row.parts.users) else row.alone().parts for row in rows
    ]
    shared_starts, shared_columns = _stacked([parts.shared_columns for parts in single])
    starts, columns = _stacked([parts.columns for parts in single])
    n = np.arange(len(single))
    stacked = SplitRows(
        shared_starts,
        shared_columns,
        _stacked([parts.shared_values for parts in single])[1],
        np.column_stack([n, np.ones_like(n), np.zeros_like(n), n]),
        np.zeros((1, 1), np.int64),
        np.column_stack([starts[:-1], starts[1:], np.zeros_like(n)]),
        columns,
        _stacked([parts.values for parts in single])[1],
    )
    return RowPiece(stacked, n, np.zeros_like(n))


def _stacked(arrays: Sequence[NDArray[Any]]) -> tuple[Ints, NDArray[Any]]:
    """Return the start of each of several arrays, with the end of the last, and their concatenation."""
    sizes = [array.size for array in arrays]
    # An empty array would take as long as any other.
    filled = [array for array, size in zip(arrays, sizes, strict=True) if size]
    return np.cumsum([0, *sizes]), np.concatenate(filled or arrays[:1])
