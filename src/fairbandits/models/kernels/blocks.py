"""Eight models side by side, so that vector units work on all of them at once.

Models lie in blocks of eight: entry e of the model in lane l stands at `lanes[block, e, l]`, and one load brings
that entry of all eight. It is a line of the cache, of which a model by itself would use an eighth. A model has

    the triangle of A^-1, d + 1 wide        theta, d + 1 long        a few steps, each d + 1 long

Column d stands for the arm's own part f, as if that were one feature with the value 1: A^-1 holds A^-1 f there,
and theta holds theta.f, so that a context `u + f` has the entries of u and one more, however many f has.

A row that is learned takes a rank-one matrix s s' off A^-1. It is kept as a step s, and all steps of a block are
taken off in one pass over its memory, for which learning would wait otherwise, once a lane has `MOST_PENDING`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.models.kernels.triangles import FAST, GROWN, Floats, Ints, dot
from fairbandits.models.kernels.vectors import LANES, take_outer

MOST_PENDING = 4


def n_entries(width: int) -> int:
    """Give how many entries a model has."""
    return (width + 1) * (width + 2) // 2 + (1 + MOST_PENDING) * (width + 1)


def blank(n_blocks: int, width: int, dtype: Any) -> NDArray[Any]:
    """Make room for blocks of models, such that no entry lies on two lines of the cache."""
    shape, line = (n_blocks, n_entries(width), LANES), 64
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + line, np.uint8)
    first = -raw.ctypes.data % line
    room: NDArray[Any] = raw[first : first + n_bytes].view(dtype).reshape(shape)
    return room


def taken_out(lanes: NDArray[Any], place: int, n_steps: int, d: int) -> tuple[Floats, NDArray[Any]]:
    """Copy out the triangle of A^-1 of one model, from which its steps have not been taken off, and the steps."""
    model = lanes[place // LANES, :, place % LANES]
    steps = model[steps_at(d) :].reshape(MOST_PENDING, d + 1)
    return model[: d * (d + 1) // 2].astype(np.float64), steps[:n_steps, :d]


@njit(cache=True, nogil=True, inline="always")
def theta_at(d: int) -> int:
    """Give the first entry of theta; the steps are behind it."""
    return (d + 1) * (d + 2) // 2


@njit(cache=True, nogil=True, inline="always")
def steps_at(d: int) -> int:
    """Give the first entry of the steps."""
    return theta_at(d) + d + 1


@njit(cache=True, nogil=True)
def deal(slots: Ints, where: Ints, n_blocks: int, arm_from: int, arm_to: int) -> tuple[Ints, Ints]:
    """Find the blocks in which arms have their models, and which arm each lane is for, -1 for none.

    Where two arms have one model, its block stands twice.
    """
    # What is not written is garbage: a block has been met where what it says leads back to it.
    met = np.empty(n_blocks, np.int64)
    blocks, arms = np.empty(arm_to - arm_from, np.int64), np.empty((arm_to - arm_from, LANES), np.int64)
    found = 0
    for a in range(arm_from, arm_to):
        slot = slots[a]
        if slot < 0 or slot >= len(where) or where[slot, GROWN] < 0:
            continue
        block, lane = divmod(where[slot, GROWN], LANES)
        at_ = met[block]
        if not 0 <= at_ < found or blocks[at_] != block or arms[at_, lane] >= 0:
            at_ = met[block] = found
            blocks[at_] = block
            for other in range(LANES):
                arms[at_, other] = -1
            found += 1
        arms[at_, lane] = a
    return blocks[:found], arms[:found]


@njit(cache=True, nogil=True)
def is_kept(
    columns: Ints, values: Floats, lo: int, hi: int, part_columns: Ints, part_values: Floats, place: int
) -> bool:
    """Whether a row's own part is the one that is kept, entry by entry: callers look at its name first."""
    different = hi - lo != part_columns[place, 0]
    for i in range(0 if different else hi - lo):
        different |= columns[lo + i] != part_columns[place, 1 + i]
        different |= values[lo + i] != part_values[place, i]
    return not different


@njit(cache=True, nogil=True)
def most_pending(pending: Ints, block: int) -> int:
    """Give the number of steps of the lane of a block that has most."""
    most = 0
    for place in range(block * LANES, min((block + 1) * LANES, pending.size)):
        most = max(most, pending[place])
    return most


