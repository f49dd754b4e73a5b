"""The shared parts of users and the products of their entries, laid out once for all arms."""

from __future__ import annotations

import numpy as np

from fairbandits.jit import helper
from fairbandits.models.kernels.layouts import FIRST_SHARED, N_SHARED, PairLayout, SplitRows
from fairbandits.models.kernels.triangles import entry_of


@helper()
def pair_layout(rows: SplitRows, first: int, end: int, d: int) -> PairLayout:
    """Lay out the shared parts of the users from `first` to below `end`; d is the width of a row."""
    part = rows.users[first, FIRST_SHARED]
    n_segments = rows.users[end - 1, FIRST_SHARED] + rows.users[end - 1, N_SHARED] - part + end - first
    starts, pair_starts = np.zeros(n_segments + 1, np.uint64), np.zeros(n_segments + 1, np.uint64)
    # For each segment, its first entry among all shared parts, and the prefix that it is paired with.
    source, prefix_of = np.empty(n_segments, np.int64), np.empty(n_segments, np.int64)
    segment = 0
    for user in range(first, end):
        n_shared = rows.users[user, N_SHARED]
        prefix, length = segment, shared_prefix(rows, part, part + n_shared)
        source[segment], prefix_of[segment] = rows.shared_starts[part], prefix
        starts[segment + 1] = starts[segment] + np.uint64(length + 1)
        pair_starts[segment + 1] = pair_starts[segment] + np.uint64((length + 1) * (length + 2) // 2)
        segment += 1
        for p in range(part, part + n_shared):
            source[segment], prefix_of[segment] = rows.shared_starts[p] + length, prefix
            rest = rows.shared_starts[p + 1] - source[segment]
            starts[segment + 1] = starts[segment] + np.uint64(rest)
            n_pairs = rest * (length + 1) + rest * (rest + 1) // 2
            pair_starts[segment + 1] = pair_starts[segment] + np.uint64(n_pairs)
            segment += 1
        part += n_shared
    columns, values = np.empty(starts[n_segments], np.uint64), np.empty(starts[n_segments])
    pair_entries, pair_values = np.empty(pair_starts[n_segments], np.uint64), np.empty(pair_starts[n_segments])
    pair = 0
    for segment in range(n_segments):
        begin, stop, prefix = starts[segment], starts[segment + 1], prefix_of[segment]
        for k in range(begin, stop):
            at = source[segment] + np.int64(k - begin)
            if prefix == segment and k + np.uint64(1) == stop:
                columns[k], values[k] = d, 1.0
            else:
                columns[k], values[k] = rows.shared_columns[at], rows.shared_values[at]
            for j in range(starts[prefix], starts[prefix + 1] if prefix < segment else starts[prefix]):
                pair_entries[pair] = entry_of(columns[k], columns[j])
                pair_values[pair] = 2.0 * values[k] * values[j]
                pair += 1
            for j in range(begin, k + np.uint64(1)):
                pair_entries[pair] = entry_of(columns[k], columns[j])
                pair_values[pair] = (1.0 if j == k else 2.0) * values[k] * values[j]
                pair += 1
    return PairLayout(starts, columns, values, pair_starts, pair_entries, pair_values)


@helper()
def shared_prefix(rows: SplitRows, first: int, end: int) -> int:
    """Count the leading entries that all shared parts from `first` to below `end` have in common."""
    starts = rows.shared_starts
    length: int = starts[first + 1] - starts[first]
    for part in range(first + 1, end):
        i = 0
        while i < length and i < starts[part + 1] - starts[part]:
            ours, theirs = starts[first] + i, starts[part] + i
            same_column = rows.shared_columns[ours] == rows.shared_columns[theirs]
            if not same_column or rows.shared_values[ours] != rows.shared_values[theirs]:
                break
            i += 1
        length = i
    return length
