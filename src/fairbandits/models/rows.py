"""Contexts in the form that kernels read: validated, and without zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.models.kernels import split_rows
from fairbandits.models.kernels.layouts import FIRST_ARM, FIRST_SHARED, N_SHARED, Fields, Floats, Ints, SplitRows
from fairbandits.models.kernels.triangles import is_inside
from fairbandits.views.short_repr import ShortRepr

# A gather costs about twice as much as a contiguous read, so rows that are at least half full are kept dense.
_FULL_FROM = 0.5


@dataclass(slots=True, eq=False, repr=False)
class Row(ShortRepr):
    """One context, in the layout of its round.

    Attributes
    ----------
    parts : SplitRows
        The contexts of the round.
    user, arm : int
        The indices of the user and the arm.
    width : int
        The number of features.
    """

    parts: SplitRows
    user: int
    arm: int
    width: int

    def entries(self) -> tuple[Ints, Floats, int]:
        """Return copies of the non-zero entries' columns and values, and the number of leading shared entries."""
        return split_rows.copy_row(tuple(self.parts), self.user, self.arm)

    def alone(self) -> Row:
        """Return a copy that does not keep the other rows of its round in memory."""
        return Row.of(*self.entries(), self.width)

    def dense(self) -> Floats:
        """Return the context as a vector."""
        columns, values, _ = self.entries()
        x = np.zeros(self.width)
        x[columns] = values
        return x

    @classmethod
    def of(cls, columns: Ints, values: Floats, n_shared: int, width: int) -> Row:
        """Return the row with these entries."""
        if len(columns) != len(values) or not 0 <= n_shared <= len(columns):
            raise ValueError(
                f"columns, values and n_shared must fit together, got {len(columns)}, {len(values)} and {n_shared}"
            )
        if len(np.unique(columns)) < len(columns):
            raise ValueError("columns of a row must differ")
        return cls(split_rows.single_row(columns, values, n_shared), 0, 0, width)

    @classmethod
    def of_vector(cls, x: Floats) -> Row:
        """Return a row that stores a whole context, zeros included."""
        return cls(split_rows.single_row(np.arange(len(x)), x, len(x)), 0, 0, len(x))


@dataclass(slots=True, eq=False, repr=False)
class _Rows(ShortRepr):
    """The contexts of a round, user by user, one row per arm.

    The contexts may share memory with the caller's arrays; the rows that `row` returns do not.
    """

    n_users: int
    n_arms: int
    width: int

    def row(self, user: int, arm: int) -> Row:
        """Return one row."""
        raise NotImplementedError

    def select(self, users: Ints, arms: Ints) -> _Rows:
        """Return the rows of the given users and arms."""
        raise NotImplementedError

    def times(self, vectors: Floats) -> Floats:
        """Multiply each user's rows by that user's column of `vectors`; the result has shape (n_users, n_arms)."""
        return np.array(
            [
                [self.row(user, arm).dense() @ vector for arm in range(self.n_arms)]
                for user, vector in enumerate(vectors.T)
            ]
        )


