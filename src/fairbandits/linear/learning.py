"""The compiled loops that learn."""

from __future__ import annotations

import math

from numba import njit

from fairbandits.linear.kernels import (
    AFRESH,
    FAST,
    GROWN,
    LEARNED,
    OUTSIDE,
    Floats,
    Ints,
    add_outer,
    at,
    is_inside,
    times,
)
from fairbandits.linear.split import Parts, take_row
from fairbandits.linear.young import learn_young

# The state as `scoring` has it; the rows of young models; A, b; log det A, rows learned, rows since a refresh.
State = tuple[Ints, Floats, Floats, Floats, Floats, Ints, Floats, Floats, Floats, Floats, Floats, Ints, Ints]


@njit(cache=True, nogil=True, fastmath=FAST)
def learn_row(
    parts: Parts,
    user: int,
    arm: int,
    reward: float,
    weight: float,
    model: State,
    slot: int,
    ridge: float,
    most: float,
    refresh_every: int,
) -> int:
    """Learn one row: A += w x x', b += w r x, and A^-1, theta by Sherman-Morrison.

    Where w x' A^-1 x is negative or above `most`, the update would lose too many digits, and nothing is changed.
    theta moves by its own recursion rather than as A^-1 b: that product cancels badly where columns differ in
    scale, the recursion does not. So does what is kept ready of the arm's own part, while it stays the same.
    """
    where, theta, steps, inverse, ready, part_columns, part_values, rows, gram, moment = model[:10]
    log_det, rows_learned, since_refresh = model[10:]
    columns, values, n_common = take_row(parts, user, arm)
    t, b, place = theta[slot], moment[slot], where[slot, GROWN]
    d = t.size
    if not is_inside(columns, d):
        return OUTSIDE
    if place < 0:
        outcome, leverage = learn_young(columns, values, reward, weight, ridge, where[slot], steps, rows, t, b)
        log_det[slot] += math.log1p(leverage)
        rows_learned[slot] += outcome == LEARNED
        return outcome
    P, q, f, f_values = inverse[place], ready[place], part_columns[place], part_values[place]
    if since_refresh[slot] + 1 >= refresh_every:
        return AFRESH
    is_same = _is_kept(columns[n_common:], values[n_common:], f, f_values)
    if is_same:
        u = times(P, columns[:n_common], values[:n_common], d)
        for i in range(d):
            u[i] += q[i]
    else:
        u = times(P, columns, values, d)
    leverage = 0.0
    surprise = reward
    for i in range(columns.size):
        leverage += values[i] * u[columns[i]]
        surprise -= values[i] * t[columns[i]]
    leverage *= weight
    if not 0.0 <= leverage <= most:
        return AFRESH

    gain = weight / (1.0 + leverage)
    for i in range(d):
        t[i] += u[i] * (gain * surprise)
        u[i] *= math.sqrt(gain)
    add_outer(P, u, -1.0)
    add_row(columns, values, reward, weight, gram[place], b)
    if is_same:
        follow(f, f_values, u, t, q)
    else:
        keep_part(columns[n_common:], values[n_common:], f, f_values)
        make_ready(f, f_values, P, t, q)
    log_det[slot] += math.log1p(leverage)
    rows_learned[slot] += 1
    since_refresh[slot] += 1
    return LEARNED


@njit(cache=True, nogil=True, fastmath=FAST)
def add_row(columns: Ints, values: Floats, reward: float, weight: float, gram: Floats, moment: Floats) -> None:
    """Add a row to A and b."""
    for i in range(columns.size):
        value = weight * values[i]
        moment[columns[i]] += reward * value
        for j in range(i + 1):
            gram[at(columns[i], columns[j])] += value * values[j]


@njit(cache=True, nogil=True)
def keep_part(columns: Ints, values: Floats, part_columns: Ints, part_values: Floats) -> None:
    """Keep an arm's own part: how many columns, then the columns; and their values."""
    part_columns[0] = columns.size
    part_columns[1 : 1 + columns.size] = columns
    part_values[: columns.size] = values


@njit(cache=True, nogil=True)
def _is_kept(columns: Ints, values: Floats, part_columns: Ints, part_values: Floats) -> bool:
    """Whether an own part is the one that is kept."""
    if columns.size != part_columns[0]:
        return False
    different = False
    for i in range(columns.size):
        different |= columns[i] != part_columns[1 + i]
        different |= values[i] != part_values[i]
    return not different


@njit(cache=True, nogil=True, fastmath=FAST)
def make_ready(part_columns: Ints, part_values: Floats, inverse: Floats, theta: Floats, ready: Floats) -> None:
    """Keep A^-1 f ready for an arm's own part f, and behind it f' A^-1 f and theta.f."""
    n = part_columns[0]
    ready[: theta.size] = times(inverse, part_columns[1 : 1 + n], part_values[:n], theta.size)
    _sum_up(part_columns, part_values, theta, ready)


@njit(cache=True, nogil=True, fastmath=FAST)
def follow(part_columns: Ints, part_values: Floats, u: Floats, theta: Floats, ready: Floats) -> None:
    """Keep ready what A^-1 - u u' makes of an own part, from what A^-1 made of it."""
    along = 0.0
    for i in range(part_columns[0]):
        along += part_values[i] * u[part_columns[1 + i]]
    for i in range(u.size):
        ready[i] -= along * u[i]
    _sum_up(part_columns, part_values, theta, ready)


@njit(cache=True, nogil=True, fastmath=FAST)
def _sum_up(part_columns: Ints, part_values: Floats, theta: Floats, ready: Floats) -> None:
    d = theta.size
    ready[d] = 0.0
    ready[d + 1] = 0.0
    for i in range(part_columns[0]):
        c = part_columns[1 + i]
        ready[d] += part_values[i] * ready[c]
        ready[d + 1] += part_values[i] * theta[c]
