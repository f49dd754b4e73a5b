"""Validation of the arrays that estimators take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def as_vector(name: str, values: ArrayLike) -> Floats:
    """Return finite numbers, one per row.

    Examples
    --------
    >>> as_vector("reward", [1.0, float("nan")])
    Traceback (most recent call last):
        ...
    ValueError: reward must be finite; leave out rows with missing values
    """
    return _as_array(name, values, 1, "one number per row")


def as_matrix(name: str, values: ArrayLike) -> Floats:
    """Return finite numbers, with one row per decision and one column per arm."""
    return _as_array(name, values, 2, "one row per decision and one column per arm")


def as_probabilities(name: str, values: ArrayLike, ndim: int = 1) -> Floats:
    """Return a vector or a matrix of numbers between 0 and 1."""
    pi = as_matrix(name, values) if ndim == 2 else as_vector(name, values)
    # Sums of probabilities may be off because of rounding.
    is_wrong = (pi < -1e-9) | (pi > 1.0 + 1e-9)
    if is_wrong.any():
        raise ValueError(f"{name} must be between 0 and 1, got {first_where(pi, is_wrong)}")
    return pi


def as_columns(arm: ArrayLike, n_arms: int) -> Ints:
    """Return the columns of the chosen arms."""
    columns = np.asarray(arm)
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or not ((columns >= 0) & (columns < n_arms)).all():
        raise ValueError(f"arm must be the column of the chosen arm, an integer from 0 to {n_arms - 1}")
    return columns.astype(np.int64, copy=False)


def as_integers(name: str, values: ArrayLike) -> Ints:
    """Return integers, one per row."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be integers, one per row")
    return array.astype(np.int64, copy=False)


def check_lengths(**arrays: NDArray[Any]) -> None:
    """Raise an error if arrays have different lengths."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise ValueError(f"arrays must have one entry per row, got {got}")


def first_where(values: Floats, is_wrong: NDArray[np.bool_]) -> float:
    """Return the first value that is wrong."""
    return float(values[is_wrong][0])


def _as_array(name: str, values: ArrayLike, ndim: int, shape: str) -> Floats:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, {shape}") from None
    if array.ndim != ndim:
        raise ValueError(f"{name} must be numbers, {shape}, got {array.ndim} dimension(s)")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; leave out rows with missing values")
    return array
