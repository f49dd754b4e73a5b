"""Copying A^-1 of many regressions out of the layout in which kernels score and learn them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel
from fairbandits.models.kernels.blocks import theta_entry
from fairbandits.models.kernels.layouts import FIRST_STEP, MATRICES, N_STEPS, DisjointState, Fields, Ints
from fairbandits.models.kernels.vectors import LANE_BITS, LANE_MASK


@kernel()
def copy_inverses(state: Fields, slots: Ints, ridge: float, out: NDArray[np.float64]) -> None:
    """Copy A^-1 of slots as packed triangles, with all their steps subtracted; ridge^-1 I for an empty one."""
    model = DisjointState(*state)
    d = model.theta.shape[1]
    for row in range(slots.size):
        slot = slots[row]
        is_known = 0 <= slot < len(model.where)
        place = model.where[slot, MATRICES] if is_known else -1
        n_steps = model.where[slot, N_STEPS] if is_known else 0
        if place >= 0:
            block, lane, n_steps = place >> LANE_BITS, place & LANE_MASK, model.pending[place]
            for entry in range(out.shape[1]):
                out[row, entry] = model.blocks[block, entry, lane]
        else:
            block = lane = 0
            for entry in range(out.shape[1]):
                out[row, entry] = 0.0
            for i in range(d):
                out[row, i * (i + 1) // 2 + i] = 1.0 / ridge
        for k in range(n_steps):
            first = theta_entry(d) + (k + 1) * (d + 1)
            step = model.where[slot, FIRST_STEP + k] if place < 0 else 0
            entry = 0
            for i in range(d):
                along = model.blocks[block, first + i, lane] if place >= 0 else model.steps[step, i]
                for j in range(i + 1):
                    other = model.blocks[block, first + j, lane] if place >= 0 else model.steps[step, j]
                    out[row, entry] -= along * other
                    entry += 1
