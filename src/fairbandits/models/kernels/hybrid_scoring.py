"""The compiled loop that scores the hybrid model; `hybrid.py` says what it computes."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairbandits.models.kernels.split_rows import Parts
from fairbandits.models.kernels.triangles import FAST, GROWN, Floats, Ints, dot


@njit(cache=True, nogil=True, fastmath=FAST)
def score_hybrid(
    parts: Parts,
    slots: Ints,
    state: tuple[Ints, Floats, Floats],
    common_inverse: Floats,
    betas: Floats,
    ridge: float,
    scores: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Fill scores, 4 x users x arms: x.P b, ridge q.beta, x.q, ridge^2 q' A0^-1 q; return how many broke down."""
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    where, theta, inverse = state
    broken = 0
    n_slots, width = theta.shape
    d, size = np.uint64(width), np.uint64(inverse.shape[1])
    P, T = inverse.reshape(-1), theta.reshape(-1)
    q = np.empty(width)
    for a in range(arm_from, arm_to):
        slot = slots[a]
        is_new = slot < 0 or slot >= n_slots or where[slot, GROWN] < 0
        t = np.uint64(0 if is_new else slot) * d
        start = np.uint64(0 if is_new else where[slot, GROWN]) * size
        for user in range(scores.shape[1]):
            common = users[user, 0] + which[users[user, 2], a]
            row = users[user, 3] + a
            lo, hi = np.uint64(bounds[row, 0]), np.uint64(bounds[row, 1])
            u_from, u_to = np.uint64(common_starts[common]), np.uint64(common_starts[common + 1])
            q[:] = 0.0
            mean = 0.0
            if is_new:
                _scatter(common_columns, common_values, u_from, u_to, 1.0 / ridge, q)
                _scatter(columns, values, lo, hi, 1.0 / ridge, q)
            else:
                _add_product(P, start, columns, values, lo, hi, d, q)
                _add_product(P, start, common_columns, common_values, u_from, u_to, d, q)
                mean = dot(T, t, common_columns, common_values, u_from, u_to)
                mean += dot(T, t, columns, values, lo, hi)
            own = dot(q, np.uint64(0), common_columns, common_values, u_from, u_to)
            own += dot(q, np.uint64(0), columns, values, lo, hi)
            broken += not own >= 0.0
            lift = 0.0
            beta = betas[user if len(betas) > 1 else 0]
            for i in range(d):
                lift += q[i] * beta[i]
            scores[0, user, a] = mean
            scores[1, user, a] = ridge * lift
            scores[2, user, a] = own
            scores[3, user, a] = ridge * ridge * max(_quadratic(common_inverse, q, d), 0.0)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def _scatter(columns: Ints, values: Floats, lo: np.uint64, hi: np.uint64, factor: float, x: Floats) -> None:
    for i in range(lo, hi):
        x[np.uint64(columns[i])] += factor * values[i]


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_product(
    P: Floats,
    start: np.uint64,
    columns: Ints,
    values: Floats,
    lo: np.uint64,
    hi: np.uint64,
    d: np.uint64,
    q: Floats,
) -> None:
    """Add to q the product of a symmetric matrix with a sparse vector."""
    one = np.uint64(1)
    for i in range(lo, hi):
        c, v = np.uint64(columns[i]), values[i]
        row = start + c * (c + one) // np.uint64(2)
        for j in range(c + one):
            q[j] += v * P[row + j]
        # The rest of the row stands in the column below the diagonal.
        place = row + c
        for j in range(c + one, d):
            place += j
            q[j] += v * P[place]


@njit(cache=True, nogil=True, fastmath=FAST)
def _quadratic(triangle: Floats, q: Floats, d: np.uint64) -> float:
    total = 0.0
    start = np.uint64(0)
    for i in range(d):
        inner = 0.5 * q[i] * triangle[start + i]
        for j in range(i):
            inner += q[j] * triangle[start + j]
        total += 2.0 * q[i] * inner
        start += i + np.uint64(1)
    return total
