"""The compiled loops that score and learn. Nearly all that a round costs is in here.

Symmetric matrices are kept as their lower triangles, row after row: half the memory, and memory is what a
round waits for. Those of a bank lie in one block, `inverse[slot]`, so that one call scores all arms. A slot
beyond the block, or -1, stands for a model that has learned nothing: its A is ridge * I and takes no memory.

A context is `x = u + v`: the user's part u is the same for all arms of a round, the arm's own part v mostly
the same in all rounds. With f the own part that an arm learned last, q = A^-1 f kept ready, and e = v - f,

    x' A^-1 x = u' A^-1 u + 2 u.q + f.q + e' A^-1 (2u + e) + 2 e.q

where e is nearly empty: the cost is that of the user's part alone, and its pairs are laid out once for all arms.

Sums may be reordered by the compiler (`reassoc`), which is what lets it use vector units; NaN and infinities
keep their meaning. Indices are unsigned where it counts: one that may be negative costs a branch at each access.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAST = {"reassoc", "nsz", "contract"}
# What is left of a sum whose parts cancel to less than this share has lost six of its digits.
CANCELLED = 1e-6


@njit(cache=True, nogil=True, fastmath=FAST)
def score_disjoint(
    user_starts: Ints,
    user_columns: Ints,
    user_values: Floats,
    starts: Ints,
    columns: Ints,
    values: Floats,
    slots: Ints,
    inverse: Floats,
    theta: Floats,
    ready: Floats,
    part_columns: Ints,
    part_values: Floats,
    ridge: float,
    mean: Floats,
    width: Floats,
) -> int:
    """Fill mean and width (users x arms), a model for each arm; return a slot that has broken down, or -1."""
    broken = -1
    n_users, n_arms = mean.shape
    n_slots, d = theta.shape
    size = inverse.shape[1]
    flat = inverse.reshape(-1)
    for user in range(n_users):
        uc = user_columns[user_starts[user] : user_starts[user + 1]]
        uv = user_values[user_starts[user] : user_starts[user + 1]]
        offsets, weights = _pairs(uc, uv)
        norm = _square(uv)
        for a in range(n_arms):
            slot = slots[a]
            lo, hi = starts[user * n_arms + a], starts[user * n_arms + a + 1]
            if slot < 0 or slot >= n_slots:
                m = 0.0
                variance = (norm + _square(values[lo:hi])) / ridge
            else:
                start = np.uint64(slot * size)
                q, t = ready[slot], theta[slot]
                m = q[d + 1]
                own = 0.0
                for k in range(offsets.size):
                    own += weights[k] * flat[start + offsets[k]]
                mixed = 0.0
                for i in range(uc.size):
                    c = np.uint64(uc[i])
                    mixed += 2.0 * uv[i] * q[c]
                    m += uv[i] * t[c]
                part = part_columns[slot, 1 : 1 + part_columns[slot, 0]]
                rest = 0.0
                if not _is_same(columns[lo:hi], values[lo:hi], part, part_values[slot]):
                    e, e_values = _difference(columns[lo:hi], values[lo:hi], part, part_values[slot])
                    rest = _cross(e, e_values, uc, uv, inverse[slot], q)
                    for i in range(e.size):
                        m += e_values[i] * t[e[i]]
                variance = own + mixed + q[d] + rest
                if not variance > CANCELLED * (own + abs(mixed) + q[d] + abs(rest)):
                    # The parts have cancelled each other, and too few digits are left: the long way.
                    variance = _direct(inverse[slot], uc, uv, columns[lo:hi], values[lo:hi])
                if not variance >= 0.0:
                    broken = slot
                    variance = 0.0
            mean[user, a] = m
            width[user, a] = math.sqrt(variance)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def _square(x: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return total


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


@njit(cache=True, nogil=True, fastmath=FAST)
def _cross(e: Ints, e_values: Floats, uc: Ints, uv: Floats, P: Floats, q: Floats) -> float:
    """Compute e' A^-1 (2u + e) + 2 e.q."""
    total = 0.0
    for i in range(e.size):
        inner = q[e[i]] + 0.5 * e_values[i] * P[at(e[i], e[i])]
        for j in range(uc.size):
            inner += uv[j] * P[at(e[i], uc[j])]
        for j in range(i):
            inner += e_values[j] * P[at(e[i], e[j])]
        total += 2.0 * e_values[i] * inner
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def score_shared(
    user_starts: Ints,
    user_columns: Ints,
    user_values: Floats,
    starts: Ints,
    columns: Ints,
    values: Floats,
    theta: Floats,
    inverse: Floats,
    mean: Floats,
    width: Floats,
) -> int:
    """Fill mean and width (users x arms), one model for all arms: A^-1 u is computed once for a user."""
    broken = -1
    n_users, n_arms = mean.shape
    for user in range(n_users):
        uc = user_columns[user_starts[user] : user_starts[user + 1]]
        uv = user_values[user_starts[user] : user_starts[user + 1]]
        u = times(inverse, uc, uv, theta.size)
        user_variance = 0.0
        user_mean = 0.0
        for i in range(uc.size):
            user_variance += uv[i] * u[uc[i]]
            user_mean += uv[i] * theta[uc[i]]
        for a in range(n_arms):
            lo, hi = starts[user * n_arms + a], starts[user * n_arms + a + 1]
            variance = user_variance
            m = user_mean
            for i in range(lo, hi):
                c = columns[i]
                inner = u[c] + 0.5 * values[i] * inverse[at(c, c)]
                for j in range(lo, i):
                    inner += values[j] * inverse[at(c, columns[j])]
                variance += 2.0 * values[i] * inner
                m += values[i] * theta[c]
            if not variance >= 0.0:
                broken = 0
                variance = 0.0
            mean[user, a] = m
            width[user, a] = math.sqrt(variance)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def score_full(
    rows: Floats, slots: Ints, theta: Floats, inverse: Floats, ridge: float, mean: Floats, width: Floats
) -> int:
    """Fill mean and width (users x arms) for rows without zeros worth skipping.

    Arms are the outer loop, so that one arm's matrix stays in the cache while all users are scored against it.
    """
    broken = -1
    n_users, n_arms = mean.shape
    n_slots, d = theta.shape
    for a in range(n_arms):
        slot = slots[a]
        for user in range(n_users):
            x = rows[user * n_arms + a]
            m = 0.0
            variance = 0.0
            if slot < 0 or slot >= n_slots:
                for i in range(d):
                    variance += x[i] * x[i]
                variance /= ridge
            else:
                P, t = inverse[slot], theta[slot]
                start = 0
                for i in range(d):
                    # A^-1 is symmetric: the diagonal once, each pair below it twice.
                    row = P[start : start + i + 1]
                    inner = 0.5 * x[i] * row[i]
                    for j in range(i):
                        inner += x[j] * row[j]
                    variance += 2.0 * x[i] * inner
                    m += x[i] * t[i]
                    start += i + 1
                if not variance >= 0.0:
                    broken = slot
                    variance = 0.0
            mean[user, a] = m
            width[user, a] = math.sqrt(variance)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def learn_row(
    slot: int,
    columns: Ints,
    values: Floats,
    n_user: int,
    reward: float,
    gram: Floats,
    moment: Floats,
    inverse: Floats,
    theta: Floats,
    ready: Floats,
    part_columns: Ints,
    part_values: Floats,
    most: float,
) -> float:
    """Learn one row: A += x x', b += r x, and A^-1, theta by Sherman-Morrison. Return x' A^-1 x as it was.

    Where that is negative or above `most`, the update would lose too many digits, and nothing is changed.
    theta moves by its own recursion rather than as A^-1 b: that product cancels badly where columns differ in
    scale, the recursion does not.
    """
    P, t = inverse[slot], theta[slot]
    u = times(P, columns, values, t.size)
    leverage = 0.0
    surprise = reward
    for i in range(columns.size):
        leverage += values[i] * u[columns[i]]
        surprise -= values[i] * t[columns[i]]
    if not 0.0 <= leverage <= most:
        return leverage

    gain = 1.0 / (1.0 + leverage)
    for i in range(t.size):
        t[i] += u[i] * (gain * surprise)
        u[i] *= math.sqrt(gain)
    _subtract_outer(P, u)
    add_row(columns, values, reward, gram[slot], moment[slot])
    keep_part(columns[n_user:], values[n_user:], part_columns[slot], part_values[slot])
    make_ready(part_columns[slot], part_values[slot], P, t, ready[slot])
    return leverage


