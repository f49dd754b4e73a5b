"""The compiled loops that score arms with a model each. Nearly all that a round costs is in here.

A context is `x = u + v`: the common part u is the same for many arms of a round, the arm's own part v mostly the
same in all rounds. With f the own part that an arm learned last, and e = v - f,

    x' A^-1 x = (u + f)' A^-1 (u + f) + e' A^-1 (2 (u + f) + e)

where e is mostly empty, and f is one column (see `lanes`): the cost is that of the common part. The pairs of its
entries are laid out once for all arms, and summed up for eight arms at a time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairbandits.models.kernels.blocks import MOST_PENDING, deal, is_kept, most_pending, steps_at, theta_at
from fairbandits.models.kernels.low_rank import score_full_young, score_young
from fairbandits.models.kernels.pairs import Laid, lay_out
from fairbandits.models.kernels.split_rows import Parts
from fairbandits.models.kernels.triangles import FAST, Floats, Ints, at, root
from fairbandits.models.kernels.vectors import LANES, add_weighted, set_products, take_square

# What is left of a sum whose parts cancel to less than this share has lost six of its digits.
CANCELLED = 1e-6
# Users are scored by so many at a time, so that a block of models is in the cache for all but the first of them.
BLOCK = 64

# What is summed up for eight lanes: nothing; the variance and the mean of what all common parts begin with; those
# of one common part; and from there on how far each step goes along what all begin with.
_ZERO, _VARIANCE, _MEAN, _OWN_VARIANCE, _OWN_MEAN, _SUMS = (np.uint64(i) for i in range(6))

# Where the models are (see `arm_bank`), theta; the steps of young models; grown ones in lanes, how many steps each
# has, their own parts, and the names of these.
State = tuple[Ints, Floats, Floats, Floats, Ints, Ints, Floats, Ints]


@njit(cache=True, nogil=True, fastmath=FAST)
def score_disjoint(
    parts: Parts, slots: Ints, state: State, ridge: float, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Fill mean and width (users x arms), a model for each arm; return how many broke down, their widths NaN."""
    starts, columns, values, users = parts[:4]
    where, theta, steps, lanes = state[:4]
    blocks, arms = deal(slots, where, len(lanes), arm_from, arm_to)
    broken = 0
    for first in range(0, len(mean), BLOCK):
        end = min(first + BLOCK, len(mean))
        laid = lay_out(users, starts, columns, values, first, end, theta.shape[1])
        score_young(parts, slots, where, theta, steps, ridge, mean, width, first, end, arm_from, arm_to)
        _sum_up(parts, state, laid, blocks, arms, first, end, mean, width)
        broken += _finish(parts, state, laid, blocks, arms, first, end, mean, width)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def _sum_up(
    parts: Parts,
    state: State,
    laid: Laid,
    blocks: Ints,
    arms: Ints,
    first: int,
    end: int,
    mean: Floats,
    variance: Floats,
) -> None:
    """Fill mean and variance of some users, as if every arm's own part were the one that is kept."""
    users, which = parts[3:5]
    lanes, pending, d = state[3], state[4], state[1].shape[1]
    starts, places, weights, pair_starts, pairs, pair_weights = laid
    base, size, step = users[first, 0], np.uint64(lanes.shape[1]), np.uint64(d + 1)
    sums, to_do = np.zeros((_SUMS + MOST_PENDING, LANES)), np.empty(LANES, np.int64)
    for i in range(blocks.size):
        n_steps, start = np.uint64(most_pending(pending, blocks[i])), np.uint64(blocks[i]) * size
        theta_from, steps_from = start + np.uint64(theta_at(d)), start + np.uint64(steps_at(d))
        for user in range(first, end):
            core = users[user, 0] - base + user - first
            lo, hi, pair_lo, pair_hi = starts[core], starts[core + 1], pair_starts[core], pair_starts[core + 1]
            add_weighted(sums, _VARIANCE, sums, _ZERO, lanes, start, pairs, pair_weights, pair_lo, pair_hi)
            add_weighted(sums, _MEAN, sums, _ZERO, lanes, theta_from, places, weights, lo, hi)
            for k in range(n_steps):
                add_weighted(sums, _SUMS + k, sums, _ZERO, lanes, steps_from + k * step, places, weights, lo, hi)
            for lane in range(LANES):
                a = arms[i, lane]
                to_do[lane] = core + 1 + which[users[user, 2], a] if a >= 0 else -1
            for lane in range(LANES):
                part = to_do[lane]
                if part < 0:
                    continue
                lo, hi, pair_lo, pair_hi = starts[part], starts[part + 1], pair_starts[part], pair_starts[part + 1]
                add_weighted(
                    sums, _OWN_VARIANCE, sums, _VARIANCE, lanes, start, pairs, pair_weights, pair_lo, pair_hi
                )
                add_weighted(sums, _OWN_MEAN, sums, _MEAN, lanes, theta_from, places, weights, lo, hi)
                for k in range(n_steps):
                    step_from = steps_from + k * step
                    take_square(sums, _OWN_VARIANCE, sums, _SUMS + k, lanes, step_from, places, weights, lo, hi)
                for other in range(lane, LANES):
                    if to_do[other] == part:
                        to_do[other] = -1
                        mean[user, arms[i, other]] = sums[_OWN_MEAN, other]
                        variance[user, arms[i, other]] = sums[_OWN_VARIANCE, other]


