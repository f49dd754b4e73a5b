"""Scoring the hybrid model; `models.hybrid` has the formulae."""

from __future__ import annotations

import numpy as np

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_SHARED,
    FIRST_STEP,
    MATRICES,
    N_STEPS,
    PATTERN,
    START,
    STOP,
    Fields,
    Floats,
    Ints,
    RidgeState,
    SplitRows,
)
from fairbandits.models.kernels.triangles import add_product, dot
from fairbandits.models.kernels.vectors import LANES, add_weighted

#: Rows of the scores: x.P b, ridge q.beta, x.q, ridge^2 q' A0^-1 q.
ARM_MEAN, LIFT, ARM_VARIANCE, SHARED_VARIANCE = range(4)


@kernel(reorder_sums=True)
def score_hybrid(
    rows: Fields,
    slots: Ints,
    state: Fields,
    steps: Floats,
    shared_inverse: Floats,
    betas: Floats,
    ridge: float,
    scores: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Fill scores (4 x users x arms); return how many variances are negative."""
    split, model = SplitRows(*rows), RidgeState(*state)
    broken = 0
    n_slots, width = model.theta.shape
    d, size = np.uint64(width), np.uint64(model.inverse.shape[1])
    P, T = model.inverse.reshape(-1), model.theta.reshape(-1)
    zero = np.uint64(0)
    q = np.empty(width)
    # The shared variances of several pairs of user and arm are computed at once; q of each waits in a lane.
    waiting = np.zeros((width, LANES))
    pairs = np.empty((LANES, 2), np.int64)
    n_waiting = 0
    for arm in range(arm_from, arm_to):
        slot = slots[arm]
        is_known = 0 <= slot < n_slots
        place = model.where[slot, MATRICES] if is_known else -1
        n_steps = model.where[slot, N_STEPS] if is_known else 0
        t = np.uint64(slot if is_known else 0) * d
        for user in range(scores.shape[1]):
            shared = split.users[user, FIRST_SHARED] + split.which[split.users[user, PATTERN], arm]
            own = split.users[user, FIRST_ARM] + arm
            lo, hi = np.uint64(split.bounds[own, START]), np.uint64(split.bounds[own, STOP])
            u_from, u_to = np.uint64(split.shared_starts[shared]), np.uint64(split.shared_starts[shared + 1])
            for i in range(d):
                q[i] = 0.0
            mean = 0.0
            if place >= 0:
                start = np.uint64(place) * size
                add_product(P, start, split.columns, split.values, lo, hi, q)
                add_product(P, start, split.shared_columns, split.shared_values, u_from, u_to, q)
            else:
                _add_low_rank(split, model, steps, slot, n_steps, ridge, lo, hi, u_from, u_to, q)
            if place >= 0 or n_steps > 0:
                mean = dot(T, t, split.shared_columns, split.shared_values, u_from, u_to)
                mean += dot(T, t, split.columns, split.values, lo, hi)
            variance = dot(q, zero, split.shared_columns, split.shared_values, u_from, u_to)
            variance += dot(q, zero, split.columns, split.values, lo, hi)
            broken += not variance >= 0.0
            lift = 0.0
            sample = user if len(betas) > 1 else 0
            for i in range(width):
                lift += q[i] * betas[sample, i]
            scores[ARM_MEAN, user, arm] = mean
            scores[LIFT, user, arm] = ridge * lift
            scores[ARM_VARIANCE, user, arm] = variance
            for i in range(width):
                waiting[i, n_waiting] = q[i]
            pairs[n_waiting] = user, arm
            n_waiting += 1
            if n_waiting == LANES:
                _add_shared_variances(shared_inverse, waiting, pairs, n_waiting, ridge, scores)
                n_waiting = 0
    _add_shared_variances(shared_inverse, waiting, pairs, n_waiting, ridge, scores)
    return broken


@helper(reorder_sums=True)
def _add_low_rank(
    split: SplitRows,
    model: RidgeState,
    steps: Floats,
    slot: int,
    n_steps: int,
    ridge: float,
    lo: np.uint64,
    hi: np.uint64,
    u_from: np.uint64,
    u_to: np.uint64,
    q: Floats,
) -> None:
    """Add P_a x of an arm that has no matrices."""
    S, d = steps.reshape(-1), np.uint64(q.size)
    for i in range(u_from, u_to):
        q[np.uint64(split.shared_columns[i])] += split.shared_values[i] / ridge
    for i in range(lo, hi):
        q[np.uint64(split.columns[i])] += split.values[i] / ridge
    for k in range(FIRST_STEP, FIRST_STEP + n_steps):
        step = np.uint64(model.where[slot, k]) * d
        along = dot(S, step, split.shared_columns, split.shared_values, u_from, u_to)
        along += dot(S, step, split.columns, split.values, lo, hi)
        for i in range(d):
            q[i] -= along * S[step + i]


@helper()
def _add_shared_variances(
    triangle: Floats, waiting: Floats, pairs: Ints, n_waiting: int, ridge: float, scores: Floats
) -> None:
    """Fill in ridge^2 q' M q for a symmetric matrix M and the q of some pairs, one in each lane."""
    zero, one, start = np.uint64(0), np.uint64(1), np.uint64(0)
    columns = np.arange(len(waiting)).astype(np.uint64)
    below, totals = np.zeros((2, LANES)), np.zeros(LANES)
    for row in range(len(waiting)):
        n = np.uint64(row)
        # Entry 0 of `below` becomes the product with the entries below the diagonal; entry 1 stays 0.
        add_weighted(below, zero, below, one, waiting, zero, columns, triangle[start : start + n], zero, n)
        diagonal = triangle[start + n]
        for lane in range(LANES):
            own = waiting[row, lane]
            totals[lane] += own * (2.0 * below[0, lane] + diagonal * own)
        start += n + one
    for lane in range(n_waiting):
        user, arm = pairs[lane]
        scores[SHARED_VARIANCE, user, arm] = ridge * ridge * totals[lane] if totals[lane] > 0.0 else 0.0
