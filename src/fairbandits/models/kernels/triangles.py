"""The compiled parts that scoring and learning share.

Symmetric matrices are kept as their lower triangles, row after row: half the memory, and memory is what a
round waits for. Those of a bank lie in one block, so that one call scores all arms. A slot beyond the last, or
-1, stands for a model that has learned nothing: its A is ridge * I and takes no memory. A model that has learned
little has no matrices either; `young` says what it has instead.

Sums may be reordered by the compiler (`reassoc`), which is what lets it use vector units; NaN and infinities
keep their meaning. Indices are unsigned where it counts: one that may be negative costs a branch at each access.
Inner loops take no slices of arrays: each costs two atomic counts, more than the work on twenty numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAST = {"reassoc", "nsz", "contract"}

# What stands in the line that says where a slot's model is: its place among the matrices, or -1 while it is young;
# how many steps it has; and from there on the places of its steps.
GROWN, N_STEPS, FIRST_STEP = 0, 1, 2

# What came of learning a row: done; better solved afresh; refused, for it points outside of the matrix; to be
# learned by a model that has grown up; wants a place for one more step. Nothing has changed where it is not done.
LEARNED, AFRESH, OUTSIDE, GROW_UP, NO_PLACE = range(5)


@njit(cache=True, nogil=True, inline="always")
def at(i: int | np.uint64, j: int | np.uint64) -> np.uint64:
    """Give the place of an entry in a lower triangle."""
    high, low = np.uint64(max(i, j)), np.uint64(min(i, j))
    return high * (high + np.uint64(1)) // np.uint64(2) + low


@njit(cache=True, nogil=True, inline="always")
def root(variance: float) -> float:
    """Take the square root; NaN where rounding has made a variance negative."""
    return math.sqrt(variance) if variance >= 0.0 else math.nan


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


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(x: Floats, start: np.uint64, columns: Ints, values: Floats, lo: np.uint64, hi: np.uint64) -> float:
    """Multiply a part of a row with a vector that begins at `start`."""
    total = 0.0
    for i in range(lo, hi):
        total += values[i] * x[start + np.uint64(columns[i])]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def dot_full(x: Floats, x_from: np.uint64, y: Floats, y_from: np.uint64, n: np.uint64) -> float:
    """Multiply n numbers of a vector with n of another."""
    total = 0.0
    for i in range(n):
        total += x[x_from + i] * y[y_from + i]
    return total


@njit(cache=True, nogil=True)
def is_inside(columns: Ints, d: int) -> bool:
    """Whether all columns are among 0..d-1."""
    outside = 0
    for i in range(columns.size):
        outside += columns[i] < 0 or columns[i] >= d
    return outside == 0


@njit(cache=True, nogil=True, fastmath=FAST)
def add_outer(triangle: Floats, u: Floats, factor: float) -> None:
    """Add u u' times a factor."""
    start = 0
    for i in range(u.size):
        scaled = factor * u[i]
        if scaled != 0.0:
            row = triangle[start : start + i + 1]
            for j in range(i + 1):
                row[j] += scaled * u[j]
        start += i + 1