@njit(cache=True, nogil=True, fastmath=FAST)
def _finish(
    parts: Parts,
    state: State,
    laid: Laid,
    blocks: Ints,
    arms: Ints,
    first: int,
    end: int,
    mean: Floats,
    width: Floats,
) -> int:
    """Add what own parts have that differs from what is kept, and take the roots; return how many broke down."""
    users, which, bounds, columns, values = parts[3:]
    lanes, _, part_columns, part_values, names = state[3:]
    d = state[1].shape[1]
    rest, rest_values = np.empty(2 * d, np.int64), np.empty(2 * d)
    broken = 0
    for i in range(blocks.size):
        for lane in range(LANES):
            a, place = arms[i, lane], blocks[i] * LANES + lane
            compared = -1
            n_rest = 0
            for user in range(first, end if a >= 0 else first):
                own = users[user, 3] + a
                if own != compared:
                    # Users who are offered the same arm share this.
                    lo, hi = bounds[own, 0], bounds[own, 1]
                    n_rest = 0
                    is_named = bounds[own, 2] != 0 and bounds[own, 2] == names[place]
                    if not (is_named or is_kept(columns, values, lo, hi, part_columns, part_values, place)):
                        n_rest = _difference(
                            columns, values, lo, hi, part_columns, part_values, place, rest, rest_values
                        )
                    compared = own
                variance = width[user, a]
                # The own part by itself may be far larger than the sum in which it is cancelled.
                most = max(variance, lanes[blocks[i], theta_at(d) - 1, lane])
                if n_rest > 0 or not variance > CANCELLED * most:
                    core = users[user, 0] - users[first, 0] + user - first
                    part = core + 1 + which[users[user, 2], a]
                    more, added = _added_by(state, laid, place, (core, part), 2, rest, rest_values, n_rest)
                    mean[user, a] += more
                    variance += added
                    if not variance > CANCELLED * most:
                        variance = _directly(parts, state, laid, place, (core, part), own)
                broken += not variance >= 0.0
                width[user, a] = root(variance)
    return broken


@njit(cache=True, nogil=True)
def _difference(
    columns: Ints,
    values: Floats,
    lo: int,
    hi: int,
    part_columns: Ints,
    part_values: Floats,
    place: int,
    left: Ints,
    by: Floats,
) -> int:
    """Subtract the part that is kept from a row's own part, both sorted by column; return how much is left."""
    kept, kept_values = part_columns[place, 1:], part_values[place]
    i, j, n, found = lo, 0, part_columns[place, 0], 0
    while i < hi or j < n:
        if j >= n or (i < hi and columns[i] < kept[j]):
            left[found], by[found] = columns[i], values[i]
            i += 1
        elif i >= hi or kept[j] < columns[i]:
            left[found], by[found] = kept[j], -kept_values[j]
            j += 1
        else:
            left[found], by[found] = columns[i], values[i] - kept_values[j]
            i += 1
            j += 1
        found += by[found] != 0.0
    return found


