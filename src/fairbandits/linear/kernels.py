"""The compiled parts that scoring and learning share.

Symmetric matrices are kept as their lower triangles, row after row: half the memory, and memory is what a
round waits for. Those of a bank lie in one block, `inverse[slot]`, so that one call scores all arms. A slot
beyond the block, or -1, stands for a model that has learned nothing: its A is ridge * I and takes no memory.

Sums may be reordered by the compiler (`reassoc`), which is what lets it use vector units; NaN and infinities
keep their meaning. Indices are unsigned where it counts: one that may be negative costs a branch at each access.
Inner loops take no slices of arrays: each costs two atomic counts, more than the work on twenty numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAST = {"reassoc", "nsz", "contract"}


@njit(cache=True, nogil=True, inline="always")
def at(i: int | np.uint64, j: int | np.uint64) -> np.uint64:
    """Give the place of an entry in a lower triangle."""
    high, low = np.uint64(max(i, j)), np.uint64(min(i, j))
    return high * (high + np.uint64(1)) // np.uint64(2) + low


@njit(cache=True, nogil=True, fastmath=FAST)
def times(triangle: Floats, columns: Ints, values: Floats, d: int) -> Floats:
    """Multiply a symmetric matrix with a sparse vector."""
    product = np.zeros(d)
    for i in range(columns.size):
        c = np.uint64(columns[i])
        v = values[i]
        start = c * (c + np.uint64(1)) // np.uint64(2)
        row = triangle[start : start + c + np.uint64(1)]
        for j in range(row.size):
            product[j] += v * row[j]
        # The rest of the row stands in the column below the diagonal.
        place = start + c
        for j in range(c + np.uint64(1), np.uint64(d)):
            place += j
            product[j] += v * triangle[place]
    return product


@njit(cache=True, nogil=True)
def is_inside(columns: Ints, d: int) -> bool:
    """Whether all columns are among 0..d-1."""
    outside = 0
    for i in range(columns.size):
        outside += columns[i] < 0 or columns[i] >= d
    return outside == 0
