"""Scoring of arms with one regression each. This is nearly all of the cost of a round.

A context is `x = u + v`: the shared part u is the same for many arms of a round, and the arm part v is mostly the
same in all rounds. With f the arm part that the arm learned last, and e = v - f,

    x' A^-1 x = (u + f)' A^-1 (u + f) + e' A^-1 (2 (u + f) + e)

where e is mostly empty, and f is one column (see `blocks`), so the cost is that of the shared part. The pairs of
its entries are laid out once for all arms (see `pairs`), and summed for eight arms at a time.
"""

from __future__ import annotations

import numpy as np

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.blocks import (
    MOST_PENDING,
    find_blocks,
    has_part,
    most_pending,
    multiply_inverse,
    theta_entry,
)
from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_SHARED,
    MATRICES,
    NAME,
    PATTERN,
    START,
    STOP,
    ZERO,
    DisjointState,
    Fields,
    Floats,
    Ints,
    PairLayout,
    SplitRows,
)
from fairbandits.models.kernels.low_rank import score_low_rank, score_low_rank_dense
from fairbandits.models.kernels.pairs import pair_layout
from fairbandits.models.kernels.triangles import root
from fairbandits.models.kernels.vectors import (
    LANE_BITS,
    LANE_MASK,
    LANES,
    add_weighted,
    set_products,
    subtract_square,
)

# A sum whose terms cancel to less than this share has lost six of its digits.
_CANCELLED = 1e-6
# Replaces a variance that is not positive, because the sign serves as a flag.
_NOTHING = 1e-300
# The number of users scored at a time, so that a block of regressions is in the cache for all but the first.
_USERS_AT_A_TIME = 64
# Rows of the sums over a block: zeros; variance and mean of the prefix that a user's shared parts have in common;
# those of one shared part; then the product of each pending step with the prefix.
_ZERO, _VARIANCE, _MEAN, _PART_VARIANCE, _PART_MEAN, _STEPS = (np.uint64(i) for i in range(6))


