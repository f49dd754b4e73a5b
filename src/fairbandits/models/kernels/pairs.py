"""The common parts of users, laid out so that what arms share is worked out once."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.models.kernels.triangles import Floats, Ints, at

Places = NDArray[np.uint64]
# Segments of entries, `starts, columns, values`: for each user what all common parts begin with, and column d (see
# `lanes`); then the rest of each of these parts. And their pairs, `starts, places in the matrix, weights`: those
# of what all begin with; those of a rest with itself, and with what all begin with.
Laid = tuple[Places, Places, Floats, Places, Places, Floats]


@njit(cache=True, nogil=True)
def lay_out(users: Ints, starts: Ints, columns: Ints, values: Floats, first: int, end: int, d: int) -> Laid:
    """Lay out the common parts of the users from `first` to below `end`."""
    n_segments = users[end - 1, 0] + users[end - 1, 1] - users[first, 0] + end - first
    entry_starts, pair_starts = np.zeros(n_segments + 1, np.uint64), np.zeros(n_segments + 1, np.uint64)
    alike = np.empty(end - first, np.int64)
    segment = 0
    for user in range(first, end):
        part, behind = users[user, 0], users[user, 0] + users[user, 1]
        alike[user - first] = n = _count_alike(starts, columns, values, part, behind)
        entry_starts[segment + 1] = entry_starts[segment] + np.uint64(n + 1)
        pair_starts[segment + 1] = pair_starts[segment] + np.uint64((n + 1) * (n + 2) // 2)
        segment += 1
        for p in range(part, behind):
            rest = starts[p + 1] - starts[p] - n
            entry_starts[segment + 1] = entry_starts[segment] + np.uint64(rest)
            pair_starts[segment + 1] = pair_starts[segment] + np.uint64(rest * (n + 1) + rest * (rest + 1) // 2)
            segment += 1
    places, weights = np.empty(entry_starts[segment], np.uint64), np.empty(entry_starts[segment])
    pairs, pair_weights = np.empty(pair_starts[segment], np.uint64), np.empty(pair_starts[segment])
    k = pair = 0
    for user in range(first, end):
        core, part, n = k, users[user, 0], alike[user - first]
        k = _copy(columns, values, starts[part], starts[part] + n, places, weights, k)
        places[k], weights[k] = d, 1.0
        k += 1
        pair = _pair_up(places, weights, core, core, core, k, pairs, pair_weights, pair)
        for p in range(part, part + users[user, 1]):
            begin = k
            k = _copy(columns, values, starts[p] + n, starts[p + 1], places, weights, k)
            pair = _pair_up(places, weights, core, core + n + 1, begin, k, pairs, pair_weights, pair)
    return entry_starts, places, weights, pair_starts, pairs, pair_weights


@njit(cache=True, nogil=True)
def _count_alike(starts: Ints, columns: Ints, values: Floats, first: int, end: int) -> int:
    """Count the entries with which all of some common parts begin."""
    n: int = starts[first + 1] - starts[first]
    for part in range(first + 1, end):
        i = 0
        while i < min(n, starts[part + 1] - starts[part]):
            ours, theirs = starts[first] + i, starts[part] + i
            if columns[ours] != columns[theirs] or values[ours] != values[theirs]:
                break
            i += 1
        n = i
    return n


@njit(cache=True, nogil=True, inline="always")
def _copy(columns: Ints, values: Floats, lo: int, hi: int, places: Places, weights: Floats, k: int) -> int:
    """Copy some entries to k and behind; give where the next goes."""
    for i in range(lo, hi):
        places[k], weights[k] = columns[i], values[i]
        k += 1
    return k


@njit(cache=True, nogil=True, inline="always")
def _pair_up(
    places: Places,
    weights: Floats,
    core: int,
    core_end: int,
    begin: int,
    end: int,
    pairs: Places,
    pair_weights: Floats,
    pair: int,
) -> int:
    """Pair the entries from `begin` to below `end` with each other and with those of the core.

    Gives where the next pair goes.
    """
    for i in range(begin, end):
        for j in range(core, core_end):
            pairs[pair], pair_weights[pair] = at(places[i], places[j]), 2.0 * weights[i] * weights[j]
            pair += 1
        for j in range(begin, i):
            pairs[pair], pair_weights[pair] = at(places[i], places[j]), 2.0 * weights[i] * weights[j]
            pair += 1
        pairs[pair], pair_weights[pair] = at(places[i], places[i]), weights[i] * weights[i]
        pair += 1
    return pair
