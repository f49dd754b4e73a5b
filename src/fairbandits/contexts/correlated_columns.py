"""Columns that are correlated with a sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def correlated_columns(
    users: Any, group: Sequence[Any], threshold: float = 0.3, columns: Sequence[str] | None = None
) -> tuple[int | str, ...]:
    """Return the columns whose correlation with a sensitive attribute exceeds a threshold.

    Parameters
    ----------
    users : array-like of shape (n_users, n_features)
        One row per user.
    group : sequence of length n_users
        The group of each user. With more than two groups, a column counts if it is correlated with any of them.
    threshold : float
        The largest absolute correlation that is allowed, from 0 to 1.
    columns : sequence of str, optional
        The names of the columns.

    Returns
    -------
    tuple
        The names of the columns, or their numbers if they have none, in the form that the parameter `drop` of
        `NaiveLinUCB` takes.

    Examples
    --------
    >>> users = [[1, 0.2], [1, 0.9], [0, 0.8], [0, 0.3]]
    >>> correlated_columns(users, ["f", "f", "m", "m"], columns=["is female", "age"])
    ('is female',)
    """
    X = np.asarray(users.toarray() if hasattr(users, "toarray") else users, dtype=np.float64)
    if X.ndim != 2 or len(X) != len(group):
        raise ValueError(
            f"users must be a matrix with one row for each of {len(group)} groups, got shape {X.shape}"
        )
    if not np.isfinite(X).all():
        raise ValueError("users must be finite, got NaN or infinite entries; clean or impute them first")
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold must be a number from 0 to 1, got {threshold!r}")
    if columns is not None and len(columns) != X.shape[1]:
        raise ValueError(f"columns must have one name per column, got {len(columns)} for {X.shape[1]}")
    values = sorted(set(group), key=str)
    if len(values) < 2:
        raise ValueError(f"group must have at least two values, got {values}")
    members = np.array([[user == value for value in values] for user in group], float)
    strongest = np.abs(_correlations(X, members)).max(axis=1)
    names: Sequence[int | str] = range(X.shape[1]) if columns is None else columns
    return tuple(names[int(i)] for i in np.flatnonzero(strongest > threshold))


def _correlations(X: Any, Y: Any) -> Any:
    """Return the correlation of each column of X with each of Y; 0 for a constant column."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    scale = np.outer(np.linalg.norm(X, axis=0), np.linalg.norm(Y, axis=0))
    return np.divide(X.T @ Y, scale, out=np.zeros_like(scale), where=scale > 0.0)