@kernel(reorder_sums=True)
def score_sparse(
    rows: Fields,
    slots: Ints,
    state: Fields,
    ridge: float,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Fill in mean and width (users x arms); return how many widths are negative, and still to be computed.

    A negative width is minus the variance of a context whose arm part is not the one that column d stands for, or
    that has lost too many digits to cancellation. `correct_scores` computes these widths.
    """
    split, model = SplitRows(*rows), DisjointState(*state)
    n_blocks, blocks, arms = find_blocks(slots, model.where, len(model.blocks), arm_from, arm_to)
    unfinished = 0
    for first in range(0, len(mean), _USERS_AT_A_TIME):
        end = first + _USERS_AT_A_TIME
        if end > len(mean):
            end = len(mean)
        score_low_rank(split, slots, model, ridge, mean, width, first, end, arm_from, arm_to)
        if n_blocks > 0:
            layout = pair_layout(split, first, end, model.theta.shape[1])
            for i in range(n_blocks):
                _score_block(split, model, layout, blocks[i], arms, i, first, end, mean, width)
                unfinished += _finish_block(split, model, blocks[i], arms, i, first, end, width)
    return unfinished


@helper(reorder_sums=True)
def _score_block(
    rows: SplitRows,
    model: DisjointState,
    layout: PairLayout,
    block: int,
    arms: Ints,
    i: int,
    first: int,
    end: int,
    mean: Floats,
    variance: Floats,
) -> None:
    """Fill in mean and variance for the arms of a block, as if every arm part were the one of column d."""
    table, d = model.blocks, model.theta.shape[1]
    n_steps, start = np.uint64(most_pending(model.pending, block)), np.uint64(block * table.shape[1])
    stride = np.uint64(d + 1)
    theta_from = start + np.uint64(theta_entry(d))
    sums, part_of = np.zeros((_STEPS + np.uint64(MOST_PENDING), LANES)), np.empty(LANES, np.int64)
    starts, places, weights = layout.starts, layout.columns, layout.values
    pair_starts, pairs, pair_weights = layout.pair_starts, layout.pair_entries, layout.pair_values
    for user in range(first, end):
        prefix = rows.users[user, FIRST_SHARED] - rows.users[first, FIRST_SHARED] + user - first
        lo, hi = starts[prefix], starts[prefix + 1]
        pair_lo, pair_hi = pair_starts[prefix], pair_starts[prefix + 1]
        add_weighted(sums, _VARIANCE, sums, _ZERO, table, start, pairs, pair_weights, pair_lo, pair_hi)
        add_weighted(sums, _MEAN, sums, _ZERO, table, theta_from, places, weights, lo, hi)
        for k in range(n_steps):
            step = theta_from + (k + np.uint64(1)) * stride
            add_weighted(sums, _STEPS + k, sums, _ZERO, table, step, places, weights, lo, hi)
        for lane in range(LANES):
            arm = arms[i, lane]
            part_of[lane] = prefix + 1 + rows.which[rows.users[user, PATTERN], arm] if arm >= 0 else -1
        for lane in range(LANES):
            part = part_of[lane]
            if part < 0:
                continue
            lo, hi = starts[part], starts[part + 1]
            pair_lo, pair_hi = pair_starts[part], pair_starts[part + 1]
            add_weighted(
                sums, _PART_VARIANCE, sums, _VARIANCE, table, start, pairs, pair_weights, pair_lo, pair_hi
            )
            add_weighted(sums, _PART_MEAN, sums, _MEAN, table, theta_from, places, weights, lo, hi)
            for k in range(n_steps):
                step = theta_from + (k + np.uint64(1)) * stride
                subtract_square(sums, _PART_VARIANCE, sums, _STEPS + k, table, step, places, weights, lo, hi)
            # All arms of the block with this shared part are done at once.
            for other in range(lane, LANES):
                if part_of[other] == part:
                    part_of[other] = -1
                    mean[user, arms[i, other]] = sums[_PART_MEAN, other]
                    variance[user, arms[i, other]] = sums[_PART_VARIANCE, other]


@helper()
def _finish_block(
    rows: SplitRows, model: DisjointState, block: int, arms: Ints, i: int, first: int, end: int, width: Floats
) -> int:
    """Turn variances into widths, except where a correction is needed; return how many need one."""
    unfinished = 0
    last_entry = theta_entry(model.theta.shape[1]) - 1
    for lane in range(LANES):
        arm, place = arms[i, lane], (block << LANE_BITS) + lane
        compared, is_same = -1, True
        for user in range(first, end if arm >= 0 else first):
            own = rows.users[user, FIRST_ARM] + arm
            if own != compared:
                # Users who are offered the same arm of a catalogue share this.
                compared, lo, hi = own, rows.bounds[own, START], rows.bounds[own, STOP]
                is_same = rows.bounds[own, NAME] != 0 and rows.bounds[own, NAME] == model.part_names[place]
                if not is_same:
                    is_same = has_part(
                        rows.columns, rows.values, lo, hi, model.part_columns, model.part_values, place
                    )
            variance = width[user, arm]
            # The arm part by itself may have a far larger variance than the sum in which it cancels.
            most = model.blocks[block, last_entry, lane]
            if variance > most:
                most = variance
            if is_same and variance > _CANCELLED * most:
                width[user, arm] = root(variance)
            else:
                width[user, arm] = -variance if variance > _NOTHING else -_NOTHING
                unfinished += 1
    return unfinished


@kernel(reorder_sums=True)
def correct_scores(
    rows: Fields,
    slots: Ints,
    state: Fields,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Compute the widths that `score_sparse` left negative, and their means; return how many are NaN.

    The product A^-1 e of an arm part is the same for all users who are offered it, so arms are the outer loop.
    """
    split, model = SplitRows(*rows), DisjointState(*state)
    d = model.theta.shape[1]
    e, e_values, q = np.empty(2 * d, np.int64), np.empty(2 * d), np.empty(d + 1)
    broken = 0
    for arm in range(arm_from, arm_to):
        compared, n, along_theta, along_e = -1, ZERO, 0.0, 0.0
        for user in range(mean.shape[0]):
            if width[user, arm] >= 0.0:
                continue
            place = model.where[slots[arm], MATRICES]
            shared = split.users[user, FIRST_SHARED] + split.which[split.users[user, PATTERN], arm]
            own = split.users[user, FIRST_ARM] + arm
            lo, hi = split.bounds[own, START], split.bounds[own, STOP]
            if own != compared:
                compared = own
                n = _difference(split, model, place, lo, hi, e, e_values)
                multiply_inverse(model.blocks, place, model.pending[place], e, e_values, ZERO, n, d, q)
                along_theta, along_e = _along(model, place, e, e_values, n, q)
            mean[user, arm] += along_theta
            # e' A^-1 (2 (u + f) + e), where f is column d.
            along_u = q[d]
            for k in range(split.shared_starts[shared], split.shared_starts[shared + 1]):
                along_u += split.shared_values[k] * q[split.shared_columns[k]]
            variance = 2.0 * along_u + along_e - width[user, arm]
            most = model.blocks[place >> LANE_BITS, theta_entry(d) - 1, place & LANE_MASK]
            if variance > most:
                most = variance
            if not variance > _CANCELLED * most:
                # Too few digits are left: compute x' A^-1 x directly.
                variance = _whole_variance(split, model, place, shared, lo, hi)
            broken += not variance >= 0.0
            width[user, arm] = root(variance)
    return broken


@helper(reorder_sums=True)
def _along(model: DisjointState, place: int, e: Ints, e_values: Floats, n: int, q: Floats) -> tuple[float, float]:
    """Compute the dot products of n entries e with theta, and with q = A^-1 e."""
    block, lane, theta_from = place >> LANE_BITS, place & LANE_MASK, theta_entry(model.theta.shape[1])
    along_theta, along_e = 0.0, 0.0
    for i in range(n):
        along_theta += e_values[i] * model.blocks[block, theta_from + e[i], lane]
        along_e += e_values[i] * q[e[i]]
    return along_theta, along_e


@helper(reorder_sums=True)
def _whole_variance(rows: SplitRows, model: DisjointState, place: int, shared: int, lo: int, hi: int) -> float:
    """Compute x' A^-1 x from a shared part and the entries lo to hi of an arm part."""
    d = model.theta.shape[1]
    first, end = rows.shared_starts[shared], rows.shared_starts[shared + 1]
    n = hi - lo + end - first
    columns, values, q = np.empty(n, np.int64), np.empty(n), np.empty(d + 1)
    for k in range(hi - lo):
        columns[k], values[k] = rows.columns[lo + k], rows.values[lo + k]
    for k in range(end - first):
        columns[hi - lo + k], values[hi - lo + k] = rows.shared_columns[first + k], rows.shared_values[first + k]
    multiply_inverse(model.blocks, place, model.pending[place], columns, values, ZERO, n, d, q)
    variance = 0.0
    for k in range(n):
        variance += values[k] * q[columns[k]]
    return variance


@helper()
def _difference(
    rows: SplitRows, model: DisjointState, place: int, lo: int, hi: int, e: Ints, e_values: Floats
) -> int:
    """Subtract the arm part of column d from entries lo to hi, both sorted by column; return how many are left."""
    i, j, n, found = lo, 0, model.part_columns[place, 0], 0
    while i < hi or j < n:
        take_ours = j >= n or (i < hi and rows.columns[i] <= model.part_columns[place, 1 + j])
        take_theirs = i >= hi or (j < n and model.part_columns[place, 1 + j] <= rows.columns[i])
        e_values[found] = 0.0
        if take_theirs:
            e[found] = model.part_columns[place, 1 + j]
            e_values[found] -= model.part_values[place, j]
            j += 1
        if take_ours:
            e[found] = rows.columns[i]
            e_values[found] += rows.values[i]
            i += 1
        found += e_values[found] != 0.0
    return found


@kernel(reorder_sums=True)
def score_dense(
    rows: Floats,
    slots: Ints,
    state: Fields,
    ridge: float,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Fill in mean and width (users x arms) from dense rows; return how many widths are NaN.

    Blocks are the outer loop, so that they stay in the cache while all users are scored against them.
    """
    model = DisjointState(*state)
    n_users, n_arms = mean.shape
    d = model.theta.shape[1]
    score_low_rank_dense(rows, slots, model, ridge, mean, width, arm_from, arm_to)
    n_blocks, blocks, arms = find_blocks(slots, model.where, len(model.blocks), arm_from, arm_to)
    x, products = np.zeros((d, LANES)), np.empty((d, LANES))
    sums = np.empty((_STEPS + np.uint64(MOST_PENDING), LANES))
    broken = 0
    for i in range(n_blocks):
        n_steps = most_pending(model.pending, blocks[i])
        for user in range(n_users):
            for lane in range(LANES):
                if arms[i, lane] >= 0:
                    row = user * n_arms + arms[i, lane]
                    for j in range(d):
                        x[j, lane] = rows[row, j]
            _score_lanes(x, products, model.blocks, blocks[i], n_steps, sums)
            for lane in range(LANES):
                arm = arms[i, lane]
                if arm >= 0:
                    variance = 2.0 * sums[_VARIANCE, lane]
                    for k in range(n_steps):
                        variance -= sums[_STEPS + np.uint64(k), lane] ** 2
                    mean[user, arm] = sums[_MEAN, lane]
                    width[user, arm] = root(variance)
                    broken += not variance >= 0.0
    return broken


@helper(reorder_sums=True)
def _score_lanes(x: Floats, products: Floats, blocks: Floats, block: int, n_steps: int, sums: Floats) -> None:
    """Compute half of x' A^-1 x, theta.x, and s.x of the pending steps, for a block and a row per lane."""
    n, zero, one = np.uint64(len(x)), np.uint64(0), np.uint64(1)
    start = np.uint64(block * blocks.shape[1])
    theta_from = start + np.uint64(theta_entry(len(x)))
    set_products(sums, _MEAN, x, zero, blocks, theta_from, n)
    for k in range(np.uint64(n_steps)):
        set_products(sums, _STEPS + k, x, zero, blocks, theta_from + (k + one) * (n + one), n)
    for i in range(n):
        # A^-1 is symmetric: each pair below the diagonal once, and half of the diagonal.
        for lane in range(LANES):
            x[i, lane] *= 0.5
        set_products(products, i, x, zero, blocks, start, i + one)
        for lane in range(LANES):
            x[i, lane] *= 2.0
        start += i + one
    set_products(sums, _VARIANCE, x, zero, products, zero, n)
