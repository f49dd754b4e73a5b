"""The user parts of contexts as matrices, for scoring many users at once on a device.

A user has a shared part for each pattern of matches. These parts differ only in *varying* columns: the bits that
indicate whether user and arm match. In the matrix of users, a varying column appears once for each value that arms
have in it; see `fairbandits.models.device.contexts`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import FIRST_SHARED, PATTERN, Fields, Floats, Ints, SplitRows, UserColumns


@kernel()
def mark_columns(columns: Ints, used: NDArray[np.bool_], start: int, stop: int) -> int:
    """Mark the columns that occur among entries start to stop."""
    for i in range(start, stop):
        # Read before writing: threads that write to the same cache line wait for each other.
        if not used[columns[i]]:
            used[columns[i]] = True
    return 0


@helper()
def _collect(rows: SplitRows, layout: UserColumns, user: int, places: Ints, values: Floats) -> int:
    """Collect the entries of a user: their places in the matrix of users, and their values."""
    found = 0
    first, pattern = rows.users[user, FIRST_SHARED], rows.users[user, PATTERN]
    base = first + layout.base_of[pattern]
    for i in range(rows.shared_starts[base], rows.shared_starts[base + 1]):
        place = layout.place_of[rows.shared_columns[i]]
        if place >= 0:
            places[found], values[found] = place, rows.shared_values[i]
            found += 1
    n_fixed = layout.n_fixed
    for j in range(layout.varying.size):
        part = first + layout.part_of[pattern, j]
        # Search from the end, where the match bits are.
        for i in range(rows.shared_starts[part + 1] - 1, rows.shared_starts[part] - 1, -1):
            if rows.shared_columns[i] <= layout.varying[j]:
                if rows.shared_columns[i] == layout.varying[j]:
                    places[found], values[found] = n_fixed + j, rows.shared_values[i]
                    found += 1
                break
    return found


@kernel()
def write_users(rows: Fields, layout_fields: Fields, first: int, dense: Floats) -> None:
    """Write the entries of users, from the first one on, into a matrix of zeros."""
    split, layout = SplitRows(*rows), UserColumns(*layout_fields)
    places, values = np.empty(dense.shape[1], np.int64), np.empty(dense.shape[1])
    for row in range(len(dense)):
        for i in range(_collect(split, layout, first + row, places, values)):
            dense[row, places[i]] = values[i]


@kernel()
def mark_pairs(starts: Ints, columns: Ints, place_of: Ints, used: NDArray[np.bool_]) -> int:
    """Mark the pairs of columns that occur together in a part; return the number of all pairs."""
    total = 0
    for part in range(starts.size - 1):
        for i in range(starts[part], starts[part + 1]):
            a = place_of[columns[i]]
            for j in range(starts[part], i + 1):
                b = place_of[columns[j]]
                if a >= 0 and b >= 0:
                    used[a, b] = used[b, a] = True
                    total += 1
    return total


@kernel()
def write_pairs(
    rows: Fields,
    layout_fields: Fields,
    place_of_pair: Ints,
    first: int,
    starts: Ints,
    indices: Ints,
    products: Floats,
) -> int:
    """Write the products of pairs of a user's entries, with a constant 1 among them, as compressed rows.

    `place_of_pair` contains the place of each pair of columns, -1 for a pair that does not count. Returns the
    number of products, which is less than the available room.
    """
    split, layout = SplitRows(*rows), UserColumns(*layout_fields)
    n = place_of_pair.shape[0]  # the last one is the constant
    places, values = np.empty(n, np.int64), np.empty(n)
    at = 0
    for row in range(starts.size - 1):
        starts[row] = at
        found = _collect(split, layout, first + row, places, values)
        places[found], values[found] = n - 1, 1.0
        for i in range(found + 1):
            for j in range(i + 1):
                place = place_of_pair[places[i], places[j]]
                if place >= 0:
                    indices[at], products[at] = place, values[i] * values[j]
                    at += 1
    starts[starts.size - 1] = at
    return at
