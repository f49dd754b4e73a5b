"""Batch learning: rows are sorted by regression, so that a regression's matrices stay in the cache.

The rows of one regression form a group: group g consists of the rows `firsts[g]` to `firsts[g + 1] - 1`. Rows are
processed in order, by the same updates as single rows, as long as this costs less than solving from A and b.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.blocks import theta_entry, write_regression
from fairbandits.models.kernels.cholesky import invert
from fairbandits.models.kernels.disjoint_learning import learn_in_block
from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_STEP,
    LEARNED,
    MATRICES,
    N_STEPS,
    NAME,
    ZERO,
    DisjointState,
    DisjointSums,
    Fields,
    Floats,
    Ints,
    RidgeState,
    SplitRows,
)
from fairbandits.models.kernels.low_rank import learn_step
from fairbandits.models.kernels.ridge_learning import learn_row
from fairbandits.models.kernels.split_rows import take_row
from fairbandits.models.kernels.triangles import add_outer, add_row, leverage_and_residual, multiply
from fairbandits.models.kernels.vectors import LANE_BITS, LANE_MASK

# Up to this many rows of a group become pending steps of a block; for more rows, A^-1 is copied out of its block
# and back.
_FEW = 2
# A row that is less than a quarter full is added pair by pair; any other row is added as a dense row, with vector
# instructions.
_SPARSE_FROM = 4


@kernel()
def traces(where: Ints, gram: Floats, slots: Ints, ridge: float, d: int) -> Floats:
    """Compute the trace of A for some regressions; those without matrices count as if they had no rows."""
    found = np.empty(slots.size)
    for i in range(slots.size):
        found[i] = ridge * d
        place = where[slots[i], MATRICES] if slots[i] < len(where) else -1
        if place >= 0:
            found[i] = 0.0
            for j in range(d):
                found[i] += gram[place, j * (j + 1) // 2 + j]
    return found


@kernel(reorder_sums=True)
def add_rows(rows: Fields, rewards: Floats, gram: Floats, moment: Floats) -> None:
    """Add rows, one per user, to A and b of a single regression."""
    split, x = SplitRows(*rows), np.zeros(moment.size)
    for i in range(rewards.size):
        _add(split, i, rewards[i], gram.reshape(1, -1), ZERO, moment.reshape(1, -1), ZERO, x)


@helper(reorder_sums=True)
def _add(
    rows: SplitRows, i: int, reward: float, gram: Floats, place: int, moment: Floats, slot: int, x: Floats
) -> None:
    """Add a row to A and b; x is a buffer of zeros as wide as a row, and is zero again afterwards."""
    columns, values, _ = take_row(rows, i, ZERO)
    if columns.size * _SPARSE_FROM < x.size:
        add_row(columns, values, reward, 1.0, gram, place, moment, slot)
        return
    for k in range(columns.size):
        x[columns[k]] = values[k]
        moment[slot, columns[k]] += reward * values[k]
    at = np.uint64(place)
    for k in range(columns.size):
        c = np.uint64(columns[k])
        start, value = c * (c + np.uint64(1)) // np.uint64(2), values[k]
        for j in range(c + np.uint64(1)):
            gram[at, start + j] += value * x[j]
    for k in range(columns.size):
        x[columns[k]] = 0.0


# -- regressions with their own matrices ----------------------------------------------------------------


@kernel(reorder_sums=True)
def learn_groups(
    rows: Fields,
    firsts: Ints,
    stops: Ints,
    is_open: NDArray[np.bool_],
    slots: Ints,
    rewards: Floats,
    state: Fields,
    most_leverage: float,
    refresh_every: int,
    ridge: float,
    most_updates: int,
) -> None:
    """Process groups of rows as `learn_groups_in_blocks` does, for regressions with their own matrices."""
    split, model = SplitRows(*rows), RidgeState(*state)
    d = model.theta.shape[1]
    x = np.zeros(d)
    for group in range(firsts.size):
        i, stop = firsts[group], stops[group]
        if i == stop:
            continue
        slot = slots[i]
        place = model.where[slot, MATRICES]
        if not is_open[group] and stop - i <= most_updates:
            while i < stop:
                outcome = learn_row(
                    rows, i, ZERO, rewards[i], 1.0, state, slot, most_leverage, refresh_every, ridge
                )
                if outcome != LEARNED:
                    break
                i += 1
        if i < stop:
            model.rows_learned[slot] += stop - i
            for k in range(i, stop):
                _add(split, k, rewards[k], model.gram, place, model.moment, slot, x)
            root, inverse, log_det = invert(model.gram[place], d)
            for entry in range(inverse.size):
                model.inverse[place, entry] = inverse[entry]
            _set_theta(root, model.moment, model.theta, slot)
            model.log_det[slot] = log_det
            model.since_refresh[slot] = 0


@helper(reorder_sums=True)
def _set_theta(root: Floats, moment: Floats, theta: Floats, slot: int) -> None:
    """Set theta to M' M b."""
    d = len(root)
    for j in range(d):
        theta[slot, j] = 0.0
    for i in range(d):
        along = 0.0
        for j in range(i + 1):
            along += root[i, j] * moment[slot, j]
        for j in range(i + 1):
            theta[slot, j] += root[i, j] * along


