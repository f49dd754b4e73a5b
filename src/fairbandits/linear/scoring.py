"""The compiled loops that score. Nearly all that a round costs is in here.

A context is `x = u + v`: the common part u is the same for many arms of a round, the arm's own part v mostly the
same in all rounds. With f the own part that an arm learned last, q = A^-1 f kept ready, and e = v - f,

    x' A^-1 x = u' A^-1 u + 2 u.q + f.q + e' A^-1 (2u + e) + 2 e.q

where e is mostly empty: the cost is that of the common part alone, and its pairs are laid out once for all arms.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.linear.kernels import FAST, FIRST_STEP, GROWN, N_STEPS, Floats, Ints, at, dot, dot_full, times
from fairbandits.linear.split import Parts
from fairbandits.linear.young import score_young

# What is left of a sum whose parts cancel to less than this share has lost six of its digits.
CANCELLED = 1e-6
# Users are scored by so many at a time, so that an arm's matrix is in the cache for all but the first of them.
BLOCK = 64

# Where the models are (see `bank`), theta; the steps of young models; A^-1 and what is kept ready of grown ones.
State = tuple[Ints, Floats, Floats, Floats, Floats, Ints, Floats]
# The own parts that are kept, and where one of them lies: its columns, its values, how many.
Kept = tuple[Ints, Floats, np.uint64, np.uint64, np.uint64]


@njit(cache=True, nogil=True, fastmath=FAST)
def score_disjoint(
    parts: Parts, slots: Ints, state: State, ridge: float, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Fill mean and width (users x arms), a model for each arm; return how many broke down, their widths NaN."""
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    where, theta, steps, inverse, ready, part_columns, part_values = state
    broken = 0
    n_users = len(mean)
    n_slots, width_of_row = theta.shape
    d, one, size = np.uint64(width_of_row), np.uint64(1), np.uint64(inverse.shape[1])
    P, T, Q = inverse.reshape(-1), theta.reshape(-1), ready.reshape(-1)
    part_at, part_value = part_columns.reshape(-1), part_values.reshape(-1)
    e, e_values = np.empty(2 * width_of_row, np.int64), np.empty(2 * width_of_row)
    for block in range(0, n_users, BLOCK):
        end = min(block + BLOCK, n_users)
        base = users[block, 0]
        n_common = users[end - 1, 0] + users[end - 1, 1] - base
        pair_starts, offsets, weights = _pairs(common_starts, common_columns, common_values, base, n_common)
        for a in range(arm_from, arm_to):
            slot = slots[a]
            if slot < 0 or slot >= n_slots or where[slot, GROWN] < 0:
                score_young(parts, where, theta, steps, ridge, slot, a, mean, width, block, end)
                continue
            t, place = np.uint64(slot) * d, np.uint64(where[slot, GROWN])
            start, q, f, v = place * size, place * (d + one + one), place * (d + one), place * d
            compared, n_rest = -1, 0
            for user in range(block, end):
                common = users[user, 0] + which[users[user, 2], a]
                own_row = users[user, 3] + a
                lo, hi = np.uint64(bounds[own_row, 0]), np.uint64(bounds[own_row, 1])
                u_from, u_to = np.uint64(common_starts[common]), np.uint64(common_starts[common + 1])
                pair_from, pair_to = pair_starts[common - base], pair_starts[common - base + 1]
                own = _sum_of(P, start, offsets, weights, pair_from, pair_to)
                mixed = 2.0 * dot(Q, q, common_columns, common_values, u_from, u_to)
                m = Q[q + d + one] + dot(T, t, common_columns, common_values, u_from, u_to)
                if own_row != compared:
                    # Users who are offered the same arm share this.
                    kept = part_at, part_value, f + one, v, np.uint64(part_at[f])
                    is_same = is_same_part(columns, values, lo, hi, kept)
                    n_rest = 0 if is_same else _difference(columns, values, lo, hi, kept, e, e_values)
                    compared = own_row
                rest = 0.0
                if n_rest > 0:
                    rest = _rest(P, start, Q, q, e, e_values, n_rest, common_columns, common_values, u_from, u_to)
                    m += dot(T, t, e, e_values, np.uint64(0), np.uint64(n_rest))
                variance = own + mixed + Q[q + d] + rest
                if not variance > CANCELLED * (own + abs(mixed) + Q[q + d] + abs(rest)):
                    # The parts have cancelled each other, and too few digits are left: the long way.
                    u = common_columns[u_from:u_to], common_values[u_from:u_to]
                    variance = _direct(inverse[place], *u, columns[lo:hi], values[lo:hi])
                broken += not variance >= 0.0
                mean[user, a] = m
                width[user, a] = root(variance)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def _sum_of(
    P: Floats, start: np.uint64, offsets: NDArray[np.uint64], weights: Floats, lo: np.uint64, hi: np.uint64
) -> float:
    total = 0.0
    for k in range(lo, hi):
        total += weights[k] * P[start + offsets[k]]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def _rest(
    P: Floats,
    start: np.uint64,
    Q: Floats,
    q: np.uint64,
    e: Ints,
    e_values: Floats,
    n: int,
    columns: Ints,
    values: Floats,
    lo: np.uint64,
    hi: np.uint64,
) -> float:
    """Compute e' A^-1 (2u + e) + 2 e.q."""
    total = 0.0
    for i in range(n):
        c = np.uint64(e[i])
        inner = Q[q + c] + 0.5 * e_values[i] * P[start + at(c, c)]
        for k in range(lo, hi):
            inner += values[k] * P[start + at(c, columns[k])]
        for j in range(i):
            inner += e_values[j] * P[start + at(c, e[j])]
        total += 2.0 * e_values[i] * inner
    return total


