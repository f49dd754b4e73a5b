"""Learning a row in a regression with matrices of its own."""

from __future__ import annotations

import math

import numpy as np

from fairbandits.jit import kernel
from fairbandits.models.kernels.layouts import (
    AFRESH,
    LEARNED,
    MATRICES,
    NEEDS_MATRICES,
    OUTSIDE,
    ZERO,
    Fields,
    Floats,
    Ints,
    RidgeState,
    SplitRows,
)
from fairbandits.models.kernels.split_rows import take_row
from fairbandits.models.kernels.triangles import (
    add_outer,
    add_row,
    dot_dense,
    is_inside,
    leverage_and_residual,
    multiply,
)


@kernel(reorder_sums=True)
def learn_row(
    rows: Fields,
    user: int,
    arm: int,
    reward: float,
    weight: float,
    state: Fields,
    slot: int,
    most_leverage: float,
    refresh_every: int,
    ridge: float,
) -> int:
    """Learn one row: A += w x x', b += w r x, and A^-1, theta by Sherman-Morrison; return the outcome.

    Where w x' A^-1 x is negative or above `most_leverage`, the update would lose too many digits, so nothing
    changes. theta is updated by its own recursion rather than computed as A^-1 b, because that product loses
    digits to cancellation if columns differ in scale.
    """
    model = RidgeState(*state)
    columns, values, _ = take_row(SplitRows(*rows), user, arm)
    place, d = model.where[slot, MATRICES], model.theta.shape[1]
    if not is_inside(columns, d):
        return OUTSIDE
    if place < 0:
        # A row that will be rejected must not allocate matrices.
        nothing = np.uint64(0)
        square = dot_dense(values, nothing, values, nothing, np.uint64(values.size))
        return NEEDS_MATRICES if weight * square / ridge <= most_leverage else AFRESH
    u = multiply(model.inverse[place], columns, values, d)
    leverage, residual = leverage_and_residual(columns, values, u, model.theta, slot, reward, weight)
    if model.since_refresh[slot] + 1 >= refresh_every or not 0.0 <= leverage <= most_leverage:
        return AFRESH
    gain = weight / (1.0 + leverage)
    for i in range(d):
        model.theta[slot, i] += u[i] * (gain * residual)
        u[i] *= math.sqrt(gain)
    add_outer(model.inverse[place], u, -1.0)
    add_row(columns, values, reward, weight, model.gram, place, model.moment, slot)
    model.log_det[slot] += math.log1p(leverage)
    model.rows_learned[slot] += 1
    model.since_refresh[slot] += 1
    return LEARNED


@kernel()
def add_observation(
    columns: Ints, values: Floats, reward: float, weight: float, gram: Floats, moment: Floats
) -> None:
    """Add a row to A and b of a single regression."""
    add_row(columns, values, reward, weight, gram.reshape(1, -1), ZERO, moment.reshape(1, -1), ZERO)
