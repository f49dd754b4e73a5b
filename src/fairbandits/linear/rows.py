"""Contexts as the kernels read them: checked, and without the zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.linear import split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Gathering costs about twice a straight read, so rows that are half full are read straight.
_FULL_FROM = 0.5


@dataclass(slots=True, eq=False)
class Row:
    """One context: its non-zero columns and their values, the user's part first, then the arm's own."""

    columns: Ints
    values: Floats
    n_user: int
    width: int

    def dense(self) -> Floats:
        """Give the context as a plain vector."""
        x = np.zeros(self.width)
        x[self.columns] = self.values
        return x


@dataclass(slots=True, eq=False)
class _Rows:
    """The contexts of a round, user after user, one row per arm.

    Rows live for one call and may share memory with what the caller gave; what is to be kept is copied out
    with `row`.
    """

    n_users: int
    n_arms: int
    width: int

    def row(self, user: int, arm: int) -> Row:
        """Copy one row out."""
        raise NotImplementedError

    def times(self, vectors: Floats) -> Floats:
        """Multiply each user's rows with that user's vector, a column of `vectors`; one line per user."""
        return np.array(
            [
                [self.row(user, arm).dense() @ vector for arm in range(self.n_arms)]
                for user, vector in enumerate(vectors.T)
            ]
        )


@dataclass(slots=True, eq=False)
class SparseRows(_Rows):
    """Rows without their zeros, split into what all arms of a user have in common and what each has of its own.

    `parts` is six arrays: starts, columns and values of the common parts, then of the rows' own.
    """

    parts: split.Parts

    def row(self, user: int, arm: int) -> Row:
        """Copy one row out."""
        columns, values, n_user = split.take_row(*self.parts, user, user * self.n_arms + arm)
        columns.flags.writeable = values.flags.writeable = False
        return Row(columns, values, n_user, self.width)

    def without(self, dropped: NDArray[np.bool_]) -> SparseRows:
        """Set the dropped columns to zero, which to a ridge regression is the same as having none."""
        user_starts, user_columns, user_values, starts, columns, values = self.parts
        user_values = np.where(dropped[user_columns], 0.0, user_values)
        values = np.where(dropped[columns], 0.0, values)
        parts = (user_starts, user_columns, user_values, starts, columns, values)
        return SparseRows(self.n_users, self.n_arms, self.width, parts)


@dataclass(slots=True, eq=False)
class FullRows(_Rows):
    """Rows with too few zeros to be worth skipping: the matrix itself."""

    matrix: Floats

    def row(self, user: int, arm: int) -> Row:
        """Copy one row out."""
        columns, values = np.arange(self.width), self.matrix[user * self.n_arms + arm].copy()
        columns.flags.writeable = values.flags.writeable = False
        return Row(columns, values, self.width, self.width)

    def without(self, dropped: NDArray[np.bool_]) -> FullRows:
        """Set the dropped columns to zero, which to a ridge regression is the same as having none."""
        return FullRows(self.n_users, self.n_arms, self.width, np.where(dropped, 0.0, self.matrix))


Rows = SparseRows | FullRows


def as_rows(contexts: Any, width: int | None = None, n_users: int = 1) -> Rows:
    """Check contexts, take the zeros out, and find what all arms of a user have in common.

    Parameters
    ----------
    contexts : array-like or scipy sparse, shape (n_users * n_arms, n_features)
        Finite numbers; the rows of the first user, then those of the second, and so on.
    width : int, optional
        The number of features that is expected.
    n_users : int
        How many users the rows are for.

    Examples
    --------
    >>> rows = as_rows([[0.0, 2.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0, 0.0]])
    >>> rows.n_arms, rows.width
    (2, 5)
    >>> row = rows.row(0, 1)
    >>> row.columns.tolist(), row.values.tolist(), row.n_user
    ([1, 0], [2.0, 1.0], 1)
    >>> as_rows([[float("nan")]])
    Traceback (most recent call last):
        ...
    ValueError: contexts hold 1 entry that is NaN, infinite or beyond 1e+50; clean or impute them first
    """
    if sparse.issparse(contexts):
        return _from_sparse(contexts, width, n_users)
    dense = _as_floats(contexts)
    if dense.ndim != 2:
        raise ValueError(
            f"contexts must be a matrix with one row per arm; got {dense.ndim} dimension(s). "
            "A single arm is a matrix of one row"
        )
    n, d = dense.shape
    _check_shape(n, d, width)
    parts, is_worth_it, is_usable = split.split_dense(dense, n_users, _FULL_FROM * d)
    if not is_usable:
        _refuse(split.count_unusable(dense))
    if not is_worth_it:
        return FullRows(n_users, n // n_users, d, dense)
    return SparseRows(n_users, n // n_users, d, parts)


def stack_rows(many: Any, width: int | None = None) -> Rows:
    """Check the contexts of many users at once: a 3-D array, or a sequence of matrices of equal shape."""
    is_cube = isinstance(many, np.ndarray) and many.ndim == 3
    if not is_cube and (isinstance(many, np.ndarray) or not isinstance(many, Sequence)):
        raise ValueError(
            "contexts of many users must be an array of shape (n_users, n_arms, n_features) or a sequence "
            f"of matrices, one per user; got {type(many).__name__}"
        )
    if len(many) == 0:
        raise ValueError("contexts of many users must hold at least one user; got none")
    if is_cube:
        n_users, n_arms, d = many.shape
        return as_rows(many.reshape(n_users * n_arms, d), width, n_users)
    many = [one if sparse.issparse(one) else _as_floats(one) for one in many]
    shapes = {one.shape for one in many}
    if len(shapes) > 1:
        raise ValueError(
            f"all users must have contexts of one shape here; got {sorted(shapes)}. "
            "Call choose once per user where the arms on offer differ"
        )
    if any(sparse.issparse(one) for one in many):
        return as_rows(sparse.vstack(many, format="csr"), width, len(many))
    return as_rows(np.concatenate(many), width, len(many))


def _as_floats(contexts: Any) -> Floats:
    if type(contexts) is np.ndarray and contexts.dtype == np.float64 and contexts.flags.c_contiguous:
        return contexts  # the common case, at every round
    try:
        array = np.asarray(contexts)
        # Objects may hold numbers, as data frames of mixed types do; text and complex numbers are no features.
        if array.dtype.kind not in "biufO":
            raise ValueError(f"its entries are of type {array.dtype}")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"contexts must be a matrix of numbers, dense or scipy sparse; got {type(contexts).__name__} "
            f"that does not convert ({error})"
        ) from None


def _from_sparse(contexts: Any, width: int | None, n_users: int) -> Rows:
    if contexts.ndim != 2:
        raise ValueError(f"contexts must be a matrix with one row per arm; got {contexts.ndim} dimension(s)")
    n, d = contexts.shape
    _check_shape(n, d, width)
    if contexts.dtype.kind not in "biuf":
        raise ValueError(f"contexts must be a matrix of numbers; got a sparse one of type {contexts.dtype}")
    csr = contexts if contexts.format == "csr" else contexts.tocsr()
    starts, columns, values = _arrays(csr)
    if starts[0] != 0 or starts[-1] > min(columns.size, values.size) or (np.diff(starts) < 0).any():
        raise ValueError("sparse contexts have row starts (indptr) that make no sense; rebuild the matrix")
    outside, unusable, is_sorted = split.check_sparse(starts, columns, values, d)
    if outside:
        raise ValueError(f"sparse contexts hold {outside} column number(s) outside 0..{d - 1}; rebuild the matrix")
    _refuse(unusable)
    if not is_sorted:
        csr = csr.copy()
        csr.sum_duplicates()
        starts, columns, values = _arrays(csr)
    if values.size > _FULL_FROM * n * d:
        return FullRows(n_users, n // n_users, d, np.ascontiguousarray(csr.toarray(), dtype=np.float64))
    parts = split.split_sparse(starts, columns, values, d, n_users)
    return SparseRows(n_users, n // n_users, d, parts)


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


def _refuse(unusable: int) -> None:
    if unusable:
        entries = "entry that is" if unusable == 1 else "entries that are"
        raise ValueError(
            f"contexts hold {unusable} {entries} NaN, infinite or beyond {split.LARGEST:g}; "
            "clean or impute them first"
        )
