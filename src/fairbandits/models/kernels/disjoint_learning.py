"""Learning a row in the regression of an arm that has matrices."""

from __future__ import annotations

import math

import numpy as np

from fairbandits.jit import kernel
from fairbandits.models.kernels.blocks import (
    MOST_PENDING,
    has_part,
    multiply_inverse,
    set_part,
    set_theta,
    subtract_pending,
    theta_entry,
)
from fairbandits.models.kernels.layouts import (
    AFRESH,
    FIRST_ARM,
    LEARNED,
    MATRICES,
    NAME,
    OUTSIDE,
    ZERO,
    DisjointState,
    DisjointSums,
    Fields,
    SplitRows,
)
from fairbandits.models.kernels.split_rows import take_row
from fairbandits.models.kernels.triangles import add_row, is_inside, leverage_and_residual
from fairbandits.models.kernels.vectors import LANE_BITS, LANE_MASK


@kernel(reorder_sums=True)
def learn_in_block(
    rows: Fields,
    user: int,
    arm: int,
    reward: float,
    weight: float,
    state: Fields,
    sums: Fields,
    slot: int,
    most_leverage: float,
    refresh_every: int,
) -> int:
    """Learn one row as `ridge_learning.learn_row` does, in a regression that is part of a block."""
    split, model, totals = SplitRows(*rows), DisjointState(*state), DisjointSums(*sums)
    columns, values, n_shared = take_row(split, user, arm)
    n, place, d = columns.size, model.where[slot, MATRICES], model.theta.shape[1]
    if not is_inside(columns, d):
        return OUTSIDE
    n_steps = model.pending[place]
    name = split.bounds[split.users[user, FIRST_ARM] + arm, NAME]
    is_same = name != 0 and name == model.part_names[place]
    if not is_same:
        is_same = has_part(columns, values, n_shared, n, model.part_columns, model.part_values, place)
    u = np.empty(d + 1)
    if is_same and n > n_shared:
        # The arm part is column d, which is one entry instead of many.
        column, value = columns[n_shared], values[n_shared]
        columns[n_shared], values[n_shared] = d, 1.0
        multiply_inverse(model.blocks, place, n_steps, columns, values, ZERO, n_shared + 1, d, u)
        columns[n_shared], values[n_shared] = column, value
    else:
        multiply_inverse(model.blocks, place, n_steps, columns, values, ZERO, n, d, u)
    leverage, residual = leverage_and_residual(columns, values, u, model.theta, slot, reward, weight)
    if totals.since_refresh[slot] + 1 >= refresh_every or not 0.0 <= leverage <= most_leverage:
        return AFRESH

    gain = weight / (1.0 + leverage)
    for i in range(d):
        model.theta[slot, i] += u[i] * (gain * residual)
    if not is_same:
        model.part_columns[place, 0] = n - n_shared
        u[d] = 0.0
        for i in range(n_shared, n):
            model.part_columns[place, 1 + i - n_shared] = columns[i]
            model.part_values[place, i - n_shared] = values[i]
            u[d] += values[i] * u[columns[i]]
        set_part(model.blocks, place, n_steps, columns, values, n_shared, n, d)
    if name != 0 or not is_same:
        model.part_names[place] = name
    set_theta(model.blocks, place, model.theta, slot, columns, values, n_shared, n)
    step = theta_entry(d) + (n_steps + 1) * (d + 1)
    for i in range(d + 1):
        model.blocks[place >> LANE_BITS, step + i, place & LANE_MASK] = math.sqrt(gain) * u[i]
    model.pending[place] += 1
    if model.pending[place] == MOST_PENDING:
        subtract_pending(model.blocks, model.pending, place >> LANE_BITS, d)
    add_row(columns, values, reward, weight, totals.gram, place, totals.moment, slot)
    totals.log_det[slot] += math.log1p(leverage)
    totals.rows_learned[slot] += 1
    totals.since_refresh[slot] += 1
    return LEARNED
