"""Regressions with few observations, without matrices.

Learning a row subtracts a rank-one matrix from A^-1 (Sherman-Morrison), so after n rows

    A^-1 = I / ridge - s_1 s_1' - ... - s_n s_n'        x' A^-1 x = x.x / ridge - (s_1.x)^2 - ... - (s_n.x)^2

The steps s take n d numbers instead of d^2, and the quadratic form n d multiplications. If most arms have few
observations, this saves nearly all of the memory and time. The rows are also kept: A is computed from them when
the regression needs matrices, and two regressions are merged by learning the rows of one in the other.
"""

from __future__ import annotations

import math

import numpy as np

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import (
    AFRESH,
    FIRST_ARM,
    FIRST_SHARED,
    FIRST_STEP,
    LEARNED,
    MATRICES,
    N_STEPS,
    NEEDS_MATRICES,
    NEEDS_STEP,
    OUTSIDE,
    PATTERN,
    START,
    STOP,
    ZERO,
    DisjointState,
    DisjointSums,
    Fields,
    Floats,
    Ints,
    SplitRows,
)
from fairbandits.models.kernels.triangles import dot, dot_dense

# No regression has more steps than this, nor more than a third of the width of a row: beyond that, the pairs of
# entries cost less than the steps.
MOST_STEPS = 32
# The largest sum of x.x / ridge over all rows. It bounds how much of x.x / ridge the steps can cancel, and
# therefore how many digits are lost: four of sixteen.
_MOST_SQUARES = 1e4