@kernel(reorder_sums=True)
def sum_inverses(
    where: Ints, inverse: Floats, steps: Floats, theta: Floats, slots: Ints, ridge: float
) -> tuple[Floats, Floats]:
    """Sum A^-1 and theta over some regressions, which have their own matrices or are low-rank."""
    d = theta.shape[1]
    total, total_theta, step = np.zeros(d * (d + 1) // 2), np.zeros(d), np.empty(d)
    for slot in slots:
        place = where[slot, MATRICES]
        for j in range(d):
            total_theta[j] += theta[slot, j]
        if place >= 0:
            for entry in range(total.size):
                total[entry] += inverse[place, entry]
            continue
        for j in range(d):
            total[j * (j + 1) // 2 + j] += 1.0 / ridge
        for k in range(FIRST_STEP, FIRST_STEP + where[slot, N_STEPS]):
            for j in range(d):
                step[j] = steps[where[slot, k], j]
            add_outer(total, step, -1.0)
    return total, total_theta


# -- a regression per arm: low-rank, or in a block ------------------------------------------------------


@kernel(reorder_sums=True)
def learn_groups_low_rank(
    rows: Fields,
    firsts: Ints,
    slots: Ints,
    rewards: Floats,
    state: Fields,
    sums: Fields,
    ridge: float,
    steps: Ints,
    learned: Ints,
) -> int:
    """Process groups of rows for regressions without matrices, as long as the regressions need none.

    Fills `learned` with the number of rows processed in each group. Returns the number of places in `steps` that
    have been taken.
    """
    split, model, totals = SplitRows(*rows), DisjointState(*state), DisjointSums(*sums)
    most, d = model.where.shape[1] - FIRST_STEP, model.theta.shape[1]
    x, u = np.empty(d), np.empty(d)
    taken = 0
    for group in range(firsts.size - 1):
        slot = slots[firsts[group]]
        learned[group] = 0
        if model.where[slot, MATRICES] >= 0:
            continue
        for i in range(firsts[group], firsts[group + 1]):
            n = model.where[slot, N_STEPS]
            if n < most and taken < steps.size:
                model.where[slot, FIRST_STEP + n] = steps[taken]
            outcome = learn_step(split, i, ZERO, rewards[i], 1.0, model, totals, slot, ridge, x, u)
            if outcome != LEARNED:
                if n < most:
                    model.where[slot, FIRST_STEP + n] = -1
                break
            learned[group] += 1
            taken += 1
    return taken


@kernel(reorder_sums=True)
def open_matrices(slots: Ints, places: Ints, state: Fields, sums: Fields, ridge: float, freed: Ints) -> int:
    """Allocate matrices for regressions without them: compute A from their rows; the caller writes A^-1.

    Fills `freed` with the places of the regressions' steps, which have been set to zero, and returns the number of
    these places.
    """
    model, totals = DisjointState(*state), DisjointSums(*sums)
    where, d = model.where, model.theta.shape[1]
    x = np.empty(d)
    n_freed = 0
    for i in range(slots.size):
        slot, place = slots[i], places[i]
        for j in range(d):
            totals.gram[place, j * (j + 1) // 2 + j] = ridge
        for k in range(FIRST_STEP, FIRST_STEP + where[slot, N_STEPS]):
            step = where[slot, k]
            for j in range(d):
                x[j] = totals.rows[step, j]
            add_outer(totals.gram[place], x, 1.0)
            for j in range(d):
                model.steps[step, j] = 0.0
            for j in range(d + 2):
                totals.rows[step, j] = 0.0
            freed[n_freed] = step
            n_freed += 1
            where[slot, k] = -1
        where[slot, N_STEPS] = 0
        where[slot, MATRICES] = place
    return n_freed


@kernel(reorder_sums=True)
def learn_groups_in_blocks(
    rows: Fields,
    firsts: Ints,
    stops: Ints,
    is_open: NDArray[np.bool_],
    slots: Ints,
    rewards: Floats,
    state: Fields,
    sums: Fields,
    most_leverage: float,
    refresh_every: int,
    most_updates: int,
) -> None:
    """Process groups of rows, each from its first row to its stop, for regressions with matrices.

    Where `is_open` is true, A^-1 has not been written yet, and is computed from A.
    """
    split, model, totals = SplitRows(*rows), DisjointState(*state), DisjointSums(*sums)
    d = model.theta.shape[1]
    x = np.zeros(d)
    inverse = np.empty(d * (d + 1) // 2)
    for group in range(firsts.size):
        i, stop = firsts[group], stops[group]
        if i == stop:
            continue
        slot = slots[i]
        place = model.where[slot, MATRICES]
        can_update = not is_open[group] and totals.since_refresh[slot] + stop - i < refresh_every
        if can_update and stop - i <= _FEW:
            while i < stop:
                outcome = learn_in_block(
                    rows, i, ZERO, rewards[i], 1.0, state, sums, slot, most_leverage, refresh_every
                )
                if outcome != LEARNED:
                    break
                i += 1
            if i == stop:
                continue
        elif can_update and stop - i <= most_updates:
            _read_inverse(model, place, d, inverse)
            i = _update_all(split, i, stop, rewards, model, totals, slot, inverse, most_leverage, x)
        if i < stop:
            totals.rows_learned[slot] += stop - i
            for k in range(i, stop):
                _add(split, k, rewards[k], totals.gram, place, totals.moment, slot, x)
            root, inverse, log_det = invert(totals.gram[place], d)
            _set_theta(root, totals.moment, model.theta, slot)
            totals.log_det[slot] = log_det
            totals.since_refresh[slot] = 0
        _set_arm_part(split, stop - 1, model, place)
        write_regression(
            model.blocks,
            model.pending,
            model.part_columns,
            model.part_values,
            model.theta,
            place,
            slot,
            inverse,
        )


@helper(reorder_sums=True)
def _read_inverse(model: DisjointState, place: int, d: int, inverse: Floats) -> None:
    """Copy A^-1 out of its block, with the pending steps subtracted."""
    block, lane = place >> LANE_BITS, place & LANE_MASK
    for entry in range(inverse.size):
        inverse[entry] = model.blocks[block, entry, lane]
    step = np.empty(d)
    for k in range(model.pending[place]):
        for j in range(d):
            step[j] = model.blocks[block, theta_entry(d) + (k + 1) * (d + 1) + j, lane]
        add_outer(inverse, step, -1.0)


@helper(reorder_sums=True)
def _update_all(
    rows: SplitRows,
    first: int,
    stop: int,
    rewards: Floats,
    model: DisjointState,
    totals: DisjointSums,
    slot: int,
    inverse: Floats,
    most_leverage: float,
    x: Floats,
) -> int:
    """Process rows as `ridge_learning.learn_row` does, in a copy of A^-1; return the first rejected row."""
    d, place = model.theta.shape[1], model.where[slot, MATRICES]
    for i in range(first, stop):
        columns, values, _ = take_row(rows, i, ZERO)
        u = multiply(inverse, columns, values, d)
        leverage, residual = leverage_and_residual(columns, values, u, model.theta, slot, rewards[i], 1.0)
        if not 0.0 <= leverage <= most_leverage:
            return i
        gain = 1.0 / (1.0 + leverage)
        for j in range(d):
            model.theta[slot, j] += u[j] * (gain * residual)
            u[j] *= math.sqrt(gain)
        add_outer(inverse, u, -1.0)
        _add(rows, i, rewards[i], totals.gram, place, totals.moment, slot, x)
        totals.log_det[slot] += math.log1p(leverage)
        totals.rows_learned[slot] += 1
        totals.since_refresh[slot] += 1
    return stop


@helper()
def _set_arm_part(rows: SplitRows, i: int, model: DisjointState, place: int) -> None:
    """Make column d represent the arm part of a row."""
    columns, values, n_shared = take_row(rows, i, ZERO)
    n = columns.size - n_shared
    model.part_columns[place, 0] = n
    for k in range(n):
        model.part_columns[place, 1 + k] = columns[n_shared + k]
        model.part_values[place, k] = values[n_shared + k]
    model.part_names[place] = rows.bounds[rows.users[i, FIRST_ARM], NAME]
