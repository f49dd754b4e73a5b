"""The compiled loops that check contexts and split them into the user's part and the arms' own."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# What rows without their zeros are made of. A row is one of the common parts of its user plus a part of its own.
# `starts, columns, values` of the common parts; for each user the first of its common parts, how many they are,
# its line in `which`, and the first of its own parts; `which` of the user's common parts each arm has, a line for
# each way to deal them out; `bounds, columns, values` of the own parts, each sorted by column. Behind its bounds a
# part has a name, 0 where it has none: two parts of one name are equal, and need not be compared.
Parts = tuple[Ints, Ints, Floats, Ints, Ints, Ints, Ints, Floats]

# Beyond this the squares and products of the algebra leave the range of a float64.
LARGEST = 1e50


@njit(cache=True, nogil=True)
def count_unusable(dense: Floats) -> int:
    """Count the entries of a matrix that are not usable numbers."""
    unusable = 0
    flat = dense.reshape(-1)
    for i in range(flat.size):
        unusable += not (abs(flat[i]) <= LARGEST)
    return unusable


@njit(cache=True, nogil=True)
def split_dense(dense: Floats, n_users: int, most: float) -> tuple[Parts, bool, bool]:
    """Split the rows of users: the columns in which all arms agree, once, and the non-zeros of the others.

    Returns the parts; whether it was worth while (the first and the last row have at most `most` non-zeros);
    and whether all entries are usable numbers beyond doubt.
    """
    n, d = dense.shape
    n_arms = n // n_users
    spread = np.empty((n_users, d))
    user_starts = np.zeros(n_users + 1, np.int64)
    user_columns = np.empty(n_users * d, np.int64)
    user_values = np.empty(n_users * d)
    worth = bool(max(np.count_nonzero(dense[0]), np.count_nonzero(dense[-1])) <= most)
    usable = worth
    common = 0
    room = 1
    users, which = _one_common_part(n_users, n_arms)
    if not worth:
        n_users = 0
    for user in range(n_users):
        rows = dense[user * n_arms : (user + 1) * n_arms]
        _spread(rows, spread[user])
        for j in range(d):
            usable &= abs(rows[0, j]) <= LARGEST and spread[user, j] <= LARGEST
            if spread[user, j] > 0.0:
                room += n_arms
            elif rows[0, j] != 0.0:
                user_columns[common] = j
                user_values[common] = rows[0, j]
                common += 1
        user_starts[user + 1] = common
    bounds, columns, values = _compress(dense, spread[:n_users], n_arms, room)
    parts = user_starts, user_columns[:common], user_values[:common], users, which, bounds, columns, values
    return parts, worth, usable


@njit(cache=True, nogil=True)
def _one_common_part(n_users: int, n_arms: int) -> tuple[Ints, Ints]:
    """Say that all arms of a user have the same common part, and that no two users have own parts in common."""
    users = np.zeros((n_users, 4), np.int64)
    for user in range(n_users):
        users[user, 0] = user
        users[user, 1] = 1
        users[user, 3] = user * n_arms
    return users, np.zeros((1, n_arms), np.int64)


@njit(cache=True, nogil=True)
def _compress(dense: Floats, spread: Floats, n_arms: int, room: int) -> tuple[Ints, Ints, Floats]:
    """Gather the non-zeros of each row in the columns that vary among the arms of its user."""
    n, d = dense.shape
    bounds = np.zeros((n, 3), np.int64)
    columns = np.empty(room, np.int64)
    values = np.empty(room)
    varying = np.empty(d, np.int64)
    at = np.uint64(0)
    for user in range(len(spread)):
        n_varying = 0
        for j in range(d):
            if spread[user, j] > 0.0:
                varying[n_varying] = j
                n_varying += 1
        for i in range(user * n_arms, (user + 1) * n_arms):
            row = dense[i]
            bounds[i, 0] = at
            # Every entry is written and only a non-zero moves the pen on: no branch to mispredict.
            for k in range(n_varying):
                c = np.uint64(varying[k])
                columns[at] = c
                values[at] = row[c]
                at += np.uint64(row[c] != 0.0)
            bounds[i, 1] = at
    return bounds, columns[:at], values[:at]


@njit(cache=True, nogil=True)
def _spread(rows: Floats, spread: Floats) -> None:
    """Sum up how far the rows are from the first, column by column; 0 means that all are equal.

    A NaN or an infinity anywhere spoils the sum, so that one pass without branches checks as well.
    """
    first = rows[0]
    spread[:] = 0.0
    for i in range(1, len(rows)):
        row = rows[i]
        for j in range(first.size):
            spread[j] += abs(row[j] - first[j])


@njit(cache=True, nogil=True)
def check_sparse(starts: Ints, columns: Ints, values: Floats, d: int) -> tuple[int, int, bool]:
    """Count columns out of range and unusable values; say whether every row is strictly sorted."""
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


@njit(cache=True, nogil=True)
def split_sparse(starts: Ints, columns: Ints, values: Floats, d: int, n_users: int) -> Parts:
    """Do as `split_dense` does, for rows of which the non-zeros are given, sorted by column."""
    n = starts.size - 1
    n_arms = n // n_users
    user_starts = np.zeros(n_users + 1, np.int64)
    user_columns = np.empty(values.size + 1, np.int64)
    user_values = np.empty(values.size + 1)
    bounds = np.zeros((n, 3), np.int64)
    own_columns = np.empty(values.size + 1, np.int64)
    own_values = np.empty(values.size + 1)
    common = 0
    at = 0
    for user in range(n_users):
        first = user * n_arms
        agree = _count_agreeing(starts[first : first + n_arms + 1], columns, values, d)
        for k in range(starts[first], starts[first + 1]):
            if agree[columns[k]] == n_arms:
                user_columns[common] = columns[k]
                user_values[common] = values[k]
                common += values[k] != 0.0
        user_starts[user + 1] = common
        for row in range(first, first + n_arms):
            bounds[row, 0] = at
            for k in range(starts[row], starts[row + 1]):
                if agree[columns[k]] < n_arms:
                    own_columns[at] = columns[k]
                    own_values[at] = values[k]
                    at += values[k] != 0.0
            bounds[row, 1] = at
    users, which = _one_common_part(n_users, n_arms)
    common_parts = user_starts, user_columns[:common], user_values[:common], users, which
    return (*common_parts, bounds, own_columns[:at], own_values[:at])


@njit(cache=True, nogil=True)
def _count_agreeing(starts: Ints, columns: Ints, values: Floats, d: int) -> Ints:
    """Count for each column the rows that hold what the first row holds; 0 where the first has no entry."""
    agree = np.zeros(d, np.int64)
    reference = np.empty(d)
    for k in range(starts[0], starts[1]):
        agree[columns[k]] = 1
        reference[columns[k]] = values[k]
    for k in range(starts[1], starts[-1]):
        c = columns[k]
        agree[c] += agree[c] > 0 and reference[c] == values[k]
    return agree


@njit(cache=True, nogil=True)
def take_row(parts: Parts, user: int, arm: int) -> tuple[Ints, Floats, int]:
    """Copy out one row: the common part, then the arm's own; and how many entries are common."""
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    common = users[user, 0] + which[users[user, 2], arm]
    first, last = common_starts[common], common_starts[common + 1]
    lo, hi = bounds[users[user, 3] + arm, 0], bounds[users[user, 3] + arm, 1]
    n_common = last - first
    row_columns = np.empty(n_common + hi - lo, np.int64)
    row_values = np.empty(row_columns.size)
    # By loops: slices take long to compile, and longer to copy so little.
    for k in range(n_common):
        row_columns[k], row_values[k] = common_columns[first + k], common_values[first + k]
    for k in range(hi - lo):
        row_columns[n_common + k], row_values[n_common + k] = columns[lo + k], values[lo + k]
    return row_columns, row_values, n_common