@njit(cache=True, nogil=True)
def _pairs(
    starts: Ints, columns: Ints, values: Floats, first: int, n_parts: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Floats]:
    """Lay out the quadratic forms of some parts: where each entry of the matrix lies, and its weight."""
    pair_starts = np.zeros(n_parts + 1, np.uint64)
    for part in range(n_parts):
        n = starts[first + part + 1] - starts[first + part]
        pair_starts[part + 1] = pair_starts[part] + np.uint64(n * (n + 1) // 2)
    offsets = np.empty(pair_starts[n_parts], np.uint64)
    weights = np.empty(offsets.size)
    k = 0
    for part in range(first, first + n_parts):
        for i in range(starts[part], starts[part + 1]):
            for j in range(starts[part], i + 1):
                offsets[k] = at(columns[i], columns[j])
                weights[k] = values[i] * values[j] * (1.0 if i == j else 2.0)
                k += 1
    return pair_starts, offsets, weights


@njit(cache=True, nogil=True, fastmath=FAST)
def _direct(P: Floats, uc: Ints, uv: Floats, columns: Ints, values: Floats) -> float:
    """Compute x' A^-1 x of x = u + v as it stands."""
    total = 0.0
    for i in range(uc.size):
        for j in range(uc.size):
            total += uv[i] * uv[j] * P[at(uc[i], uc[j])]
    for i in range(columns.size):
        inner = 0.0
        for j in range(uc.size):
            inner += 2.0 * uv[j] * P[at(columns[i], uc[j])]
        for j in range(columns.size):
            inner += values[j] * P[at(columns[i], columns[j])]
        total += values[i] * inner
    return total


@njit(cache=True, nogil=True)
def _difference(
    columns: Ints, values: Floats, lo: np.uint64, hi: np.uint64, kept: Kept, left: Ints, left_values: Floats
) -> int:
    """Subtract the part that is kept from a row's own part, both sorted by column; return how much is left."""
    known, known_values, first, first_value, n = kept
    i, j, end, found = lo, first, first + n, 0
    one, shift = np.uint64(1), first_value - first
    while i < hi or j < end:
        if j >= end or (i < hi and columns[i] < known[j]):
            left[found], left_values[found] = columns[i], values[i]
            i += one
        elif i >= hi or known[j] < columns[i]:
            left[found], left_values[found] = known[j], -known_values[j + shift]
            j += one
        else:
            left[found], left_values[found] = columns[i], values[i] - known_values[j + shift]
            i += one
            j += one
        found += left_values[found] != 0.0
    return found


@njit(cache=True, nogil=True, inline="always")  # a call would take longer than the work
def is_same_part(columns: Ints, values: Floats, lo: np.uint64, hi: np.uint64, kept: Kept) -> bool:
    """Whether a row's own part is the one that is kept."""
    known, known_values, first, first_value, n = kept
    different = hi - lo != n
    for i in range(np.uint64(0) if different else n):
        different |= columns[lo + i] != known[first + i]
        different |= values[lo + i] != known_values[first_value + i]
    return not different


@njit(cache=True, nogil=True, fastmath=FAST)
def score_shared(
    parts: Parts, theta: Floats, inverse: Floats, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Fill mean and width (users x arms), one model for all arms: A^-1 u is computed once for a common part."""
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    broken = 0
    d = theta.size
    for user in range(len(mean)):
        first, n_common, dealt, first_own = users[user]
        products = np.empty((n_common, d))
        common_mean, common_variance = np.zeros(n_common), np.zeros(n_common)
        for part in range(n_common):
            lo, hi = common_starts[first + part], common_starts[first + part + 1]
            products[part] = times(inverse, common_columns[lo:hi], common_values[lo:hi], d)
            for i in range(lo, hi):
                common_variance[part] += common_values[i] * products[part, common_columns[i]]
                common_mean[part] += common_values[i] * theta[common_columns[i]]
        u = products.reshape(-1)
        for a in range(arm_from, arm_to):
            lo, hi = np.uint64(bounds[first_own + a, 0]), np.uint64(bounds[first_own + a, 1])
            part = which[dealt, a]
            start = np.uint64(part * d)
            variance = common_variance[part]
            m = common_mean[part]
            for i in range(lo, hi):
                c = np.uint64(columns[i])
                # Own parts are sorted by column, so that all pairs are below the diagonal.
                line = c * (c + np.uint64(1)) // np.uint64(2)
                inner = u[start + c] + 0.5 * values[i] * inverse[line + c]
                for j in range(lo, i):
                    inner += values[j] * inverse[line + np.uint64(columns[j])]
                variance += 2.0 * values[i] * inner
                m += values[i] * theta[c]
            broken += not variance >= 0.0
            mean[user, a] = m
            width[user, a] = root(variance)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def score_full(
    rows: Floats, slots: Ints, state: State, ridge: float, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Fill mean and width (users x arms) for rows without zeros worth skipping.

    Arms are the outer loop, so that one arm's matrix stays in the cache while all users are scored against it.
    """
    where, theta, steps, inverse, _, _, _ = state
    broken = 0
    n_users, n_arms = mean.shape
    n_slots, d = theta.shape
    X, P, T, S = rows.reshape(-1), inverse.reshape(-1), theta.reshape(-1), steps.reshape(-1)
    n, size = np.uint64(d), np.uint64(inverse.shape[1])
    for a in range(arm_from, arm_to):
        slot = slots[a]
        is_new = slot < 0 or slot >= n_slots
        is_young = not is_new and where[slot, GROWN] < 0
        t = np.uint64(0 if is_new else slot) * n
        for user in range(n_users):
            x = np.uint64(user * n_arms + a) * n
            variance = 0.0
            m = 0.0 if is_new else dot_full(X, x, T, t, n)
            if is_new or is_young:
                variance = dot_full(X, x, X, x, n) / ridge
                for k in range(FIRST_STEP, FIRST_STEP + (where[slot, N_STEPS] if is_young else 0)):
                    along = dot_full(X, x, S, np.uint64(where[slot, k]) * n, n)
                    variance -= along * along
                variance = max(variance, 0.0)
            else:
                start = np.uint64(where[slot, GROWN]) * size
                for i in range(n):
                    # A^-1 is symmetric: the diagonal once, each pair below it twice.
                    inner = 0.5 * X[x + i] * P[start + i] + dot_full(X, x, P, start, np.uint64(i))
                    variance += 2.0 * X[x + i] * inner
                    start += np.uint64(i + 1)
                broken += not variance >= 0.0
            mean[user, a] = m
            width[user, a] = root(variance)
    return broken


@njit(cache=True, nogil=True, inline="always")
def root(variance: float) -> float:
    """Take the square root; NaN where rounding has made a variance negative."""
    return math.sqrt(variance) if variance >= 0.0 else math.nan
