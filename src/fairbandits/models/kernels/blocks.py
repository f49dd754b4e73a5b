"""Regressions in blocks of eight arms (AoSoA layout), so that vector units work on all eight at once.

Entry e of the regression in lane l is stored at `blocks[block, e, l]`. One load fetches this entry of all eight
regressions: a line of the cache, of which a single regression would use only an eighth. A regression has these
entries:

    the packed triangle of A^-1, d + 1 wide        theta, d + 1 long        a few pending steps, each d + 1 long

Column d stands for the arm part f of the contexts, as if f were one feature with the value 1: there, A^-1 holds
A^-1 f, and theta holds theta.f. A context `u + f` then has the entries of u and one more, however many entries f
has.

Learning a row subtracts a rank-one matrix s s' from A^-1. This matrix first waits as a pending step s. Once a
regression has `MOST_PENDING` pending steps, all pending steps of its block are subtracted in one pass over the
block's memory; otherwise, learning would have to wait for such a pass every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import MATRICES, ZERO, Columns, Floats, Ints
from fairbandits.models.kernels.vectors import LANE_BITS, LANE_MASK, LANES, subtract_outer

MOST_PENDING = 4
_CACHE_LINE = 64


def empty_blocks(n_blocks: int, width: int, dtype: Any) -> NDArray[Any]:
    """Return blocks of zeros, aligned such that no entry spans two lines of the cache."""
    n_entries = (width + 1) * (width + 2) // 2 + (1 + MOST_PENDING) * (width + 1)
    shape = (n_blocks, n_entries, LANES)
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _CACHE_LINE, np.uint8)
    first = -raw.ctypes.data % _CACHE_LINE
    blocks: NDArray[Any] = raw[first : first + n_bytes].view(dtype).reshape(shape)
    return blocks


def inverse_and_steps(blocks: NDArray[Any], place: int, n_steps: int, d: int) -> tuple[Floats, NDArray[Any]]:
    """Copy out A^-1 of one regression before its pending steps are subtracted, and these steps."""
    regression = blocks[place >> LANE_BITS, :, place & LANE_MASK]
    steps = regression[-MOST_PENDING * (d + 1) :].reshape(MOST_PENDING, d + 1)
    return regression[: d * (d + 1) // 2].astype(np.float64), steps[:n_steps, :d]


@helper()
def theta_entry(d: int) -> int:
    """Return the first entry of theta; the pending steps begin at `theta_entry(d) + d + 1`."""
    return (d + 1) * (d + 2) // 2


@helper()
def find_blocks(slots: Ints, where: Ints, n_blocks: int, arm_from: int, arm_to: int) -> tuple[int, Ints, Ints]:
    """Find the blocks that hold the regressions of arms, and the arm of each lane, -1 for none.

    Returns the number of blocks, the blocks, and the arms. If two arms share a regression, its block is listed
    twice.
    """
    # `met` is not initialised: a block has been met only if the entry that `met` points to leads back to the
    # block.
    met = np.empty(n_blocks, np.int64)
    blocks, arms = np.empty(arm_to - arm_from, np.int64), np.empty((arm_to - arm_from, LANES), np.int64)
    found = 0
    for arm in range(arm_from, arm_to):
        slot = slots[arm]
        if slot < 0 or slot >= len(where) or where[slot, MATRICES] < 0:
            continue
        block, lane = where[slot, MATRICES] >> LANE_BITS, where[slot, MATRICES] & LANE_MASK
        at = met[block]
        if not 0 <= at < found or blocks[at] != block or arms[at, lane] >= 0:
            at = met[block] = found
            blocks[at] = block
            for other in range(LANES):
                arms[at, other] = -1
            found += 1
        arms[at, lane] = arm
    return found, blocks, arms


@helper()
def most_pending(pending: Ints, block: int) -> int:
    """Return the largest number of pending steps of a regression of a block."""
    most = 0
    for place in range(block << LANE_BITS, (block + 1) << LANE_BITS):
        if place < pending.size and pending[place] > most:
            most = pending[place]
    return most


@helper()
def has_part(
    columns: Ints, values: Floats, lo: int, hi: int, part_columns: Ints, part_values: Floats, place: int
) -> bool:
    """Return whether entries lo to hi are the arm part that column d stands for; callers compare names first."""
    different = hi - lo != part_columns[place, 0]
    for i in range(0 if different else hi - lo):
        different |= columns[lo + i] != part_columns[place, 1 + i]
        different |= values[lo + i] != part_values[place, i]
    return not different


@helper()
def subtract_pending(blocks: Floats, pending: Ints, block: int, d: int) -> None:
    """Subtract the pending steps of all regressions of a block from their A^-1."""
    n_filled, filled = _filled_columns(blocks, block, most_pending(pending, block), d)
    start, one = np.uint64(block * blocks.shape[1]), np.uint64(1)
    first = theta_entry(d) + d + 1
    for k in range(np.uint64(n_filled)):
        i = filled[k]
        row_start = start + i * (i + one) // np.uint64(2)
        steps_from = start + np.uint64(first)
        subtract_outer(blocks, row_start, blocks, steps_from, i, filled, k + one, MOST_PENDING, np.uint64(d + 1))
    for entry in range(first, blocks.shape[1]):
        for lane in range(LANES):
            blocks[block, entry, lane] = 0.0
    for place in range(block << LANE_BITS, (block + 1) << LANE_BITS):
        if place < pending.size:
            pending[place] = 0


@helper()
def _filled_columns(blocks: Floats, block: int, n_steps: int, d: int) -> tuple[int, Columns]:
    """Find the columns in which a step of a block is not zero; in most columns, no arm has learned anything."""
    columns = np.empty(d + 1, np.uint64)
    found = 0
    for i in range(d + 1):
        is_filled = False
        for k in range(n_steps):
            for lane in range(LANES):
                is_filled |= blocks[block, theta_entry(d) + (k + 1) * (d + 1) + i, lane] != 0.0
        columns[found] = i
        found += is_filled
    return found, columns


@helper(reorder_sums=True)
def multiply_inverse(
    blocks: Floats, place: int, n_steps: int, columns: Ints, values: Floats, lo: int, hi: int, d: int, out: Floats
) -> None:
    """Compute A^-1 x of one regression, d + 1 numbers; x has entries lo to hi."""
    block, lane = np.uint64(place >> LANE_BITS), np.uint64(place & LANE_MASK)
    one, width = np.uint64(1), np.uint64(d + 1)
    for j in range(width):
        out[j] = 0.0
    for i in range(lo, hi):
        c, v = np.uint64(columns[i]), values[i]
        entry = c * (c + one) // np.uint64(2)
        for j in range(c + one):
            out[j] += v * blocks[block, entry + j, lane]
        # The rest of the matrix's row is stored in the column below the diagonal.
        entry += c
        for j in range(c + one, width):
            entry += j
            out[j] += v * blocks[block, entry, lane]
    step = np.uint64(theta_entry(d)) + width
    for _ in range(n_steps):
        along = 0.0
        for i in range(lo, hi):
            along += values[i] * blocks[block, step + np.uint64(columns[i]), lane]
        for j in range(width):
            out[j] -= along * blocks[block, step + j, lane]
        step += width


@helper(reorder_sums=True)
def set_part(
    blocks: Floats, place: int, n_steps: int, columns: Ints, values: Floats, lo: int, hi: int, d: int
) -> None:
    """Set column d to the arm part with entries lo to hi: in A^-1 and in the pending steps."""
    block, lane = place >> LANE_BITS, place & LANE_MASK
    q = np.empty(d + 1)
    multiply_inverse(blocks, place, ZERO, columns, values, lo, hi, d, q)
    q[d] = 0.0
    for i in range(lo, hi):
        q[d] += values[i] * q[columns[i]]
    row = d * (d + 1) // 2
    for j in range(d + 1):
        blocks[block, row + j, lane] = q[j]
    for k in range(n_steps):
        step = theta_entry(d) + (k + 1) * (d + 1)
        along = 0.0
        for i in range(lo, hi):
            along += values[i] * blocks[block, step + columns[i], lane]
        blocks[block, step + d, lane] = along


@helper(reorder_sums=True)
def set_theta(
    blocks: Floats, place: int, theta: Floats, slot: int, columns: Ints, values: Floats, lo: int, hi: int
) -> None:
    """Write theta, and theta.f behind it, f being the arm part with entries lo to hi."""
    block, lane, d = place >> LANE_BITS, place & LANE_MASK, theta.shape[1]
    for i in range(d):
        blocks[block, theta_entry(d) + i, lane] = theta[slot, i]
    total = 0.0
    for i in range(lo, hi):
        total += values[i] * theta[slot, columns[i]]
    blocks[block, theta_entry(d) + d, lane] = total


@kernel()
def write_regression(
    blocks: Floats,
    pending: Ints,
    part_columns: Ints,
    part_values: Floats,
    theta: Floats,
    place: int,
    slot: int,
    inverse: Floats,
) -> None:
    """Write a regression that has been solved from scratch: A^-1 and theta, and no pending steps."""
    block, lane, d = place >> LANE_BITS, place & LANE_MASK, theta.shape[1]
    for entry in range(inverse.size):
        blocks[block, entry, lane] = inverse[entry]
    for entry in range(theta_entry(d) + d + 1, blocks.shape[1]):
        blocks[block, entry, lane] = 0.0
    pending[place] = 0
    n = part_columns[place, 0]
    columns, values = np.empty(n, np.int64), np.empty(n)
    for i in range(n):
        columns[i], values[i] = part_columns[place, 1 + i], part_values[place, i]
    set_part(blocks, place, ZERO, columns, values, ZERO, n, d)
    set_theta(blocks, place, theta, slot, columns, values, ZERO, n)