@njit(cache=True, nogil=True, fastmath=FAST)
def _added_by(
    state: State,
    laid: Laid,
    place: int,
    segments: tuple[int, int],
    n_segments: int,
    e: Ints,
    e_values: Floats,
    n: int,
) -> tuple[float, float]:
    """Give what n entries of a row add to the mean and to the variance of the rest of it, some segments.

    To the variance that is e' A^-1 (2 x + e).
    """
    starts, columns, values = laid[:3]
    lanes, pending, d = state[3], state[4], state[1].shape[1]
    block, lane = divmod(place, LANES)
    model = lanes[block]
    mean, variance = 0.0, 0.0
    for i in range(n):
        c = np.uint64(e[i])
        mean += e_values[i] * model[np.uint64(theta_at(d)) + c, lane]
        inner = 0.5 * e_values[i] * model[at(c, c), lane]
        for s in range(n_segments):
            for k in range(starts[segments[s]], starts[segments[s] + 1]):
                inner += values[k] * model[at(c, columns[k]), lane]
        for j in range(i):
            inner += e_values[j] * model[at(c, np.uint64(e[j])), lane]
        variance += 2.0 * e_values[i] * inner
    step = np.uint64(steps_at(d))
    for _ in range(pending[place]):
        of_x, of_e = 0.0, 0.0
        for s in range(n_segments):
            for k in range(starts[segments[s]], starts[segments[s] + 1]):
                of_x += values[k] * model[step + columns[k], lane]
        for i in range(n):
            of_e += e_values[i] * model[step + np.uint64(e[i]), lane]
        variance -= of_e * (2.0 * of_x + of_e)
        step += np.uint64(d + 1)
    return mean, variance


@njit(cache=True, nogil=True)
def _directly(parts: Parts, state: State, laid: Laid, place: int, segments: tuple[int, int], own: int) -> float:
    """Compute x' A^-1 x as it stands: where parts have cancelled each other, and too few digits are left."""
    starts, places, weights = laid[:3]
    bounds, own_columns, own_values = parts[5:]
    d = state[1].shape[1]
    lo, hi = bounds[own, 0], bounds[own, 1]
    columns, values = np.empty(2 * d, np.int64), np.empty(2 * d)
    n = 0
    for k in range(lo, hi):
        columns[n], values[n] = own_columns[k], own_values[k]
        n += 1
    for segment in segments:
        for k in range(starts[segment], starts[segment + 1]):
            if places[k] < d:
                columns[n], values[n] = places[k], weights[k]
                n += 1
    return _added_by(state, laid, place, segments, 0, columns, values, n)[1]


@njit(cache=True, nogil=True, fastmath=FAST)
def score_full(
    rows: Floats, slots: Ints, state: State, ridge: float, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Fill mean and width (users x arms) for rows without zeros worth skipping.

    Models are the outer loop, so that they stay in the cache while all users are scored against them.
    """
    where, theta, steps, lanes, pending = state[:5]
    n_users, n_arms = mean.shape
    d = theta.shape[1]
    score_full_young(rows, slots, where, theta, steps, ridge, mean, width, arm_from, arm_to)
    blocks, arms = deal(slots, where, len(lanes), arm_from, arm_to)
    x, products, sums = np.zeros((d, LANES)), np.empty((d, LANES)), np.empty((_SUMS + MOST_PENDING, LANES))
    broken = 0
    for i in range(blocks.size):
        n_steps = most_pending(pending, blocks[i])
        for user in range(n_users):
            for lane in range(LANES):
                if arms[i, lane] >= 0:
                    row = user * n_arms + arms[i, lane]
                    for j in range(d):
                        x[j, lane] = rows[row, j]
            _score_lanes(x, products, lanes, blocks[i], n_steps, sums)
            for lane in range(LANES):
                a = arms[i, lane]
                if a >= 0:
                    variance = 2.0 * sums[_VARIANCE, lane]
                    for k in range(n_steps):
                        variance -= sums[_SUMS + np.uint64(k), lane] ** 2
                    mean[user, a] = sums[_MEAN, lane]
                    width[user, a] = root(variance)
                    broken += not variance >= 0.0
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def _score_lanes(x: Floats, products: Floats, lanes: Floats, block: int, n_steps: int, sums: Floats) -> None:
    """Compute half of x' A^-1 x, theta.x, and s.x of the steps, for the models of a block and a row for each."""
    n, zero, one = np.uint64(len(x)), np.uint64(0), np.uint64(1)
    start = np.uint64(block * lanes.shape[1])
    theta_from, steps_from = start + np.uint64(theta_at(len(x))), start + np.uint64(steps_at(len(x)))
    set_products(sums, _MEAN, x, zero, lanes, theta_from, n)
    for k in range(np.uint64(n_steps)):
        set_products(sums, _SUMS + k, x, zero, lanes, steps_from + k * (n + one), n)
    for i in range(n):
        # A^-1 is symmetric: each pair below the diagonal once, and the diagonal half.
        for lane in range(LANES):
            x[i, lane] *= 0.5
        set_products(products, i, x, zero, lanes, start, i + one)
        for lane in range(LANES):
            x[i, lane] *= 2.0
        start += i + one
    set_products(sums, _VARIANCE, x, zero, products, zero, n)
