"""The layouts of the arrays that kernels work on, with one named tuple per layout.

Python passes a layout as a plain tuple, `tuple(layout)`, and the kernel turns it back into a named tuple: Numba
takes twice as long to read a named tuple, about half a microsecond per call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Columns = NDArray[np.uint64]
#: The fields of a layout.
Fields = tuple[Any, ...]

#: Constants for arguments of helpers (see `jit.helper`).
ZERO: Any = np.int64(0)
ONE: Any = np.int64(1)

#: Columns of `SplitRows.users`.
FIRST_SHARED, N_SHARED, PATTERN, FIRST_ARM = range(4)
#: Columns of `SplitRows.bounds`.
START, STOP, NAME = range(3)

#: Columns of the array `where`: the place of a regression's matrices, -1 while it has none; the number of its
#: low-rank steps; and, from `FIRST_STEP` on, the places of these steps.
MATRICES, N_STEPS, FIRST_STEP = range(3)

#: The outcome of learning a row: done; the regression must be solved from scratch; a column is outside the matrix;
#: the regression needs matrices first; it needs a place for one more step. In all cases but the first, nothing has
#: changed.
LEARNED, AFRESH, OUTSIDE, NEEDS_MATRICES, NEEDS_STEP = range(5)


class SplitRows(NamedTuple):
    """Contexts without their zeros; each is a shared part of its user plus a part specific to the arm.

    Attributes
    ----------
    shared_starts, shared_columns, shared_values : arrays
        The shared parts, in compressed sparse rows.
    users : array of shape (n_users, 4)
        For each user: the first of its shared parts, their number, its row of `which`, the first of its arm parts.
    which : array of shape (n_patterns, n_arms)
        The number of the user's shared part that each arm has.
    bounds : array of shape (n_arm_parts, 3)
        For each arm part its start and stop in `columns`, and its name: parts with the same name are equal, and 0
        means that a part has no name.
    columns, values : arrays
        The arm parts, each sorted by column.
    """

    shared_starts: Ints
    shared_columns: Ints
    shared_values: Floats
    users: Ints
    which: Ints
    bounds: Ints
    columns: Ints
    values: Floats


class UserColumns(NamedTuple):
    """The columns of a matrix of users.

    Attributes
    ----------
    place_of : array of shape (d,)
        The place of each fixed column, which is the same in all shared parts of a user; -1 for another column.
    n_fixed : int
        The number of fixed columns; the varying ones follow them.
    varying : array of int
        The varying columns, each repeated for each value that arms have in it.
    part_of : array of shape (n_patterns, n_varying)
        For each pattern of users, which of a user's shared parts has the entry.
    base_of : array of shape (n_patterns,)
        For each pattern, the part from which the fixed columns are read.
    """

    place_of: Ints
    n_fixed: int
    varying: Ints
    part_of: Ints
    base_of: Ints


class PairLayout(NamedTuple):
    """The shared parts of some users, and the products of their entries, laid out once for all arms.

    A user has several segments: the prefix that all its shared parts begin with, followed by column d, which
    stands for the arm part (see `blocks`); then the rest of each shared part. A segment's pairs are those of its
    entries with each other and, for a rest, with those of the prefix.

    Attributes
    ----------
    starts, columns, values : arrays
        The entries of the segments.
    pair_starts, pair_entries, pair_values : arrays
        The pairs of the segments: their entries in a packed triangle, and their products, doubled off the
        diagonal.
    """

    starts: Columns
    columns: Columns
    values: Floats
    pair_starts: Columns
    pair_entries: Columns
    pair_values: Floats


class RidgeState(NamedTuple):
    """Regressions with matrices of their own; see `RidgeRegressions` for what each array holds."""

    where: Ints
    theta: Floats
    inverse: Floats
    gram: Floats
    moment: Floats
    log_det: Floats
    rows_learned: Ints
    since_refresh: Ints


class DisjointState(NamedTuple):
    """A regression per arm, reduced to the fields that scoring needs.

    Attributes
    ----------
    where, theta : arrays
        As in `RidgeRegressions`.
    steps : array of shape (n_steps, d)
        The low-rank steps (see `low_rank`).
    blocks : array of shape (n_blocks, n_entries, 8)
        The regressions with matrices, in blocks of eight (see `blocks`).
    pending : array
        The number of pending steps of each of these.
    part_columns, part_values : arrays
        The arm part that column d of each stands for: its length and its columns; its values.
    part_names : array
        The name of that part, 0 where it has none.
    """

    where: Ints
    theta: Floats
    steps: Floats
    blocks: Floats
    pending: Ints
    part_columns: Ints
    part_values: Floats
    part_names: Ints


class DisjointSums(NamedTuple):
    """The arrays from which a regression per arm is solved: the rows of low-rank ones, A and b, and counts."""

    rows: Floats
    gram: Floats
    moment: Floats
    log_det: Floats
    rows_learned: Ints
    since_refresh: Ints