@dataclass(slots=True, eq=False, repr=False)
class SparseRows(_Rows):
    """Rows without their zeros, split into a part that a user's arms share and a part specific to each arm."""

    parts: SplitRows

    def row(self, user: int, arm: int) -> Row:
        """Return one row, which keeps the other rows of its round in memory."""
        return Row(self.parts, user, arm, self.width)

    def of_users(self, first: int, end: int) -> Fields:
        """Return the rows of some users, without copying, in the form that the kernels accept."""
        return tuple(self.parts._replace(users=self.parts.users[first:end]))

    def picked(self, arms: Ints) -> tuple[SparseRows, Ints]:
        """Return rows that include each user's picked arms (here, all rows), and the indices of these arms."""
        return self, arms

    def select(self, users: Ints, arms: Ints) -> SparseRows:
        """Return the rows of the given users and arms; a part may then be shared by fewer arms."""
        parts = self.parts
        if len(parts.users) == 1 and len(users) == 1 and not parts.users[0, FIRST_ARM]:  # the common case
            which, bounds = parts.which.take(arms, axis=1), parts.bounds.take(arms, axis=0)
            return SparseRows(1, len(arms), self.width, parts._replace(which=which, bounds=bounds))
        own = parts.users[users]
        first = own[:, FIRST_ARM]
        # The users of a catalogue share the arm-specific parts; without a catalogue, users have their own.
        is_common = bool((first == first[0]).all())
        places = first[0] + arms if is_common else (first[:, None] + arms).ravel()
        own[:, FIRST_ARM] = 0 if is_common else np.arange(len(users)) * len(arms)
        # Kernels assume that the shared parts of a user follow those of the previous user.
        shared, own[:, FIRST_SHARED] = _ranges(own[:, FIRST_SHARED], own[:, N_SHARED])
        starts = parts.shared_starts[shared]
        entries, firsts = _ranges(starts, parts.shared_starts[shared + 1] - starts)
        changed = parts._replace(
            shared_starts=np.append(firsts, len(entries)),
            shared_columns=parts.shared_columns[entries],
            shared_values=parts.shared_values[entries],
            users=own,
            which=parts.which.take(arms, axis=1),
            bounds=parts.bounds[places],
        )
        return SparseRows(len(users), len(arms), self.width, changed)

    def toarray(self) -> Floats:
        """Return the rows as a matrix, ordered by user, then by arm."""
        dense = np.zeros((self.n_users * self.n_arms, self.width))
        split_rows.write_dense(tuple(self.parts), dense)
        return dense

    def without(self, dropped: NDArray[np.bool_]) -> SparseRows:
        """Set the dropped columns to zero, which for a ridge regression is the same as removing them."""
        parts = self.parts
        changed = parts._replace(
            shared_values=np.where(dropped[parts.shared_columns], 0.0, parts.shared_values),
            values=np.where(dropped[parts.columns], 0.0, parts.values),
            # The names of the arm-specific parts no longer apply.
            bounds=parts.bounds * np.array([1, 1, 0]),
        )
        return SparseRows(self.n_users, self.n_arms, self.width, changed)


@dataclass(slots=True, eq=False, repr=False)
class DenseRows(_Rows):
    """Rows stored as a matrix, because they have too few zeros to be worth skipping."""

    matrix: Floats

    @property
    def parts(self) -> SplitRows:
        """The rows as `SplitRows`, with nothing shared."""
        return split_rows.whole_rows(self.matrix, self.n_users)

    def of_users(self, first: int, end: int) -> Floats:
        """Return the rows of some users, without copying, in the form that the kernels accept."""
        return self.matrix[first * self.n_arms : end * self.n_arms]

    def toarray(self) -> Floats:
        """Return the rows as a matrix, which may be the caller's own array."""
        return self.matrix

    def select(self, users: Ints, arms: Ints) -> DenseRows:
        """Return a copy of the rows of the given users and arms."""
        chosen = self.matrix[(users[:, None] * self.n_arms + arms).ravel()]
        return DenseRows(len(users), len(arms), self.width, chosen)

    def picked(self, arms: Ints) -> tuple[DenseRows, Ints]:
        """Copy the rows of each user's picked arm or arms, because the matrix belongs to the caller."""
        own = arms[:, None] if arms.ndim == 1 else arms
        chosen = self.matrix[(np.arange(self.n_users)[:, None] * self.n_arms + own).ravel()]
        places = np.tile(np.arange(own.shape[1]), self.n_users).reshape(arms.shape)
        return DenseRows(self.n_users, own.shape[1], self.width, chosen), places

    def row(self, user: int, arm: int) -> Row:
        """Return a copy of one row, because the matrix belongs to the caller."""
        return Row.of_vector(self.matrix[user * self.n_arms + arm].copy())

    def without(self, dropped: NDArray[np.bool_]) -> DenseRows:
        """Set the dropped columns to zero, which for a ridge regression is the same as removing them."""
        return DenseRows(self.n_users, self.n_arms, self.width, np.where(dropped, 0.0, self.matrix))


