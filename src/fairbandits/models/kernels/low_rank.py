"""Models that have learned little, without matrices.

Every row that is learned takes a rank-one matrix off A^-1 (Sherman-Morrison), so that after n rows

    A^-1 = I / ridge - s_1 s_1' - ... - s_n s_n'        x' A^-1 x = x.x / ridge - (s_1.x)^2 - ... - (s_n.x)^2

The steps s take n d numbers instead of d^2, and the quadratic form n d multiplications. Where most of many arms
have learned few rows that is nearly all of the memory and of the time. The rows are kept as well: A is made of
them when the model grows up, and merging two models is learning the rows of one in the other.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fairbandits.models.kernels.split_rows import Parts
from fairbandits.models.kernels.triangles import (
    AFRESH,
    FAST,
    FIRST_STEP,
    GROW_UP,
    GROWN,
    LEARNED,
    N_STEPS,
    NO_PLACE,
    Floats,
    Ints,
    dot,
    dot_full,
)

# No model is young with more rows than this, nor with more than a third of the entries of a row: from there on the
# pairs of entries cost less than the steps.
MOST_STEPS = 32
# The most that x.x / ridge of all rows may sum up to: it bounds how much of x.x / ridge the steps can cancel, and
# so how many digits are lost: four of sixteen.
MOST_SQUARES = 1e4


def most_steps(width: int) -> int:
    """Give how many rows a model of some width may learn without a matrix."""
    return min(MOST_STEPS, width // 3)


@njit(cache=True, nogil=True, fastmath=FAST)
def learn_young(
    columns: Ints,
    values: Floats,
    reward: float,
    weight: float,
    ridge: float,
    where: Ints,
    steps: Floats,
    rows: Floats,
    theta: Floats,
    moment: Floats,
) -> tuple[int, float]:
    """Learn one row in a model without a matrix; give what came of it, and the leverage w x' A^-1 x.

    `where` is the line of the model; `rows` hold sqrt(w) x, sqrt(w) r, and w x.x / ridge.
    """
    d, n = theta.size, where[N_STEPS]
    square = 0.0
    for i in range(columns.size):
        square += weight * values[i] * values[i] / ridge
    total = square
    for k in range(FIRST_STEP, FIRST_STEP + n):
        total += rows[where[k], d + 1]
    if not total <= MOST_SQUARES:
        return AFRESH, 0.0
    if n >= min(where.size - FIRST_STEP, columns.size // 3):
        return GROW_UP, 0.0
    place = where[FIRST_STEP + n]
    if place < 0:
        return NO_PLACE, 0.0

    u = _product(columns, values, ridge, where, steps, d)
    leverage, surprise = 0.0, reward
    for i in range(columns.size):
        leverage += weight * values[i] * u[columns[i]]
        surprise -= values[i] * theta[columns[i]]
    gain = weight / (1.0 + leverage)
    for i in range(d):
        theta[i] += u[i] * (gain * surprise)
        steps[place, i] = u[i] * math.sqrt(gain)
    for i in range(columns.size):
        rows[place, columns[i]] = math.sqrt(weight) * values[i]
        moment[columns[i]] += weight * reward * values[i]
    rows[place, d] = math.sqrt(weight) * reward
    rows[place, d + 1] = square
    where[N_STEPS] += 1
    return LEARNED, leverage


@njit(cache=True, nogil=True, fastmath=FAST)
def _product(columns: Ints, values: Floats, ridge: float, where: Ints, steps: Floats, d: int) -> Floats:
    """Compute A^-1 x."""
    product = np.zeros(d)
    for i in range(columns.size):
        product[columns[i]] = values[i] / ridge
    for k in range(FIRST_STEP, FIRST_STEP + where[N_STEPS]):
        step = steps[where[k]]
        along = 0.0
        for i in range(columns.size):
            along += values[i] * step[columns[i]]
        for i in range(d):
            product[i] -= along * step[i]
    return product


@njit(cache=True, nogil=True, fastmath=FAST)
def score_young(
    parts: Parts,
    slots: Ints,
    where: Ints,
    theta: Floats,
    steps: Floats,
    ridge: float,
    mean: Floats,
    width: Floats,
    user_from: int,
    user_to: int,
    arm_from: int,
    arm_to: int,
) -> None:
    """Fill mean and width of some users for those arms whose model is young, or has learned nothing."""
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    n_slots, d = theta.shape
    S, T = steps.reshape(-1), theta.reshape(-1)
    for arm in range(arm_from, arm_to):
        slot = slots[arm]
        is_new = slot < 0 or slot >= n_slots
        if not is_new and where[slot, GROWN] >= 0:
            continue
        n_steps = 0 if is_new else where[slot, N_STEPS]
        for user in range(user_from, user_to):
            common, own = users[user, 0] + which[users[user, 2], arm], users[user, 3] + arm
            u_from, u_to = np.uint64(common_starts[common]), np.uint64(common_starts[common + 1])
            lo, hi = np.uint64(bounds[own, 0]), np.uint64(bounds[own, 1])
            variance = (_square(common_values, u_from, u_to) + _square(values, lo, hi)) / ridge
            for k in range(n_steps):
                step = np.uint64(where[slot, FIRST_STEP + k] * d)
                along = dot(S, step, common_columns, common_values, u_from, u_to)
                along += dot(S, step, columns, values, lo, hi)
                variance -= along * along
            m = 0.0
            if n_steps > 0:
                t = np.uint64(slot * d)
                m = dot(T, t, common_columns, common_values, u_from, u_to) + dot(T, t, columns, values, lo, hi)
            mean[user, arm] = m
            width[user, arm] = math.sqrt(max(variance, 0.0))


@njit(cache=True, nogil=True, fastmath=FAST)
def _square(x: Floats, lo: np.uint64, hi: np.uint64) -> float:
    total = 0.0
    for i in range(lo, hi):
        total += x[i] * x[i]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def score_full_young(
    rows: Floats,
    slots: Ints,
    where: Ints,
    theta: Floats,
    steps: Floats,
    ridge: float,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> None:
    """Do as `score_young` does, for all users, and rows without zeros worth skipping."""
    n_users, n_arms = mean.shape
    n_slots, d = theta.shape
    X, S, T, n = rows.reshape(-1), steps.reshape(-1), theta.reshape(-1), np.uint64(d)
    for arm in range(arm_from, arm_to):
        slot = slots[arm]
        is_new = slot < 0 or slot >= n_slots
        if not is_new and where[slot, GROWN] >= 0:
            continue
        for user in range(n_users):
            x = np.uint64(user * n_arms + arm) * n
            variance = dot_full(X, x, X, x, n) / ridge
            for k in range(0 if is_new else where[slot, N_STEPS]):
                along = dot_full(X, x, S, np.uint64(where[slot, FIRST_STEP + k]) * n, n)
                variance -= along * along
            mean[user, arm] = 0.0 if is_new else dot_full(X, x, T, np.uint64(slot) * n, n)
            width[user, arm] = math.sqrt(max(variance, 0.0))
