"""Validation of contexts, and their split into the part that a user's arms share and the arm-specific parts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_SHARED,
    N_SHARED,
    NAME,
    PATTERN,
    START,
    STOP,
    Fields,
    Floats,
    Ints,
    SplitRows,
)

# Beyond this, squares and products overflow a float64.
LARGEST = 1e50

# The columns of whole rows, by the number of rows and their width; treat them as read-only.
_COLUMNS: WeakValueDictionary[tuple[int, int], Ints] = WeakValueDictionary()

#: The outcome of `split_dense`: the rows are split; they are better left whole; an entry may be unusable.
SPLIT, WHOLE, DOUBTFUL = range(3)


@lru_cache(maxsize=64)
def one_shared_part(n_users: int, n_arms: int) -> tuple[Ints, Ints]:
    """Return `users` and `which` of rows in which all arms of a user share one part; treat them as read-only."""
    users = np.zeros((n_users, 4), np.int64)
    users[:, FIRST_SHARED] = np.arange(n_users)
    users[:, N_SHARED] = 1
    users[:, FIRST_ARM] = np.arange(n_users) * n_arms
    which = np.zeros((1, n_arms), np.int64)
    return users, which


@kernel()
def count_unusable(dense: Floats) -> int:
    """Count the entries of an array that are not usable numbers."""
    unusable = 0
    flat = dense.reshape(-1)
    for i in range(flat.size):
        unusable += not (abs(flat[i]) <= LARGEST)
    return unusable


@kernel()
def split_dense(dense: Floats, n_users: int, most: float) -> tuple[int, Ints, Ints, Floats, Ints, Ints, Floats]:
    """Split rows into the columns in which all arms of a user agree, stored once, and the non-zeros of the others.

    Returns the outcome, the shared parts (starts, columns, values), and the arm parts (bounds, columns, values).
    Rows are left whole if the first or the last has more than `most` non-zeros.
    """
    n, d = dense.shape
    n_arms = n // n_users
    filled = last_filled = 0
    for j in range(d):
        filled += dense[0, j] != 0.0
        last_filled += dense[n - 1, j] != 0.0
    outcome = SPLIT
    if filled > most or last_filled > most:
        outcome = WHOLE
        n_users = n = 0
    starts, shared_columns = np.zeros(n_users + 1, np.int64), np.empty(n_users * d, np.int64)
    shared_values, spread = np.empty(n_users * d), np.zeros((n_users, d))
    shared, size = 0, 1
    for user in range(n_users):
        first = user * n_arms
        # A NaN or infinity anywhere makes the sum non-finite, so one pass without branches also validates.
        for i in range(first + 1, first + n_arms):
            for j in range(d):
                spread[user, j] += abs(dense[i, j] - dense[first, j])
        for j in range(d):
            if not (abs(dense[first, j]) <= LARGEST and spread[user, j] <= LARGEST):
                outcome = DOUBTFUL
            if spread[user, j] > 0.0:
                size += n_arms
            elif dense[first, j] != 0.0:
                shared_columns[shared], shared_values[shared] = j, dense[first, j]
                shared += 1
        starts[user + 1] = shared
    bounds, varying = np.zeros((n, 3), np.int64), np.empty(d, np.int64)
    columns, values = np.empty(size, np.int64), np.empty(size)
    at = np.uint64(0)
    for user in range(n_users):
        n_varying = 0
        for j in range(d):
            varying[n_varying] = j
            n_varying += spread[user, j] > 0.0
        for i in range(user * n_arms, (user + 1) * n_arms):
            bounds[i, START] = at
            # Every entry is written, but a zero is overwritten by the next: no branch to mispredict.
            for k in range(n_varying):
                value = dense[i, varying[k]]
                columns[at], values[at] = varying[k], value
                at += np.uint64(value != 0.0)
            bounds[i, STOP] = at
    return outcome, starts, shared_columns[:shared], shared_values[:shared], bounds, columns[:at], values[:at]


@kernel()
def check_sparse(starts: Ints, columns: Ints, values: Floats, d: int) -> tuple[int, int, bool]:
    """Count columns out of range and unusable values; also return whether every row is strictly sorted."""
    outside = 0
    unusable = 0
    is_sorted = True
    for i in range(starts.size - 1):
        before = -1
        for k in range(starts[i], starts[i + 1]):
            outside += columns[k] < 0 or columns[k] >= d
            unusable += not (abs(values[k]) <= LARGEST)
            is_sorted &= columns[k] > before
            before = columns[k]
    return outside, unusable, is_sorted


@kernel()
def split_sparse(
    starts: Ints, columns: Ints, values: Floats, d: int, n_users: int
) -> tuple[Ints, Ints, Floats, Ints, Ints, Floats]:
    """Split rows as `split_dense` does, given their non-zeros, sorted by column."""
    n = starts.size - 1
    n_arms = n // n_users
    size = values.size + 1
    shared_starts, shared_columns = np.zeros(n_users + 1, np.int64), np.empty(size, np.int64)
    bounds, shared_values = np.zeros((n, 3), np.int64), np.empty(size)
    arm_columns, arm_values = np.empty(size, np.int64), np.empty(size)
    agreeing, reference = np.empty(d, np.int64), np.empty(d)
    shared = at = 0
    for user in range(n_users):
        first, end = user * n_arms, (user + 1) * n_arms
        _count_agreeing(starts, columns, values, first, end, agreeing, reference)
        for k in range(starts[first], starts[first + 1]):
            if agreeing[columns[k]] == n_arms:
                shared_columns[shared], shared_values[shared] = columns[k], values[k]
                shared += values[k] != 0.0
        shared_starts[user + 1] = shared
        for row in range(first, end):
            bounds[row, START] = at
            for k in range(starts[row], starts[row + 1]):
                if agreeing[columns[k]] < n_arms:
                    arm_columns[at], arm_values[at] = columns[k], values[k]
                    at += values[k] != 0.0
            bounds[row, STOP] = at
    return (
        shared_starts,
        shared_columns[:shared],
        shared_values[:shared],
        bounds,
        arm_columns[:at],
        arm_values[:at],
    )


@helper()
def _count_agreeing(
    starts: Ints, columns: Ints, values: Floats, first: int, end: int, agreeing: Ints, reference: Floats
) -> None:
    """Count, for each column, the rows with the same value as the first row; 0 if the first has no entry."""
    for j in range(agreeing.size):
        agreeing[j] = 0
    for k in range(starts[first], starts[first + 1]):
        agreeing[columns[k]], reference[columns[k]] = 1, values[k]
    for k in range(starts[first + 1], starts[end]):
        c = columns[k]
        agreeing[c] += agreeing[c] > 0 and reference[c] == values[k]


@helper()
def take_row(rows: SplitRows, user: int, arm: int) -> tuple[Ints, Floats, int]:
    """Copy one row, its shared part and then its arm part; also return the number of shared entries."""
    shared = rows.users[user, FIRST_SHARED] + rows.which[rows.users[user, PATTERN], arm]
    first = rows.shared_starts[shared]
    n_shared = rows.shared_starts[shared + 1] - first
    own = rows.users[user, FIRST_ARM] + arm
    lo = rows.bounds[own, START]
    n = n_shared + rows.bounds[own, STOP] - lo
    columns, values = np.empty(n, np.int64), np.empty(n)
    for k in range(n_shared):
        columns[k], values[k] = rows.shared_columns[first + k], rows.shared_values[first + k]
    for k in range(n_shared, n):
        columns[k], values[k] = rows.columns[lo + k - n_shared], rows.values[lo + k - n_shared]
    return columns, values, n_shared


@kernel()
def copy_row(rows: Fields, user: int, arm: int) -> tuple[Ints, Floats, int]:
    """Copy one row, as `take_row` does."""
    return take_row(SplitRows(*rows), user, arm)


@kernel()
def measure_rows(rows: Fields, users: Ints, arms: Ints, lengths: Ints, n_shared: Ints, names: Ints) -> None:
    """Fill in the length of each row, the number of its shared entries, and the name of its arm part."""
    split = SplitRows(*rows)
    for i in range(arms.size):
        shared = split.users[users[i], FIRST_SHARED] + split.which[split.users[users[i], PATTERN], arms[i]]
        own = split.users[users[i], FIRST_ARM] + arms[i]
        n_shared[i] = split.shared_starts[shared + 1] - split.shared_starts[shared]
        lengths[i] = n_shared[i] + split.bounds[own, STOP] - split.bounds[own, START]
        names[i] = split.bounds[own, NAME]


@kernel()
def copy_rows(rows: Fields, users: Ints, arms: Ints, starts: Ints, columns: Ints, values: Floats) -> None:
    """Copy rows of users and arms to their start positions in `columns` and `values`."""
    split = SplitRows(*rows)
    for i in range(arms.size):
        at = starts[i]
        shared = split.users[users[i], FIRST_SHARED] + split.which[split.users[users[i], PATTERN], arms[i]]
        for k in range(split.shared_starts[shared], split.shared_starts[shared + 1]):
            columns[at], values[at] = split.shared_columns[k], split.shared_values[k]
            at += 1
        own = split.users[users[i], FIRST_ARM] + arms[i]
        for k in range(split.bounds[own, START], split.bounds[own, STOP]):
            columns[at], values[at] = split.columns[k], split.values[k]
            at += 1


@kernel(reorder_sums=True)
def row_squares(rows: Fields, users: Ints, arms: Ints, d: int) -> Floats:
    """Compute x.x of rows of users and arms; infinite for a row with a column outside 0..d-1."""
    split, squares = SplitRows(*rows), np.zeros(arms.size)
    for i in range(arms.size):
        shared = split.users[users[i], FIRST_SHARED] + split.which[split.users[users[i], PATTERN], arms[i]]
        own = split.users[users[i], FIRST_ARM] + arms[i]
        first, end = split.shared_starts[shared], split.shared_starts[shared + 1]
        lo, hi = split.bounds[own, START], split.bounds[own, STOP]
        squares[i] = _squares(split.shared_columns, split.shared_values, first, end, d)
        squares[i] += _squares(split.columns, split.values, lo, hi, d)
    return squares


@helper(reorder_sums=True)
def _squares(columns: Ints, values: Floats, first: int, end: int, d: int) -> float:
    """Add up the squares of some entries; infinite if one of them is in a column outside 0..d-1."""
    total, outside, at = 0.0, 0, np.uint64(first)
    for k in range(np.uint64(end - first)):
        total += values[at + k] * values[at + k]
        outside += columns[at + k] < 0 or columns[at + k] >= d
    return np.inf if outside else total


@kernel()
def write_dense(rows: Fields, dense: Floats) -> None:
    """Write rows into a matrix of zeros, user by user."""
    split = SplitRows(*rows)
    n_arms = split.which.shape[1]
    for i in range(len(dense)):
        columns, values, _ = take_row(split, i // n_arms, i % n_arms)
        for k in range(columns.size):
            dense[i, columns[k]] = values[k]


def with_one_shared_part(
    n_users: int,
    n_arms: int,
    shared_starts: Any,
    shared_columns: Any,
    shared_values: Any,
    bounds: Any,
    columns: Any,
    values: Any,
) -> SplitRows:
    """Return split rows in which all arms of a user share one part."""
    users, which = one_shared_part(n_users, n_arms)
    return SplitRows(shared_starts, shared_columns, shared_values, users, which, bounds, columns, values)


def whole_rows(dense: Floats, n_users: int) -> SplitRows:
    """Return dense rows in the layout of split ones: the whole row is its arm part."""
    n, d = dense.shape
    starts = np.arange(n + 1) * d
    users, which = one_shared_part(n_users, n // n_users)
    bounds = np.column_stack([starts[:-1], starts[1:], np.zeros(n, np.int64)])
    no_starts, no_columns, no_values = np.zeros(n_users + 1, np.int64), np.empty(0, np.int64), np.empty(0)
    columns = _all_columns(n, d)
    return SplitRows(no_starts, no_columns, no_values, users, which, bounds, columns, dense.reshape(-1))


def _all_columns(n: int, d: int) -> Ints:
    """Return the columns 0..d-1, n times over; rounds of equal size share the array while one is in use."""
    found = _COLUMNS.get((n, d))
    if found is None:
        found = _COLUMNS[n, d] = np.tile(np.arange(d), n)
    return found


def rows_of_one_arm(starts: Ints, columns: Ints, values: Floats) -> SplitRows:
    """Return compressed rows of many users with one arm each: the whole row is its shared part."""
    users, which = one_shared_part(starts.size - 1, 1)
    bounds = np.zeros((starts.size - 1, 3), np.int64)
    return SplitRows(starts, columns, values, users, which, bounds, np.empty(0, np.int64), np.empty(0))


def single_row(columns: Ints, values: Floats, n_shared: int) -> SplitRows:
    """Return a single row in the layout of split ones."""
    users, which = one_shared_part(1, 1)
    return SplitRows(
        np.array([0, n_shared]),
        columns[:n_shared],
        values[:n_shared],
        users,
        which,
        np.array([[0, len(columns) - n_shared, 0]]),
        columns[n_shared:],
        values[n_shared:],
    )
