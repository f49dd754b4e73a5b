"""The compiled loop that learns a row in the model of an arm."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fairbandits.models.kernels.blocks import (
    MOST_PENDING,
    add_step,
    fold,
    is_kept,
    make_ready,
    product,
    set_theta,
)
from fairbandits.models.kernels.low_rank import learn_young
from fairbandits.models.kernels.ridge_learning import add_row, look
from fairbandits.models.kernels.split_rows import Parts, take_row
from fairbandits.models.kernels.triangles import (
    AFRESH,
    FAST,
    GROWN,
    LEARNED,
    OUTSIDE,
    Floats,
    Ints,
    dot,
    is_inside,
)
from fairbandits.models.kernels.vectors import LANES

# The state as `scoring` has it; the rows of young models; A, b; log det A, rows learned, rows since a refresh.
State = tuple[
    Ints, Floats, Floats, Floats, Ints, Ints, Floats, Ints, Floats, Floats, Floats, Floats, Ints, Ints
]  # fmt: skip


@njit(cache=True, nogil=True, fastmath=FAST)
def learn_arm_row(
    parts: Parts,
    user: int,
    arm: int,
    reward: float,
    weight: float,
    model: State,
    slot: int,
    most: float,
    refresh_every: int,
    ridge: float,
) -> int:
    """Learn one row as `learning.learn_row` does, in a model that is young or in lanes."""
    where, theta, steps, lanes, pending, part_columns, part_values, names = model[:8]
    rows, gram, moment, log_det, rows_learned, since_refresh = model[8:]
    columns, values, n_common = take_row(parts, user, arm)
    t, place = theta[slot], where[slot, GROWN]
    d = t.size
    if not is_inside(columns, d):
        return OUTSIDE
    if place < 0:
        outcome, leverage = learn_young(
            columns, values, reward, weight, ridge, where[slot], steps, rows, t, moment[slot]
        )
        log_det[slot] += math.log1p(leverage)
        rows_learned[slot] += outcome == LEARNED
        return outcome
    block, lane = divmod(place, LANES)
    n_steps = pending[place]
    own, own_values = columns[n_common:], values[n_common:]
    name = parts[5][parts[3][user, 3] + arm, 2]
    is_named = name != 0 and name == names[place]
    is_same = is_named or is_kept(own, own_values, 0, own.size, part_columns, part_values, place)
    if is_same and own.size > 0:
        short, short_values = columns[: n_common + 1].copy(), values[: n_common + 1].copy()
        short[n_common], short_values[n_common] = d, 1.0
        u = product(lanes, block, lane, n_steps, short, short_values, d)
    else:
        u = product(lanes, block, lane, n_steps, columns, values, d)
    leverage, surprise = look(columns, values, u, t, reward, weight)
    if since_refresh[slot] + 1 >= refresh_every or not 0.0 <= leverage <= most:
        return AFRESH

    gain = weight / (1.0 + leverage)
    for i in range(d):
        t[i] += u[i] * (gain * surprise)
    if not is_same:
        keep_part(own, own_values, part_columns[place], part_values[place])
        make_ready(lanes, block, lane, n_steps, own, own_values, d)
        u[d] = dot(u, np.uint64(0), own, own_values, np.uint64(0), np.uint64(own.size))
    if name != 0 or not is_same:
        names[place] = name
    set_theta(lanes, block, lane, t, own, own_values)
    add_step(lanes, block, lane, n_steps, u, math.sqrt(gain))
    pending[place] += 1
    if pending[place] == MOST_PENDING:
        fold(lanes, pending, block, d)
    add_row(columns, values, reward, weight, gram[place], moment[slot])
    log_det[slot] += math.log1p(leverage)
    rows_learned[slot] += 1
    since_refresh[slot] += 1
    return LEARNED


@njit(cache=True, nogil=True)
def keep_part(columns: Ints, values: Floats, part_columns: Ints, part_values: Floats) -> None:
    """Keep an arm's own part: how many columns, then the columns; and their values."""
    part_columns[0] = columns.size
    for i in range(columns.size):
        part_columns[1 + i], part_values[i] = columns[i], values[i]
