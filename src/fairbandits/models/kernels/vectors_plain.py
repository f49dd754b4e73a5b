"""The operations of `vectors` as ordinary loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.jit import helper

_LANES = 8


@helper()
def add_weighted(
    out: Any, at: Any, before: Any, entry: Any, table: Any, start: Any, places: Any, weights: Any, lo: Any, hi: Any
) -> None:
    """Set out[at] to before[entry] plus a weighted sum of entries of a table."""
    sums = _weighted(before, entry, table, start, places, weights, lo, hi)
    target = out.reshape(-1, _LANES)
    for lane in range(_LANES):
        target[at, lane] = sums[lane]


@helper()
def subtract_square(
    out: Any, at: Any, before: Any, entry: Any, table: Any, start: Any, places: Any, weights: Any, lo: Any, hi: Any
) -> None:
    """Subtract from out[at] the square of the value to which `add_weighted` would set it."""
    sums = _weighted(before, entry, table, start, places, weights, lo, hi)
    target = out.reshape(-1, _LANES)
    for lane in range(_LANES):
        target[at, lane] -= sums[lane] * sums[lane]


@helper()
def _weighted(before: Any, entry: Any, table: Any, start: Any, places: Any, weights: Any, lo: Any, hi: Any) -> Any:
    entries, earlier = table.reshape(-1, _LANES), before.reshape(-1, _LANES)
    sums = np.zeros(_LANES)
    for k in range(lo, hi):
        for lane in range(_LANES):
            sums[lane] += weights[k] * entries[start + places[k], lane]
    for lane in range(_LANES):
        sums[lane] += earlier[entry, lane]
    return sums


@helper()
def set_products(out: Any, at: Any, x: Any, x_from: Any, y: Any, y_from: Any, n: Any) -> None:
    """Set out[at] to the sum of products of n entries of two arrays, lane by lane."""
    target, ours, theirs = out.reshape(-1, _LANES), x.reshape(-1, _LANES), y.reshape(-1, _LANES)
    sums = np.zeros(_LANES)
    for k in range(n):
        for lane in range(_LANES):
            sums[lane] += np.float64(ours[x_from + k, lane]) * np.float64(theirs[y_from + k, lane])
    for lane in range(_LANES):
        target[at, lane] = sums[lane]


@helper()
def subtract_outer(
    out: Any, row_start: Any, x: Any, first: Any, row: Any, columns: Any, n: Any, n_steps: Any, stride: Any
) -> None:
    """Subtract outer products of steps from the first n columns of a row of a matrix."""
    target, steps = out.reshape(-1, _LANES), x.reshape(-1, _LANES)
    for k in range(n):
        j = columns[k]
        for lane in range(_LANES):
            rest = np.float64(target[row_start + j, lane])
            step = first
            for _ in range(n_steps):
                rest -= np.float64(steps[step + row, lane]) * steps[step + j, lane]
                step += stride
            target[row_start + j, lane] = rest