def most_steps(width: int) -> int:
    """Return the number of rows that a regression of a given width may learn without matrices."""
    return min(MOST_STEPS, width // 3)


@kernel(reorder_sums=True)
def learn_low_rank(
    rows: Fields,
    user: int,
    arm: int,
    reward: float,
    weight: float,
    state: Fields,
    sums: Fields,
    slot: int,
    ridge: float,
) -> int:
    """Learn one row in a regression without matrices; return the outcome."""
    model, totals = DisjointState(*state), DisjointSums(*sums)
    d = model.theta.shape[1]
    x, u = np.empty(d), np.empty(d)
    return learn_step(SplitRows(*rows), user, arm, reward, weight, model, totals, slot, ridge, x, u)


@helper(reorder_sums=True)
def learn_step(
    rows: SplitRows,
    user: int,
    arm: int,
    reward: float,
    weight: float,
    model: DisjointState,
    totals: DisjointSums,
    slot: int,
    ridge: float,
    x: Floats,
    u: Floats,
) -> int:
    """Learn one row in a regression without matrices, given buffers for two vectors; return the outcome.

    `totals.rows` holds sqrt(w) x, sqrt(w) r, and w x.x / ridge. The row is expanded to a dense vector: a step is
    dense anyway, and vector instructions need contiguous reads.
    """
    where, n = model.where, model.where[slot, N_STEPS]
    d = np.uint64(x.size)
    n_entries = _write_out(rows, user, arm, x)
    if n_entries < 0:
        return OUTSIDE
    square = weight * dot_dense(x, np.uint64(0), x, np.uint64(0), d) / ridge
    total = square
    for k in range(FIRST_STEP, FIRST_STEP + n):
        total += totals.rows[where[slot, k], d + np.uint64(1)]
    if not total <= _MOST_SQUARES:
        return AFRESH
    # The first row never needs matrices if there is room for a step, so that an arm tried only once costs little.
    if n >= where.shape[1] - FIRST_STEP or (n > 0 and n >= n_entries // 3):
        return NEEDS_MATRICES
    place = where[slot, FIRST_STEP + n]
    if place < 0:
        return NEEDS_STEP

    new, own = np.uint64(place), np.uint64(slot)
    for i in range(d):
        u[i] = x[i] / ridge
    for k in range(FIRST_STEP, FIRST_STEP + n):
        step, along = np.uint64(where[slot, k]), 0.0
        for i in range(d):
            along += x[i] * model.steps[step, i]
        for i in range(d):
            u[i] -= along * model.steps[step, i]
    leverage, residual = 0.0, reward
    for i in range(d):
        leverage += weight * x[i] * u[i]
        residual -= x[i] * model.theta[own, i]
    gain = weight / (1.0 + leverage)
    root, root_weight = math.sqrt(gain), math.sqrt(weight)
    for i in range(d):
        model.theta[own, i] += u[i] * (gain * residual)
        model.steps[new, i] = u[i] * root
        totals.rows[new, i] = root_weight * x[i]
        totals.moment[own, i] += weight * reward * x[i]
    totals.rows[new, d] = root_weight * reward
    totals.rows[new, d + np.uint64(1)] = square
    where[slot, N_STEPS] += 1
    totals.log_det[slot] += math.log1p(leverage)
    totals.rows_learned[slot] += 1
    return LEARNED


@kernel(reorder_sums=True)
def low_rank_product(state: Fields, slot: int, columns: Ints, values: Floats, ridge: float) -> Floats:
    """Compute A^-1 x of a regression without matrices."""
    model = DisjointState(*state)
    product = np.zeros(model.theta.shape[1])
    for i in range(columns.size):
        product[columns[i]] = values[i] / ridge
    if 0 <= slot < len(model.where):
        for k in range(FIRST_STEP, FIRST_STEP + model.where[slot, N_STEPS]):
            subtract_step(model.steps, model.where[slot, k], columns, values, ZERO, columns.size, product)
    return product


@helper(reorder_sums=True)
def subtract_step(
    steps: Floats, step: int, columns: Ints, values: Floats, lo: int, hi: int, product: Floats
) -> None:
    """Subtract s (s.x) from a product, x being entries lo to hi of a sparse row."""
    along, at = 0.0, np.uint64(step)
    for i in range(lo, hi):
        along += values[i] * steps[at, np.uint64(columns[i])]
    for i in range(np.uint64(product.size)):
        product[i] -= along * steps[at, i]


@helper()
def _write_out(rows: SplitRows, user: int, arm: int, x: Floats) -> int:
    """Expand a row to a dense vector; return its number of entries, or -1 if a column is out of range."""
    for i in range(np.uint64(x.size)):
        x[i] = 0.0
    d = x.size
    shared = rows.users[user, FIRST_SHARED] + rows.which[rows.users[user, PATTERN], arm]
    own = rows.users[user, FIRST_ARM] + arm
    first, last = rows.shared_starts[shared], rows.shared_starts[shared + 1]
    lo, hi = rows.bounds[own, START], rows.bounds[own, STOP]
    for k in range(first, last):
        if not 0 <= rows.shared_columns[k] < d:
            return -1
        x[np.uint64(rows.shared_columns[k])] = rows.shared_values[k]
    for k in range(lo, hi):
        if not 0 <= rows.columns[k] < d:
            return -1
        x[np.uint64(rows.columns[k])] = rows.values[k]
    n_entries: int = last - first + hi - lo
    return n_entries


@helper(reorder_sums=True)
def score_low_rank(
    rows: SplitRows,
    slots: Ints,
    model: DisjointState,
    ridge: float,
    mean: Floats,
    width: Floats,
    user_from: int,
    user_to: int,
    arm_from: int,
    arm_to: int,
) -> None:
    """Fill in mean and width of some users, for the arms whose regression has no matrices."""
    n_slots, d = model.theta.shape
    steps, theta = model.steps.reshape(-1), model.theta.reshape(-1)
    for arm in range(arm_from, arm_to):
        slot = slots[arm]
        is_new = slot < 0 or slot >= n_slots
        if not is_new and model.where[slot, MATRICES] >= 0:
            continue
        n_steps = 0 if is_new else model.where[slot, N_STEPS]
        for user in range(user_from, user_to):
            shared = rows.users[user, FIRST_SHARED] + rows.which[rows.users[user, PATTERN], arm]
            own = rows.users[user, FIRST_ARM] + arm
            u_from, u_to = np.uint64(rows.shared_starts[shared]), np.uint64(rows.shared_starts[shared + 1])
            lo, hi = np.uint64(rows.bounds[own, START]), np.uint64(rows.bounds[own, STOP])
            variance = dot_dense(rows.shared_values, u_from, rows.shared_values, u_from, u_to - u_from)
            variance = (variance + dot_dense(rows.values, lo, rows.values, lo, hi - lo)) / ridge
            for k in range(n_steps):
                step = np.uint64(model.where[slot, FIRST_STEP + k] * d)
                along = dot(steps, step, rows.shared_columns, rows.shared_values, u_from, u_to)
                along += dot(steps, step, rows.columns, rows.values, lo, hi)
                variance -= along * along
            predicted = 0.0
            if n_steps > 0:
                t = np.uint64(slot * d)
                predicted = dot(theta, t, rows.shared_columns, rows.shared_values, u_from, u_to)
                predicted += dot(theta, t, rows.columns, rows.values, lo, hi)
            mean[user, arm] = predicted
            width[user, arm] = math.sqrt(variance) if variance > 0.0 else 0.0


@kernel(reorder_sums=True)
def score_sparse_low_rank(
    rows: Fields,
    slots: Ints,
    state: Fields,
    ridge: float,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Fill in mean and width (users x arms) if no regression has matrices; return 0, because none can fail."""
    model = DisjointState(*state)
    score_low_rank(SplitRows(*rows), slots, model, ridge, mean, width, ZERO, len(mean), arm_from, arm_to)
    return 0


@helper(reorder_sums=True)
def score_low_rank_dense(
    rows: Floats,
    slots: Ints,
    model: DisjointState,
    ridge: float,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> None:
    """Fill in mean and width as `score_low_rank` does, for all users, from dense rows."""
    n_users, n_arms = mean.shape
    n_slots, d = model.theta.shape
    X, steps, theta, n = rows.reshape(-1), model.steps.reshape(-1), model.theta.reshape(-1), np.uint64(d)
    for arm in range(arm_from, arm_to):
        slot = slots[arm]
        is_new = slot < 0 or slot >= n_slots
        if not is_new and model.where[slot, MATRICES] >= 0:
            continue
        for user in range(n_users):
            x = np.uint64(user * n_arms + arm) * n
            variance = dot_dense(X, x, X, x, n) / ridge
            for k in range(0 if is_new else model.where[slot, N_STEPS]):
                along = dot_dense(X, x, steps, np.uint64(model.where[slot, FIRST_STEP + k]) * n, n)
                variance -= along * along
            mean[user, arm] = 0.0 if is_new else dot_dense(X, x, theta, np.uint64(slot) * n, n)
            width[user, arm] = math.sqrt(variance) if variance > 0.0 else 0.0


@kernel(reorder_sums=True)
def score_dense_low_rank(
    rows: Floats,
    slots: Ints,
    state: Fields,
    ridge: float,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Fill in mean and width as `score_sparse_low_rank` does, from dense rows."""
    score_low_rank_dense(rows, slots, DisjointState(*state), ridge, mean, width, arm_from, arm_to)
    return 0
