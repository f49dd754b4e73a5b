"""Contexts that also hold the context of a baseline's arm, so that decisions can be compared with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.models import DenseRows, Row, Rows, SparseRows
from fairbandits.models.kernels.layouts import FIRST_SHARED, N_SHARED
from fairbandits.models.rows import checked_entries

Floats = NDArray[np.float64]


def with_baseline(rows: Rows, place: int | None) -> Rows:
    """Append the context of the arm at a place to those of all arms of its user; without a place, do nothing.

    Examples
    --------
    >>> from fairbandits.models import as_rows
    >>> with_baseline(as_rows([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]), place=1).row(0, 0).dense().tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 2.0]
    """
    if isinstance(rows, SparseRows):
        return _with_sparse_baseline(rows, place)
    own = rows.matrix.reshape(rows.n_users, rows.n_arms, rows.width)
    baseline = np.zeros_like(own) if place is None else np.repeat(own[:, [place]], rows.n_arms, axis=1)
    both = np.concatenate([own, baseline], axis=2).reshape(-1, 2 * rows.width)
    return DenseRows(rows.n_users, rows.n_arms, 2 * rows.width, both)


def _with_sparse_baseline(rows: SparseRows, place: int | None) -> SparseRows:
    """Append to the parts that the arms of a user share, because they share the baseline."""
    if place is None:
        return SparseRows(rows.n_users, rows.n_arms, 2 * rows.width, rows.parts)
    parts = rows.parts
    columns, values, starts = [], [], [0]
    users = parts.users.copy()
    for user, own in enumerate(users):
        baseline_columns, baseline_values, _ = rows.row(user, place).entries()
        first = int(own[FIRST_SHARED])
        own[FIRST_SHARED] = len(starts) - 1
        for part in range(first, first + int(own[N_SHARED])):
            shared = slice(parts.shared_starts[part], parts.shared_starts[part + 1])
            columns += [parts.shared_columns[shared], rows.width + baseline_columns]
            values += [parts.shared_values[shared], baseline_values]
            starts.append(starts[-1] + columns[-2].size + columns[-1].size)
    changed = parts._replace(
        shared_starts=np.array(starts, np.int64),
        shared_columns=np.concatenate(columns),
        shared_values=np.concatenate(values),
        users=users,
    )
    return SparseRows(rows.n_users, rows.n_arms, 2 * rows.width, changed)


def split_baseline(row: Row) -> tuple[Row, Floats | None]:
    """Undo `with_baseline`: return the contexts of an arm and of the baseline, or None without a baseline."""
    width = row.width // 2
    columns, values, n_shared = checked_entries(row, 2 * width)
    is_own = columns < width
    own = Row.of(columns[is_own], values[is_own], int(is_own[:n_shared].sum()), width)
    if not values[~is_own].any():
        return own, None
    baseline = np.zeros(width)
    baseline[columns[~is_own] - width] = values[~is_own]
    return own, baseline
