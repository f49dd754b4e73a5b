"""The compiled loops. Everything a round costs is in here.

The matrices of a bank lie in one block, `inverse[slot]`, so that one call scores all arms. A slot of -1
stands for a model that has learned nothing: its A is ridge * I and takes no memory.

Sums may be reordered by the compiler (`reassoc`), which is what lets it use vector units; NaN and
infinities keep their meaning.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FAST = {"reassoc", "nsz", "contract"}

# Beyond this the squares and products of the algebra leave the range of a float64.
LARGEST = 1e100


@njit(cache=True, nogil=True)
def count_nonzeros(dense: Floats) -> tuple[int, int]:
    """Count the non-zeros of a matrix, and the entries that are not usable numbers."""
    nonzero = 0
    unusable = 0
    flat = dense.reshape(-1)
    for i in range(flat.size):
        nonzero += flat[i] != 0.0
        unusable += not (abs(flat[i]) <= LARGEST)
    return nonzero, unusable


@njit(cache=True, nogil=True)
def compress(dense: Floats, nonzero: int) -> tuple[Ints, Ints, Floats]:
    """Gather the non-zeros of a matrix row by row.

    Every entry is written and only a non-zero moves the pen on: without a branch to mispredict this is
    four times as fast. Hence the room for one entry more.
    """
    n, d = dense.shape
    starts = np.empty(n + 1, np.int64)
    columns = np.empty(nonzero + 1, np.int64)
    values = np.empty(nonzero + 1)
    flat = dense.reshape(-1)
    at = np.uint64(0)
    k = np.uint64(0)
    for i in range(n):
        starts[i] = at
        for j in range(d):
            columns[at] = j
            values[at] = flat[k]
            at += np.uint64(flat[k] != 0.0)
            k += np.uint64(1)
    starts[n] = at
    return starts, columns[:nonzero], values[:nonzero]


@njit(cache=True, nogil=True)
def check_compressed(starts: Ints, columns: Ints, values: Floats, d: int) -> tuple[int, int, bool]:
    """Count columns out of range and unusable values; say whether every row is strictly sorted."""
    outside = 0
    unusable = 0
    is_sorted = True
    for i in range(starts.size - 1):
        before = -1
        for k in range(starts[i], starts[i + 1]):
            outside += columns[k] < 0 or columns[k] >= d
            unusable += not (abs(values[k]) <= LARGEST)
            is_sorted &= columns[k] > before
            before = columns[k]
    return outside, unusable, is_sorted


@njit(cache=True, nogil=True, fastmath=_FAST)
def score_sparse(
    starts: Ints,
    columns: Ints,
    values: Floats,
    slots: Ints,
    theta: Floats,
    inverse: Floats,
    ridge: float,
    mean: Floats,
    width: Floats,
) -> int:
    """Fill mean and width (users x arms) from gathered non-zeros; return a slot that has broken down, or -1.

    Row `u * n_arms + a` is user u's context for arm a. Arms are the outer loop so that one arm's
    matrix stays in the cache while all users are scored against it.
    """
    broken = -1
    n_users, n_arms = mean.shape
    d = np.uint64(theta.shape[1])
    flat = inverse.reshape(-1)
    for a in range(n_arms):
        slot = slots[a]
        for u in range(n_users):
            # Unsigned: an index that may be negative costs a branch at every access.
            lo = np.uint64(starts[u * n_arms + a])
            hi = np.uint64(starts[u * n_arms + a + 1])
            m = 0.0
            q = 0.0
            if slot < 0:
                for i in range(lo, hi):
                    q += values[i] * values[i]
                q /= ridge
            else:
                start = np.uint64(slot) * d * d
                # A^-1 is symmetric: the diagonal once, each pair below it twice.
                for i in range(lo, hi):
                    c = np.uint64(columns[i])
                    row = start + c * d
                    inner = 0.5 * values[i] * flat[row + c]
                    for j in range(lo, i):
                        inner += values[j] * flat[row + np.uint64(columns[j])]
                    q += 2.0 * values[i] * inner
                    m += values[i] * theta[slot, c]
                if not q >= 0.0:
                    broken = slot
                    q = 0.0
            mean[u, a] = m
            width[u, a] = math.sqrt(q)
    return broken


@njit(cache=True, nogil=True, fastmath=_FAST)
def score_full(
    rows: Floats,
    slots: Ints,
    theta: Floats,
    inverse: Floats,
    ridge: float,
    mean: Floats,
    width: Floats,
) -> int:
    """Do as `score_sparse` does, for rows without zeros worth skipping."""
    broken = -1
    n_users, n_arms = mean.shape
    d = rows.shape[1]
    for a in range(n_arms):
        slot = slots[a]
        for u in range(n_users):
            x = rows[u * n_arms + a]
            m = 0.0
            q = 0.0
            if slot < 0:
                for i in range(d):
                    q += x[i] * x[i]
                q /= ridge
            else:
                P = inverse[slot]
                for i in range(d):
                    inner = 0.0
                    for j in range(i):
                        inner += x[j] * P[i, j]
                    q += x[i] * (2.0 * inner + x[i] * P[i, i])
                    m += x[i] * theta[slot, i]
                if not q >= 0.0:
                    broken = slot
                    q = 0.0
            mean[u, a] = m
            width[u, a] = math.sqrt(q)
    return broken


@njit(cache=True, nogil=True, fastmath=_FAST)
def learn_row(
    columns: Ints,
    values: Floats,
    reward: float,
    gram: Floats,
    moment: Floats,
    inverse: Floats,
    theta: Floats,
) -> float:
    """Learn one row: A += x x', b += r x, and A^-1, theta by Sherman-Morrison. Return x' A^-1 x as it was.

    theta moves by its own recursion rather than as A^-1 b: that product cancels badly where columns
    differ in scale, the recursion does not.
    """
    for i in range(columns.size):
        moment[columns[i]] += reward * values[i]
        for j in range(columns.size):
            gram[columns[i], columns[j]] += values[i] * values[j]

    u = _times(inverse, columns, values)
    leverage = 0.0
    surprise = reward
    for i in range(columns.size):
        leverage += values[i] * u[columns[i]]
        surprise -= values[i] * theta[columns[i]]
    if leverage >= 0.0:
        gain = 1.0 / (1.0 + leverage)
        for i in range(theta.size):
            theta[i] += u[i] * (gain * surprise)
            u[i] *= math.sqrt(gain)
        _subtract_outer(inverse, u)
    return leverage


@njit(cache=True, nogil=True, fastmath=_FAST)
def _times(symmetric: Floats, columns: Ints, values: Floats) -> Floats:
    """Multiply a symmetric matrix with a sparse vector."""
    product = np.zeros(len(symmetric))
    for i in range(columns.size):
        row = symmetric[columns[i]]
        for j in range(product.size):
            product[j] += values[i] * row[j]
    return product


@njit(cache=True, nogil=True, fastmath=_FAST)
def _subtract_outer(symmetric: Floats, u: Floats) -> None:
    """Subtract u u'. The product is the same on both sides of the diagonal, so symmetry is kept to the bit."""
    for i in range(u.size):
        if u[i] != 0.0:
            for j in range(u.size):
                symmetric[i, j] -= u[i] * u[j]


