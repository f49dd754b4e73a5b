"""The compiled loops that learn a row in a model with matrices of its own."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fairbandits.models.kernels.split_rows import Parts, take_row
from fairbandits.models.kernels.triangles import (
    AFRESH,
    FAST,
    GROW_UP,
    GROWN,
    LEARNED,
    OUTSIDE,
    Floats,
    Ints,
    add_outer,
    at,
    dot_full,
    is_inside,
    times,
)

# Where the models are (see `bank`), theta; A^-1; A, b; log det A, rows learned, rows since a refresh.
State = tuple[Ints, Floats, Floats, Floats, Floats, Floats, Ints, Ints]


@njit(cache=True, nogil=True, fastmath=FAST)
def learn_row(
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
    """Learn one row: A += w x x', b += w r x, and A^-1, theta by Sherman-Morrison.

    Where w x' A^-1 x is negative or above `most`, the update would lose too many digits, and nothing is changed.
    theta moves by its own recursion rather than as A^-1 b: that product cancels badly where columns differ in
    scale, the recursion does not.
    """
    where, theta, inverse, gram, moment, log_det, rows_learned, since_refresh = model
    columns, values, _ = take_row(parts, user, arm)
    t, place = theta[slot], where[slot, GROWN]
    d = t.size
    if not is_inside(columns, d):
        return OUTSIDE
    if place < 0:
        # What will be refused must not have been given matrices.
        nothing = np.uint64(0)
        square = dot_full(values, nothing, values, nothing, np.uint64(values.size))
        return GROW_UP if weight * square / ridge <= most else AFRESH
    u = times(inverse[place], columns, values, d)
    leverage, surprise = look(columns, values, u, t, reward, weight)
    if since_refresh[slot] + 1 >= refresh_every or not 0.0 <= leverage <= most:
        return AFRESH
    gain = weight / (1.0 + leverage)
    for i in range(d):
        t[i] += u[i] * (gain * surprise)
        u[i] *= math.sqrt(gain)
    add_outer(inverse[place], u, -1.0)
    add_row(columns, values, reward, weight, gram[place], moment[slot])
    log_det[slot] += math.log1p(leverage)
    rows_learned[slot] += 1
    since_refresh[slot] += 1
    return LEARNED


@njit(cache=True, nogil=True, fastmath=FAST)
def look(
    columns: Ints, values: Floats, u: Floats, theta: Floats, reward: float, weight: float
) -> tuple[float, float]:
    """Give the leverage w x' A^-1 x of a row, from u = A^-1 x, and by how much its reward is a surprise."""
    leverage, surprise = 0.0, reward
    for i in range(columns.size):
        leverage += weight * values[i] * u[columns[i]]
        surprise -= values[i] * theta[columns[i]]
    return leverage, surprise


@njit(cache=True, nogil=True, fastmath=FAST)
def add_row(columns: Ints, values: Floats, reward: float, weight: float, gram: Floats, moment: Floats) -> None:
    """Add a row to A and b."""
    for i in range(columns.size):
        value = weight * values[i]
        moment[columns[i]] += reward * value
        for j in range(i + 1):
            gram[at(columns[i], columns[j])] += value * values[j]