@njit(cache=True, nogil=True)
def take_rows(parts: Parts, arms: Ints) -> tuple[Ints, Ints, Floats, Ints]:
    """Copy out one row for each user, that of an arm: where each starts, columns, values, how many are common."""
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    n = arms.size
    starts, n_common = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    for user in range(n):
        common = users[user, 0] + which[users[user, 2], arms[user]]
        own = users[user, 3] + arms[user]
        lo, hi = bounds[own, 0], bounds[own, 1]
        n_common[user] = common_starts[common + 1] - common_starts[common]
        starts[user + 1] = starts[user] + n_common[user] + hi - lo
    row_columns, row_values = np.empty(starts[n], np.int64), np.empty(starts[n])
    for user in range(n):
        first = common_starts[users[user, 0] + which[users[user, 2], arms[user]]]
        own = users[user, 3] + arms[user]
        lo, hi = bounds[own, 0], bounds[own, 1]
        at, behind = starts[user], starts[user] + n_common[user]
        row_columns[at:behind] = common_columns[first : first + n_common[user]]
        row_values[at:behind] = common_values[first : first + n_common[user]]
        row_columns[behind : behind + hi - lo] = columns[lo:hi]
        row_values[behind : behind + hi - lo] = values[lo:hi]
    return starts, row_columns, row_values, n_common


@njit(cache=True, nogil=True)
def write_dense(parts: Parts, dense: Floats) -> None:
    """Write rows out into a matrix of zeros, the arms of one user after those of the other."""
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    n_arms = which.shape[1]
    for i in range(len(dense)):
        user, arm = i // n_arms, i % n_arms
        common = users[user, 0] + which[users[user, 2], arm]
        for k in range(common_starts[common], common_starts[common + 1]):
            dense[i, common_columns[k]] = common_values[k]
        lo, hi = bounds[users[user, 3] + arm, 0], bounds[users[user, 3] + arm, 1]
        for k in range(lo, hi):
            dense[i, columns[k]] = values[k]


def dense_parts(dense: Floats, n_users: int) -> Parts:
    """Make the parts of rows that are given in full: all of a row is its own."""
    n, d = dense.shape
    starts = np.arange(n + 1) * d
    users, which = _one_common_part(n_users, n // n_users)
    nothing = np.zeros(n_users + 1, np.int64), np.empty(0, np.int64), np.empty(0)
    bounds = np.column_stack([starts[:-1], starts[1:], np.zeros(n, np.int64)])
    return (*nothing, users, which, bounds, np.tile(np.arange(d), n), dense.reshape(-1))


def one_arm_each(starts: Ints, columns: Ints, values: Floats) -> Parts:
    """Make the parts of rows, without their zeros, of many users with one arm each: nothing to split."""
    users, which = _one_common_part(starts.size - 1, 1)
    bounds = np.zeros((starts.size - 1, 3), np.int64)
    return starts, columns, values, users, which, bounds, np.empty(0, np.int64), np.empty(0)


def one_row(columns: Ints, values: Floats, n_common: int) -> Parts:
    """Make the parts of a single row."""
    return (
        np.array([0, n_common]),
        columns[:n_common],
        values[:n_common],
        np.array([[0, 1, 0, 0]]),
        np.zeros((1, 1), np.int64),
        np.array([[0, len(columns) - n_common, 0]]),
        columns[n_common:],
        values[n_common:],
    )
