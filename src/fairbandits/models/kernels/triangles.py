"""Algebra on symmetric matrices that are stored as packed lower triangles, row after row.

A packed triangle takes half the memory of the full matrix, and memory access limits the speed of a round. Indices
are unsigned where speed matters: an index that may be negative costs a branch at each access. Inner loops take no
slices of arrays: each slice costs two atomic counts, more than the work on twenty numbers.
"""

from __future__ import annotations

import math

import numpy as np

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import Floats, Ints


@helper()
def entry_of(i: int | np.uint64, j: int | np.uint64) -> np.uint64:
    """Return the place of entry (i, j) in a packed triangle."""
    row, column = np.uint64(i), np.uint64(j)
    if row < column:
        row, column = column, row
    return row * (row + np.uint64(1)) // np.uint64(2) + column


@helper()
def root(variance: float) -> float:
    """Return the square root, NaN where rounding has made a variance negative."""
    return math.sqrt(variance) if variance >= 0.0 else math.nan


@helper(reorder_sums=True)
def dot(x: Floats, start: np.uint64, columns: Ints, values: Floats, lo: np.uint64, hi: np.uint64) -> float:
    """Compute the dot product of entries lo to hi of a sparse row and the vector that begins at `start` of x."""
    total = 0.0
    for i in range(lo, hi):
        total += values[i] * x[start + np.uint64(columns[i])]
    return total


@helper(reorder_sums=True)
def dot_dense(x: Floats, x_from: np.uint64, y: Floats, y_from: np.uint64, n: np.uint64) -> float:
    """Compute the dot product of n entries of one vector and n of another."""
    total = 0.0
    for i in range(n):
        total += x[x_from + i] * y[y_from + i]
    return total


@kernel()
def is_inside(columns: Ints, d: int) -> bool:
    """Return whether all columns are in 0..d-1."""
    outside = 0
    for i in range(columns.size):
        outside += columns[i] < 0 or columns[i] >= d
    return outside == 0


@kernel(reorder_sums=True)
def multiply(triangle: Floats, columns: Ints, values: Floats, d: int) -> Floats:
    """Multiply a symmetric matrix by a sparse vector."""
    product = np.zeros(d)
    add_product(triangle, np.uint64(0), columns, values, np.uint64(0), np.uint64(columns.size), product)
    return product


@helper(reorder_sums=True)
def add_product(
    triangles: Floats,
    start: np.uint64,
    columns: Ints,
    values: Floats,
    lo: np.uint64,
    hi: np.uint64,
    product: Floats,
) -> None:
    """Add the product of the matrix that begins at `start` with entries lo to hi of a sparse vector."""
    one = np.uint64(1)
    for i in range(lo, hi):
        c, v = np.uint64(columns[i]), values[i]
        row = start + c * (c + one) // np.uint64(2)
        for j in range(c + one):
            product[j] += v * triangles[row + j]
        # The rest of the matrix's row is stored in the column below the diagonal.
        entry = row + c
        for j in range(c + one, np.uint64(product.size)):
            entry += j
            product[j] += v * triangles[entry]


@kernel(reorder_sums=True)
def add_outer(triangle: Floats, u: Floats, factor: float) -> None:
    """Add u u' times a factor to a symmetric matrix."""
    start = np.uint64(0)
    for i in range(np.uint64(u.size)):
        scaled = factor * u[i]
        if scaled != 0.0:
            for j in range(i + np.uint64(1)):
                triangle[start + j] += scaled * u[j]
        start += i + np.uint64(1)


@helper(reorder_sums=True)
def add_row(
    columns: Ints,
    values: Floats,
    reward: float,
    weight: float,
    gram: Floats,
    place: int,
    moment: Floats,
    slot: int,
) -> None:
    """Add a row to A and b of a regression: A += w x x', b += w r x."""
    for i in range(columns.size):
        value = weight * values[i]
        moment[slot, columns[i]] += reward * value
        for j in range(i + 1):
            gram[place, entry_of(columns[i], columns[j])] += value * values[j]


@helper(reorder_sums=True)
def leverage_and_residual(
    columns: Ints, values: Floats, u: Floats, theta: Floats, slot: int, reward: float, weight: float
) -> tuple[float, float]:
    """Compute the leverage w x' A^-1 x of a row, from u = A^-1 x, and the residual r - theta.x."""
    leverage, residual = 0.0, reward
    for i in range(columns.size):
        leverage += weight * values[i] * u[columns[i]]
        residual -= values[i] * theta[slot, columns[i]]
    return leverage, residual