@njit(cache=True, nogil=True, fastmath=FAST)
def add_row(columns: Ints, values: Floats, reward: float, gram: Floats, moment: Floats) -> None:
    """Add a row to A and b."""
    for i in range(columns.size):
        moment[columns[i]] += reward * values[i]
        for j in range(i + 1):
            gram[at(columns[i], columns[j])] += values[i] * values[j]


@njit(cache=True, nogil=True)
def keep_part(columns: Ints, values: Floats, part_columns: Ints, part_values: Floats) -> None:
    """Keep an arm's own part: how many columns, then the columns; and their values."""
    part_columns[0] = columns.size
    part_columns[1 : 1 + columns.size] = columns
    part_values[: columns.size] = values


@njit(cache=True, nogil=True, fastmath=FAST)
def make_ready(part_columns: Ints, part_values: Floats, inverse: Floats, theta: Floats, ready: Floats) -> None:
    """Keep A^-1 f ready for an arm's own part f, and behind it f' A^-1 f and theta.f."""
    d = theta.size
    columns = part_columns[1 : 1 + part_columns[0]]
    values = part_values[: columns.size]
    ready[:d] = times(inverse, columns, values, d)
    ready[d] = 0.0
    ready[d + 1] = 0.0
    for i in range(columns.size):
        ready[d] += values[i] * ready[columns[i]]
        ready[d + 1] += values[i] * theta[columns[i]]


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
def _subtract_outer(triangle: Floats, u: Floats) -> None:
    """Subtract u u'."""
    start = 0
    for i in range(u.size):
        if u[i] != 0.0:
            row = triangle[start : start + i + 1]
            for j in range(i + 1):
                row[j] -= u[i] * u[j]
        start += i + 1