Rows = SparseRows | DenseRows


def as_rows(contexts: Any, width: int | None = None, n_users: int = 1) -> Rows:
    """Check contexts, drop their zeros, and split off the part that all arms of a user share.

    Parameters
    ----------
    contexts : array-like or scipy sparse, shape (n_users * n_arms, n_features)
        Finite numbers: the rows of the first user, then those of the second, and so on.
    width : int, optional
        The expected number of features.
    n_users : int
        The number of users.

    Examples
    --------
    >>> rows = as_rows([[0.0, 2.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0, 0.0]])
    >>> rows.n_arms, rows.width
    (2, 5)
    >>> columns, values, n_shared = rows.row(0, 1).entries()
    >>> columns.tolist(), values.tolist(), n_shared
    ([1, 0], [2.0, 1.0], 1)
    >>> as_rows([[float("nan")]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: contexts must be finite and at most 1e+50 in absolute value, got 1 entry that is not; ...
    """
    if sparse.issparse(contexts):
        return _from_sparse(contexts, width, n_users)
    dense = as_floats(contexts)
    if dense.ndim != 2:
        raise ValueError(
            f"contexts must be a matrix with one row per arm, got {dense.ndim} dimension(s); "
            "for a single arm, pass a matrix with one row"
        )
    n, d = dense.shape
    _check_shape(n, d, width)
    outcome, *parts = split_rows.split_dense(dense, n_users, _FULL_FROM * d)
    if outcome != split_rows.SPLIT:
        refuse_unusable(split_rows.count_unusable(dense))
    if outcome == split_rows.WHOLE:
        return DenseRows(n_users, n // n_users, d, dense)
    return SparseRows(n_users, n // n_users, d, split_rows.with_one_shared_part(n_users, n // n_users, *parts))


def stack_rows(many: Any, width: int | None = None) -> Rows:
    """Check the contexts of many users at once: a 3-D array, or a sequence of matrices of equal shape."""
    is_cube = isinstance(many, np.ndarray) and many.ndim == 3
    if not is_cube and (isinstance(many, np.ndarray) or not isinstance(many, Sequence)):
        raise ValueError(
            "contexts of many users must be an array of shape (n_users, n_arms, n_features) or a sequence "
            f"of matrices, one per user, got {type(many).__name__}"
        )
    if len(many) == 0:
        raise ValueError("contexts of many users must have at least one user, got none")
    if is_cube:
        n_users, n_arms, d = many.shape
        return as_rows(many.reshape(n_users * n_arms, d), width, n_users)
    many = [one if sparse.issparse(one) else as_floats(one) for one in many]
    shapes = {one.shape for one in many}
    if len(shapes) > 1:
        raise ValueError(
            f"contexts of all users must have the same shape, got {sorted(shapes)}; "
            "offer all arms to every user, and restrict the arms of each user with eligible"
        )
    if any(sparse.issparse(one) for one in many):
        return as_rows(sparse.vstack(many, format="csr"), width, len(many))
    return as_rows(np.concatenate(many), width, len(many))


def _ranges(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Return the concatenation of several ranges, and the offset of each range."""
    firsts = np.cumsum(lengths) - lengths
    return np.repeat(starts - firsts, lengths) + np.arange(int(lengths.sum())), firsts


def checked_entries(row: Row, width: int) -> tuple[Ints, Floats, int]:
    """Check the entries of a row, which may come from a file, and return them; kernels do not check them."""
    if row.width != width:
        raise ValueError(f"row must be {width} wide, got {row.width}")
    columns, values, n_shared = row.entries()
    if not is_inside(columns, width):
        refuse_outside(columns, width)
    return columns, values, n_shared


def as_single_round(row: Row, width: int) -> SparseRows:
    """Check a row, which may come from a file, and return it as the only arm of one user."""
    return SparseRows(1, 1, width, split_rows.single_row(*checked_entries(row, width)))


def refuse_outside(columns: Ints, width: int) -> NoReturn:
    """Raise ValueError for a row with columns that do not exist."""
    outside = columns[(columns < 0) | (columns >= width)]
    raise ValueError(f"columns of a row must be in 0..{width - 1}, got {outside.tolist()}")


def as_floats(contexts: Any, what: str = "contexts must be a matrix of numbers, dense or scipy sparse") -> Floats:
    """Convert to a contiguous array of float64."""
    if type(contexts) is np.ndarray and contexts.dtype == np.float64 and contexts.flags.c_contiguous:
        return contexts  # the common case, in every round
    try:
        array = np.asarray(contexts)
        # Object arrays, such as those from data frames with mixed types, may hold numbers; text and complex
        # numbers cannot be features.
        if array.dtype.kind not in "biufO":
            raise ValueError(f"its entries are of type {array.dtype}")
        if array.dtype.kind == "O" and any(isinstance(entry, str) for entry in array.flat):
            raise ValueError("some of its entries are text")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}, got {type(contexts).__name__}, which cannot be converted ({error})") from None


def _from_sparse(contexts: Any, width: int | None, n_users: int) -> Rows:
    if contexts.ndim != 2:
        raise ValueError(f"contexts must be a matrix with one row per arm, got {contexts.ndim} dimension(s)")
    n, d = contexts.shape
    _check_shape(n, d, width)
    csr = checked_csr(contexts, "contexts")
    starts, columns, values = _arrays(csr)
    if values.size > _FULL_FROM * n * d:
        return DenseRows(n_users, n // n_users, d, np.ascontiguousarray(csr.toarray(), dtype=np.float64))
    if n == n_users:
        # Copied, because the arrays may belong to the caller.
        copies = starts.copy(), columns.copy(), values.copy()
        return SparseRows(n_users, 1, d, split_rows.rows_of_one_arm(*copies))
    parts = split_rows.split_sparse(starts, columns, values, d, n_users)
    return SparseRows(n_users, n // n_users, d, split_rows.with_one_shared_part(n_users, n // n_users, *parts))


def checked_csr(matrix: Any, what: str) -> Any:
    """Check a sparse matrix, because kernels trust its indices; return it as CSR with sorted rows."""
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be a matrix of numbers, got a sparse one of type {matrix.dtype}")
    csr = matrix if matrix.format == "csr" else matrix.tocsr()
    starts, columns, values = _arrays(csr)
    if starts[0] != 0 or starts[-1] > min(columns.size, values.size) or (np.diff(starts) < 0).any():
        raise ValueError(f"sparse {what} must have valid row starts (indptr); rebuild the matrix")
    d = matrix.shape[1]
    outside, unusable, is_sorted = split_rows.check_sparse(starts, columns, values, d)
    if outside:
        raise ValueError(
            f"sparse {what} must have column indices in 0..{d - 1}, got {outside} outside; rebuild the matrix"
        )
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
        raise ValueError("contexts must have at least one row, got none; offer at least one arm")
    if d == 0:
        raise ValueError("contexts must have at least one column, got none; a constant 1 will do")
    check_width(d, width)


def check_width(d: int, width: int | None) -> None:
    """Raise ValueError for contexts that do not have the expected width."""
    if width is not None and d != width:
        raise ValueError(
            f"contexts must have {width} columns, like those the policy has learned, got {d}; "
            "encode them in the same way, or start a new policy"
        )


def refuse_unusable(unusable: int, what: str = "contexts") -> None:
    """Raise ValueError if there are entries that are not usable numbers."""
    if unusable:
        entries = "entry that is" if unusable == 1 else "entries that are"
        raise ValueError(
            f"{what} must be finite and at most {split_rows.LARGEST:g} in absolute value, "
            f"got {unusable} {entries} not; clean or impute them first"
        )
