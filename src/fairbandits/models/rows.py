"""Contexts as the kernels read them: checked, and without the zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.models.kernels import split_rows
from fairbandits.models.kernels.triangles import is_inside

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Gathering costs about twice a straight read, so rows that are half full are read straight.
_FULL_FROM = 0.5


@dataclass(slots=True, eq=False)
class Row:
    """One context, as it stands among the `parts` of its round."""

    parts: split_rows.Parts
    user: int
    arm: int
    width: int

    def entries(self) -> tuple[Ints, Floats, int]:
        """Copy out the non-zero columns and their values; and say how many of the first arms have in common."""
        return split_rows.take_row(self.parts, self.user, self.arm)

    def alone(self) -> Row:
        """Copy it, so that it can be kept without the others of its round."""
        return Row.of(*self.entries(), self.width)

    def dense(self) -> Floats:
        """Give the context as a plain vector."""
        columns, values, _ = self.entries()
        x = np.zeros(self.width)
        x[columns] = values
        return x

    @classmethod
    def of(cls, columns: Ints, values: Floats, n_common: int, width: int) -> Row:
        """Make the row that has these entries."""
        if len(columns) != len(values) or not 0 <= n_common <= len(columns):
            raise ValueError(f"{len(columns)} columns, {len(values)} values, {n_common} in common")
        if len(np.unique(columns)) < len(columns):
            raise ValueError("a column stands more than once")
        return cls(split_rows.one_row(columns, values, n_common), 0, 0, width)


@dataclass(slots=True, eq=False)
class _Rows:
    """The contexts of a round, user after user, one row per arm.

    They may share memory with what the caller gave; what `row` gives does not.
    """

    n_users: int
    n_arms: int
    width: int

    def row(self, user: int, arm: int) -> Row:
        """Give one row."""
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
    """Rows without their zeros, split into what arms of a user have in common and what each has of its own."""

    parts: split_rows.Parts

    def row(self, user: int, arm: int) -> Row:
        """Give one row, which keeps those of its round alive."""
        return Row(self.parts, user, arm, self.width)

    def picked(self, arms: Ints) -> tuple[SparseRows, Ints]:
        """Give what holds the rows of the arms picked, and where: these, which are nobody else's."""
        return self, arms

    def toarray(self) -> Floats:
        """Write the rows as a plain matrix."""
        dense = np.zeros((self.n_users * self.n_arms, self.width))
        split_rows.write_dense(self.parts, dense)
        return dense

    def without(self, dropped: NDArray[np.bool_]) -> SparseRows:
        """Set the dropped columns to zero, which to a ridge regression is the same as having none."""
        common_starts, common_columns, common_values, users, which, bounds, columns, values = self.parts
        common_values = np.where(dropped[common_columns], 0.0, common_values)
        values = np.where(dropped[columns], 0.0, values)
        bounds = bounds * np.array([1, 1, 0])  # own parts are no longer what their names stand for
        parts = (common_starts, common_columns, common_values, users, which, bounds, columns, values)
        return SparseRows(self.n_users, self.n_arms, self.width, parts)


@dataclass(slots=True, eq=False)
class DenseRows(_Rows):
    """Rows with too few zeros to be worth skipping: the matrix itself."""

    matrix: Floats

    @property
    def parts(self) -> split_rows.Parts:
        """The rows as if their zeros had been left out, with nothing in common."""
        return split_rows.dense_parts(self.matrix, self.n_users)

    def toarray(self) -> Floats:
        """Give the rows as a plain matrix, which may be the caller's."""
        return self.matrix

    def picked(self, arms: Ints) -> tuple[DenseRows, Ints]:
        """Copy out the rows of the arms picked, one for each user: the matrix is the caller's."""
        chosen = self.matrix[np.arange(self.n_users) * self.n_arms + arms]
        return DenseRows(self.n_users, 1, self.width, chosen), np.zeros_like(arms)

    def row(self, user: int, arm: int) -> Row:
        """Copy one row out: the matrix is the caller's."""
        return Row.of(np.arange(self.width), self.matrix[user * self.n_arms + arm].copy(), self.width, self.width)

    def without(self, dropped: NDArray[np.bool_]) -> DenseRows:
        """Set the dropped columns to zero, which to a ridge regression is the same as having none."""
        return DenseRows(self.n_users, self.n_arms, self.width, np.where(dropped, 0.0, self.matrix))