@njit(cache=True, nogil=True, inline="always")
def at(i: int, j: int) -> np.uint64:
    """Give the place of an entry in a lower triangle."""
    high, low = np.uint64(max(i, j)), np.uint64(min(i, j))
    return high * (high + np.uint64(1)) // np.uint64(2) + low


@njit(cache=True, nogil=True)
def _pairs(columns: Ints, values: Floats) -> tuple[NDArray[np.uint64], Floats]:
    """Lay out the products of a quadratic form: where each entry of the matrix lies, and its weight."""
    n = columns.size
    offsets = np.empty(n * (n + 1) // 2, np.uint64)
    weights = np.empty(offsets.size)
    k = 0
    for i in range(n):
        for j in range(i + 1):
            offsets[k] = at(columns[i], columns[j])
            weights[k] = values[i] * values[j] * (1.0 if i == j else 2.0)
            k += 1
    return offsets, weights


@njit(cache=True, nogil=True)
def _is_same(columns: Ints, values: Floats, known: Ints, known_values: Floats) -> bool:
    """Whether two sparse vectors are equal."""
    if columns.size != known.size:
        return False
    different = False
    for i in range(columns.size):
        different |= (columns[i] != known[i]) | (values[i] != known_values[i])
    return not different


@njit(cache=True, nogil=True)
def _difference(columns: Ints, values: Floats, known: Ints, known_values: Floats) -> tuple[Ints, Floats]:
    """Subtract one sparse vector from another, both sorted by column."""
    left = np.empty(columns.size + known.size, np.int64)
    left_values = np.empty(left.size)
    i = j = n = 0
    while i < columns.size or j < known.size:
        if j >= known.size or (i < columns.size and columns[i] < known[j]):
            left[n], left_values[n] = columns[i], values[i]
            i += 1
        elif i >= columns.size or known[j] < columns[i]:
            left[n], left_values[n] = known[j], -known_values[j]
            j += 1
        else:
            left[n], left_values[n] = columns[i], values[i] - known_values[j]
            i += 1
            j += 1
        n += left_values[n] != 0.0
    return left[:n], left_values[:n]


@njit(cache=True, nogil=True)
def is_inside(columns: Ints, d: int) -> bool:
    """Whether all columns are among 0..d-1."""
    outside = 0
    for i in range(columns.size):
        outside += columns[i] < 0 or columns[i] >= d
    return outside == 0