@njit(cache=True, nogil=True, fastmath=_FAST)
def invert(gram: Floats) -> tuple[Floats, Floats, float]:
    """Invert a positive definite matrix: M with A^-1 = M' M, A^-1 itself, and log det A (NaN if it is not).

    By hand rather than by LAPACK, whose threads wait for each other: where all cores are busy a call for a
    134-wide matrix was seen to take 90 ms, and this takes 1. The matrix is scaled to a unit diagonal first,
    so that columns of very different size cost no digits.
    """
    d = len(gram)
    scale = 1.0 / np.sqrt(np.diag(gram))
    L = np.zeros((d, d))
    log_det = 0.0
    for i in range(d):
        for j in range(i + 1):
            rest = gram[i, j] * scale[i] * scale[j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = rest / L[j, j]
        if not rest > 0.0:
            return L, L, math.nan
        L[i, i] = math.sqrt(rest)
        log_det += math.log(rest) - 2.0 * math.log(scale[i])
    M = _invert_lower(L)
    for i in range(d):
        for j in range(i + 1):
            M[i, j] *= scale[j]
    return M, _times_itself(M), log_det


@njit(cache=True, nogil=True, fastmath=_FAST)
def _invert_lower(L: Floats) -> Floats:
    """Invert a lower triangular matrix."""
    d = len(L)
    M = np.zeros((d, d))
    for i in range(d):
        for k in range(i):
            factor = -L[i, k] / L[i, i]
            for j in range(k + 1):
                M[i, j] += factor * M[k, j]
        M[i, i] = 1.0 / L[i, i]
    return M


@njit(cache=True, nogil=True, fastmath=_FAST)
def _times_itself(M: Floats) -> Floats:
    """Compute M' M of a lower triangular matrix; both halves hold the same bits."""
    d = len(M)
    product = np.zeros((d, d))
    for k in range(d):
        for i in range(k + 1):
            factor = M[k, i]
            for j in range(i + 1):
                product[i, j] += factor * M[k, j]
    for i in range(d):
        for j in range(i):
            product[j, i] = product[i, j]
    return product