Rows = SparseRows | DenseRows


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
    >>> columns, values, n_common = rows.row(0, 1).entries()
    >>> columns.tolist(), values.tolist(), n_common
    ([1, 0], [2.0, 1.0], 1)
    >>> as_rows([[float("nan")]])
    Traceback (most recent call last):
        ...
    ValueError: contexts hold 1 entry that is NaN, infinite or beyond 1e+50; clean or impute them first
    """
    if sparse.issparse(contexts):
        return _from_sparse(contexts, width, n_users)
    dense = as_floats(contexts)
    if dense.ndim != 2:
        raise ValueError(
            f"contexts must be a matrix with one row per arm; got {dense.ndim} dimension(s). "
            "A single arm is a matrix of one row"
        )
    n, d = dense.shape
    _check_shape(n, d, width)
    parts, is_worth_it, is_usable = split_rows.split_dense(dense, n_users, _FULL_FROM * d)
    if not is_usable:
        refuse_unusable(split_rows.count_unusable(dense))
    if not is_worth_it:
        return DenseRows(n_users, n // n_users, d, dense)
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
    many = [one if sparse.issparse(one) else as_floats(one) for one in many]
    shapes = {one.shape for one in many}
    if len(shapes) > 1:
        raise ValueError(
            f"all users must have contexts of one shape here; got {sorted(shapes)}. "
            "Call choose once per user where the arms on offer differ"
        )
    if any(sparse.issparse(one) for one in many):
        return as_rows(sparse.vstack(many, format="csr"), width, len(many))
    return as_rows(np.concatenate(many), width, len(many))


def checked_entries(row: Row, width: int) -> tuple[Ints, Floats, int]:
    """Give the entries of a row that may come from outside, such as from a file: kernels trust its columns."""
    if row.width != width:
        raise ValueError(f"the row is {row.width} wide; expected {width}")
    columns, values, n_common = row.entries()
    if not is_inside(columns, width):
        refuse_outside(width)
    return columns, values, n_common


def refuse_outside(width: int) -> NoReturn:
    """Refuse a row with columns that are not there."""
    raise ValueError(f"the row points outside of the {width} columns")


def as_floats(contexts: Any, what: str = "contexts must be a matrix of numbers, dense or scipy sparse") -> Floats:
    """Turn what came into numbers."""
    if type(contexts) is np.ndarray and contexts.dtype == np.float64 and contexts.flags.c_contiguous:
        return contexts  # the common case, at every round
    try:
        array = np.asarray(contexts)
        # Objects may hold numbers, as data frames of mixed types do; text and complex numbers are no features.
        if array.dtype.kind not in "biufO":
            raise ValueError(f"its entries are of type {array.dtype}")
        if array.dtype.kind == "O" and any(isinstance(entry, str) for entry in array.flat):
            raise ValueError("some of its entries are text")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}; got {type(contexts).__name__} that does not convert ({error})") from None


def _from_sparse(contexts: Any, width: int | None, n_users: int) -> Rows:
    if contexts.ndim != 2:
        raise ValueError(f"contexts must be a matrix with one row per arm; got {contexts.ndim} dimension(s)")
    n, d = contexts.shape
    _check_shape(n, d, width)
    csr = checked_csr(contexts, "contexts")
    starts, columns, values = _arrays(csr)
    if values.size > _FULL_FROM * n * d:
        return DenseRows(n_users, n // n_users, d, np.ascontiguousarray(csr.toarray(), dtype=np.float64))
    if n == n_users:
        parts = split_rows.one_arm_each(starts, columns, values)
    else:
        parts = split_rows.split_sparse(starts, columns, values, d, n_users)
    return SparseRows(n_users, n // n_users, d, parts)


def checked_csr(matrix: Any, what: str) -> Any:
    """Check a sparse matrix, whose indices the kernels will trust; give it as CSR, every row sorted by column."""
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be a matrix of numbers; got a sparse one of type {matrix.dtype}")
    csr = matrix if matrix.format == "csr" else matrix.tocsr()
    starts, columns, values = _arrays(csr)
    if starts[0] != 0 or starts[-1] > min(columns.size, values.size) or (np.diff(starts) < 0).any():
        raise ValueError(f"sparse {what} have row starts (indptr) that make no sense; rebuild the matrix")
    d = matrix.shape[1]
    outside, unusable, is_sorted = split_rows.check_sparse(starts, columns, values, d)
    if outside:
        raise ValueError(f"sparse {what} hold {outside} column number(s) outside 0..{d - 1}; rebuild the matrix")
    refuse_unusable(unusable, what)
    if not is_sorted:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


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
    check_width(d, width)


def check_width(d: int, width: int | None) -> None:
    """Refuse contexts of another width than the one expected."""
    if width is not None and d != width:
        raise ValueError(
            f"contexts are {d} wide, but this policy has seen contexts {width} wide; "
            "encode them alike, or start a new policy"
        )


def refuse_unusable(unusable: int, what: str = "contexts") -> None:
    """Refuse entries that are no usable numbers, where there are any."""
    if unusable:
        entries = "entry that is" if unusable == 1 else "entries that are"
        raise ValueError(
            f"{what} hold {unusable} {entries} NaN, infinite or beyond {split_rows.LARGEST:g}; "
            "clean or impute them first"
        )
