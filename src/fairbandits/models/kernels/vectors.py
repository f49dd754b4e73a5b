"""Loops over eight numbers at once: the interface, and the choice between two implementations.

An array is read as rows of eight numbers, one for each regression of a block; a row is an entry of all eight.
Entries may be float32 or float64; sums are float64. There are four operations:

    add_weighted(out, at, before, entry, table, start, places, weights, lo, hi)
        out[at] = before[entry] + sum of weights[k] * table[start + places[k]], k from lo to below hi
    subtract_square(out, at, before, entry, table, start, places, weights, lo, hi)
        out[at] -= the square of the value to which add_weighted would set it
    set_products(out, at, x, x_from, y, y_from, n)
        out[at] = sum of x[x_from + k] * y[y_from + k], k below n
    subtract_outer(out, row_start, x, first, row, columns, n, n_steps, stride)
        out[row_start + j] -= sum over the steps of x[step + row] * x[step + j], for the first n j of `columns`;
        the steps begin at `first`, `first + stride`, ..., and n_steps is a constant

`vectors_llvm` implements them as vector instructions, because the compiler does not discover on its own that it
may use these. `vectors_plain` implements them as ordinary loops, and is used with versions of Numba with which the
instructions have not been tested, if `FAIRBANDITS_PLAIN_KERNELS` is set, and without compilation
(`NUMBA_DISABLE_JIT`).
"""

from __future__ import annotations

from fairbandits.jit import use_plain_loops
from fairbandits.models.kernels import vectors_plain

#: The regressions of a block; `place >> LANE_BITS` is the block of a place, `place & LANE_MASK` its lane.
LANES, LANE_BITS, LANE_MASK = 8, 3, 7


add_weighted = vectors_plain.add_weighted
subtract_square = vectors_plain.subtract_square
set_products = vectors_plain.set_products
subtract_outer = vectors_plain.subtract_outer

if not use_plain_loops():
    from fairbandits.models.kernels import vectors_llvm

    add_weighted = vectors_llvm.add_weighted
    subtract_square = vectors_llvm.subtract_square
    set_products = vectors_llvm.set_products
    subtract_outer = vectors_llvm.subtract_outer
