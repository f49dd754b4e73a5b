"""Contexts as the kernels read them: checked, and without the zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.linear import kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Gathering costs about twice a straight read, so half-full rows are read straight.
_FULL_FROM = 0.5
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One context: its non-zero columns, their values, and how wide it is."""

    columns: Ints
    values: Floats
    width: int

    def dense(self) -> Floats:
        """Give the context as a plain vector."""
        x = np.zeros(self.width)
        x[self.columns] = self.values
        return x


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One context per arm (per user and arm in a batch).

    Sparse: row i has `values[starts[i]:starts[i+1]]` at `columns[...]`. Full: `values` is the matrix and
    the other two are empty. Rows live for one call and may share memory with what the caller gave; what is
    to be kept is copied out with `row`.
    """

    starts: Ints
    columns: Ints
    values: Floats
    n: int
    width: int

    @property
    def full(self) -> bool:
        """Whether the rows are kept with their zeros."""
        return self.values.ndim == 2

    def row(self, i: int) -> Row:
        """Copy row i out, so that it can be kept without keeping the others."""
        if self.full:
            return Row(np.arange(self.width), self.values[i].copy(), self.width)
        lo, hi = self.starts[i], self.starts[i + 1]
        return Row(self.columns[lo:hi].copy(), self.values[lo:hi].copy(), self.width)

    def times(self, vectors: Floats) -> Floats:
        """Multiply each user's rows with that user's vector, a column of `vectors`; one line per user."""
        matrix: Any = self.values
        if not self.full:
            matrix = sparse.csr_array((self.values, self.columns, self.starts), shape=(self.n, self.width))
        n_arms = self.n // vectors.shape[1]
        users = [matrix[i : i + n_arms] for i in range(0, self.n, n_arms)]
        return np.array([rows @ vector for rows, vector in zip(users, vectors.T, strict=True)])

    def without(self, dropped: NDArray[np.bool_]) -> Rows:
        """Set the dropped columns to zero, which to a ridge regression is the same as having none."""
        if self.full:
            return Rows(_NONE, _NONE, np.where(dropped, 0.0, self.values), self.n, self.width)
        values = np.where(dropped[self.columns], 0.0, self.values)
        return Rows(self.starts, self.columns, values, self.n, self.width)


def as_rows(contexts: Any, width: int | None = None) -> Rows:
    """Check contexts and take the zeros out.

    Parameters
    ----------
    contexts : array-like or scipy sparse, shape (n_rows, n_features)
        Finite numbers.
    width : int, optional
        The number of features that is expected.

    Examples
    --------
    >>> rows = as_rows([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    >>> rows.n, rows.width, rows.columns.tolist()
    (2, 3, [1, 0])
    >>> as_rows([[float("nan")]])
    Traceback (most recent call last):
        ...
    ValueError: contexts hold 1 entry that is NaN, infinite or beyond 1e+100; clean or impute them first
    """
    if sparse.issparse(contexts):
        return _from_sparse(contexts, width)
    dense = _as_floats(contexts)
    if dense.ndim != 2:
        raise ValueError(
            f"contexts must be a matrix with one row per arm; got {dense.ndim} dimension(s). "
            "A single arm is a matrix of one row"
        )
    n, d = dense.shape
    _check_shape(n, d, width)
    nonzero, unusable = kernels.count_nonzeros(dense)
    if unusable:
        raise _unusable(unusable)
    if nonzero > _FULL_FROM * dense.size:
        return Rows(_NONE, _NONE, dense, n, d)
    starts, columns, values = kernels.compress(dense, nonzero)
    return Rows(starts, columns, values, n, d)


def stack_rows(many: Any, width: int | None = None) -> tuple[Rows, int]:
    """Check the contexts of many users at once: a 3-D array, or a sequence of matrices of equal shape.

    Returns the rows, user after user, and the number of users.
    """
    if isinstance(many, np.ndarray) and many.ndim == 3:
        n_users, n_arms, d = many.shape
        return as_rows(many.reshape(n_users * n_arms, d), width), n_users
    if isinstance(many, np.ndarray) or sparse.issparse(many) or not isinstance(many, Sequence):
        raise ValueError(
            "contexts of many users must be an array of shape (n_users, n_arms, n_features) or a sequence "
            f"of matrices, one per user; got {type(many).__name__}"
        )
    if not many:
        raise ValueError("contexts of many users must hold at least one user; got none")
    shapes = {np.shape(one) for one in many}
    if len(shapes) > 1:
        raise ValueError(
            f"all users must have contexts of one shape here; got {sorted(shapes)}. "
            "Call choose once per user where the arms on offer differ"
        )
    if any(sparse.issparse(one) for one in many):
        return as_rows(sparse.vstack(many, format="csr"), width), len(many)
    return as_rows(np.concatenate([_as_floats(one) for one in many]), width), len(many)


def _as_floats(contexts: Any) -> Floats:
    try:
        return np.ascontiguousarray(contexts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"contexts must be a matrix of numbers, dense or scipy sparse; got {type(contexts).__name__} "
            f"that does not convert ({error})"
        ) from None


def _from_sparse(contexts: Any, width: int | None) -> Rows:
    if contexts.ndim != 2:
        raise ValueError(f"contexts must be a matrix with one row per arm; got {contexts.ndim} dimension(s)")
    n, d = contexts.shape
    _check_shape(n, d, width)
    csr = contexts if contexts.format == "csr" else contexts.tocsr()
    starts, columns, values = _arrays(csr)
    outside, unusable, is_sorted = kernels.check_compressed(starts, columns, values, d)
    if outside:
        raise ValueError(f"sparse contexts hold {outside} column number(s) outside 0..{d - 1}; rebuild the matrix")
    if unusable:
        raise _unusable(unusable)
    if not is_sorted:
        csr = csr.copy()
        csr.sum_duplicates()
        starts, columns, values = _arrays(csr)
    if values.size > _FULL_FROM * n * d:
        return Rows(_NONE, _NONE, np.ascontiguousarray(csr.toarray(), dtype=np.float64), n, d)
    return Rows(starts, columns, values, n, d)


def _arrays(csr: Any) -> tuple[Ints, Ints, Floats]:
    return (
        np.asarray(csr.indptr, np.int64),
        np.asarray(csr.indices, np.int64),
        np.asarray(csr.data, np.float64),
    )


def _check_shape(n: int, d: int, width: int | None) -> None:
    if n == 0:
        raise ValueError("contexts have no rows: offer at least one arm")
    if d == 0:
        raise ValueError(
            "contexts have no columns: give at least one feature, a constant 1 if there is nothing else"
        )
    if width is not None and d != width:
        raise ValueError(
            f"contexts are {d} wide, but this policy has seen contexts {width} wide; "
            "encode them alike, or start a new policy"
        )


def _unusable(count: int) -> ValueError:
    entries = "entry that is" if count == 1 else "entries that are"
    return ValueError(
        f"contexts hold {count} {entries} NaN, infinite or beyond {kernels.LARGEST:g}; clean or impute them first"
    )