@njit(cache=True, nogil=True, fastmath=FAST)
def fold(lanes: Floats, pending: Ints, block: int, d: int) -> None:
    """Take the steps of all lanes of a block off their A^-1."""
    filled = _filled(lanes, block, most_pending(pending, block), d)
    start = np.uint64(block * lanes.shape[1])
    steps = start + np.uint64(steps_at(d))
    for k in range(np.uint64(filled.size)):
        i = filled[k]
        line = start + i * (i + np.uint64(1)) // np.uint64(2)
        take_outer(lanes, line, lanes, steps, i, filled, k + np.uint64(1), MOST_PENDING, np.uint64(d + 1))
    for entry in range(steps_at(d), lanes.shape[1]):
        for lane in range(LANES):
            lanes[block, entry, lane] = 0.0
    for place in range(block * LANES, min((block + 1) * LANES, pending.size)):
        pending[place] = 0


@njit(cache=True, nogil=True)
def _filled(lanes: Floats, block: int, n_steps: int, d: int) -> NDArray[np.uint64]:
    """Find the columns in which a step of a block is not zero: those of which no arm has learned are."""
    columns = np.empty(d + 1, np.uint64)
    found = 0
    for i in range(d + 1):
        is_filled = False
        for k in range(n_steps):
            for lane in range(LANES):
                is_filled |= lanes[block, steps_at(d) + k * (d + 1) + i, lane] != 0.0
        columns[found] = i
        found += is_filled
    return columns[:found]


@njit(cache=True, nogil=True, fastmath=FAST)
def product(lanes: Floats, block: int, lane: int, n_steps: int, columns: Ints, values: Floats, d: int) -> Floats:
    """Compute A^-1 x of one model, d + 1 numbers, for an x of which the entries are given."""
    out = np.zeros(d + 1)
    model = lanes[block]
    one, width = np.uint64(1), np.uint64(d + 1)
    for i in range(columns.size):
        c, v = np.uint64(columns[i]), values[i]
        entry = c * (c + one) // np.uint64(2)
        for j in range(c + one):
            out[j] += v * model[entry + j, lane]
        # The rest of the row stands in the column below the diagonal.
        entry += c
        for j in range(c + one, width):
            entry += j
            out[j] += v * model[entry, lane]
    step = np.uint64(steps_at(d))
    for _ in range(n_steps):
        along = 0.0
        for i in range(columns.size):
            along += values[i] * model[step + np.uint64(columns[i]), lane]
        for j in range(width):
            out[j] -= along * model[step + j, lane]
        step += width
    return out


@njit(cache=True, nogil=True, fastmath=FAST)
def make_ready(lanes: Floats, block: int, lane: int, n_steps: int, columns: Ints, values: Floats, d: int) -> None:
    """Let column d stand for an own part of which the entries are given: in A^-1 and in the steps."""
    model = lanes[block]
    line = d * (d + 1) // 2
    q = product(lanes, block, lane, 0, columns, values, d)
    q[d] = dot(q, np.uint64(0), columns, values, np.uint64(0), np.uint64(columns.size))
    for j in range(d + 1):
        model[line + j, lane] = q[j]
    for k in range(n_steps):
        step = steps_at(d) + k * (d + 1)
        along = 0.0
        for i in range(columns.size):
            along += values[i] * model[step + columns[i], lane]
        model[step + d, lane] = along


@njit(cache=True, nogil=True, fastmath=FAST)
def set_theta(lanes: Floats, block: int, lane: int, theta: Floats, columns: Ints, values: Floats) -> None:
    """Write theta down, and theta.f behind it."""
    model, d = lanes[block], theta.size
    for i in range(d):
        model[theta_at(d) + i, lane] = theta[i]
    own = dot(theta, np.uint64(0), columns, values, np.uint64(0), np.uint64(columns.size))
    model[theta_at(d) + d, lane] = own


@njit(cache=True, nogil=True, fastmath=FAST)
def add_step(lanes: Floats, block: int, lane: int, n_steps: int, u: Floats, factor: float) -> None:
    """Write one more step down, u times a factor, behind the n that there are."""
    model, first = lanes[block], steps_at(u.size - 1) + n_steps * u.size
    for i in range(u.size):
        model[first + i, lane] = factor * u[i]


@njit(cache=True, nogil=True)
def put(
    lanes: Floats,
    pending: Ints,
    place: int,
    inverse: Floats,
    theta: Floats,
    part_columns: Ints,
    part_values: Floats,
) -> None:
    """Write a model down that has been solved afresh: A^-1 and theta, and no steps."""
    block, lane = divmod(place, LANES)
    model, d = lanes[block], theta.size
    for entry in range(inverse.size):
        model[entry, lane] = inverse[entry]
    for entry in range(steps_at(d), len(model)):
        model[entry, lane] = 0.0
    pending[place] = 0
    columns, values = part_columns[1 : 1 + part_columns[0]], part_values[: part_columns[0]]
    make_ready(lanes, block, lane, 0, columns, values, d)
    set_theta(lanes, block, lane, theta, columns, values)
