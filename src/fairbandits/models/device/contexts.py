"""Contexts as a device needs them: one user matrix for all arms, or one user matrix for each arm.

In the contexts of a catalogue, x = u + v, where u depends on the user and v on the arm. With w = (u, 1),
everything that is quadratic in x is linear in the products w_i w_j. So the scores of all users and arms are two
matrix products: `[w_i w_j] W` for variances and `w B` for means, where W and B depend only on the arms.

Whether a user matches an arm depends on both. So u repeats a column of match bits once for each value that arms
have. Each copy contains the user's bit for that value, and W and B are 0 in that copy for arms with another value.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.models.device.backend import Array, Backend
from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_SHARED,
    NAME,
    PATTERN,
    START,
    STOP,
    Floats,
    Ints,
    SplitRows,
    UserColumns,
)
from fairbandits.models.kernels.user_parts import mark_columns, mark_pairs, write_pairs, write_users
from fairbandits.models.rows import Rows, SparseRows
from fairbandits.models.threads import over_arms

# Up to this share of non-zeros, it pays to find out which pairs of columns occur.
_SPARSE_BELOW = 0.5
# Matrix products are faster if the number of columns is a multiple of this, so matrices are padded with zeros.
_MULTIPLE = 8
# On an H200, a sparse product takes about as long per non-zero as a dense one takes for this many columns.
_COST_OF_NONZERO = 50


class UserFeatures:
    """The features of some users.

    Parameters
    ----------
    contexts : CatalogueContexts
        The contexts.
    users : slice
        The users.
    backend : Backend
        The device.
    """

    def __init__(self, contexts: CatalogueContexts, users: slice, backend: Backend) -> None:
        self.contexts, self._users, self._backend = contexts, users, backend
        #: The columns of users, a constant 1, and zero padding, of shape (n_users, n_linear).
        self.linear: Array = backend.upload(contexts.user_matrix(users))

    @cached_property
    def _pairs(self) -> Any:
        contexts = self.contexts
        if contexts.uses_sparse_pairs(self._backend):
            return contexts.sparse_pairs(self._users)
        xp, (first, second) = self._backend.xp, contexts.pairs_on(self._backend)
        return xp.take(self.linear, first, axis=1) * xp.take(self.linear, second, axis=1)

    def times_pairs(self, weights: Array) -> Array:
        """Multiply the products of pairs by a matrix of weights."""
        if self.contexts.uses_sparse_pairs(self._backend):
            return self._backend.sparse_product(self._pairs, weights)
        return self._pairs @ weights


class CatalogueContexts:
    """Contexts whose arm parts are the same for all users.

    Parameters
    ----------
    rows : SparseRows
        The contexts.

    Attributes
    ----------
    columns : array of int
        For each column of the user matrix, the column of the contexts that it represents. The first `n_fixed`
        columns are the same for all arms; each of the others applies only to arms with one particular value.
    pairs : pair of arrays
        The pairs of columns that are needed, given by the indices of both columns; the index of the constant 1 is
        the number of columns. Pairs from `n_real` on are padding.
    n_linear : int
        The number of columns of the user matrix.
    """

    def __init__(self, rows: SparseRows) -> None:
        self.rows = rows
        used = np.zeros(rows.width, bool)
        columns = rows.parts.shared_columns
        over_arms(mark_columns, (columns, used), columns.size, columns.size)
        varying, self._of_arm, part_of = _varying_columns(rows.parts)
        used[varying] = False
        self.n_fixed = int(used.sum())
        self.columns: Ints = np.append(np.flatnonzero(used), varying)
        place_of = np.where(used, np.cumsum(used) - 1, -1)
        self._layout = tuple(UserColumns(place_of, self.n_fixed, varying, part_of, rows.parts.which[:, 0].copy()))
        self._nonzeros, counts = self._count_pairs(place_of)
        first, second = np.nonzero(np.tril(counts))
        self.n_real = len(first)
        filling = np.full(-self.n_real % _MULTIPLE, len(self.columns))
        self.pairs = np.append(first, filling), np.append(second, filling)
        self.n_linear = len(self.columns) + 1 + -(len(self.columns) + 1) % _MULTIPLE
        self._pairs_on: dict[Backend, tuple[Array, Array]] = {}

    def _count_pairs(self, place_of: Ints) -> tuple[float, NDArray[np.bool_]]:
        """Return the average number of pairs per user, and a mask of the pairs that count: those that occur."""
        split, n = self.rows.parts, len(self.columns)
        counts = np.ones((n + 1, n + 1), bool)
        n_varying = n - self.n_fixed
        n_pairs = (n + 1.0) * (n + 2.0) / 2.0
        if split.shared_columns.size < _SPARSE_BELOW * self.n_fixed * (split.shared_starts.size - 1):
            occurs = np.zeros((self.n_fixed, self.n_fixed), bool)
            n_found = mark_pairs(split.shared_starts, split.shared_columns, place_of, occurs)
            counts[: self.n_fixed, : self.n_fixed] = occurs
            n_parts = split.shared_starts.size - 1
            n_pairs = n_found / n_parts + (1.0 + n_varying) * split.shared_columns.size / n_parts + 1.0
        # No arm has two values for the same column.
        own = self.columns[self.n_fixed :]
        counts[self.n_fixed : n, self.n_fixed : n] = (own[:, None] != own) | np.eye(n_varying, dtype=bool)
        return n_pairs, counts

    def is_same(self, other: CatalogueContexts) -> bool:
        """Return whether other contexts have the same arms, and the same columns for users."""
        ours, theirs = self.rows.parts, other.rows.parts
        return (
            self.rows.width == other.rows.width
            and self.n_fixed == other.n_fixed
            and np.array_equal(self.columns, other.columns)
            and all(np.array_equal(*each) for each in zip(self.pairs, other.pairs, strict=True))
            and np.array_equal(self._of_arm, other._of_arm)
            and np.array_equal(ours.bounds, theirs.bounds)
            and (bool(ours.bounds[:, NAME].all()) or _have_same_entries(ours, theirs))
        )

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.pairs[0])

    def pairs_on(self, backend: Backend) -> tuple[Array, Array]:
        """Return the pairs as arrays on a device, copied only once, because a copy waits for all pending work."""
        if backend not in self._pairs_on:
            first, second = self.pairs
            self._pairs_on[backend] = backend.asarray(first), backend.asarray(second)
        return self._pairs_on[backend]

    def uses_sparse_pairs(self, backend: Backend) -> bool:
        """Return whether most pairs are zero, so that a sparse product is faster."""
        return backend.has_sparse_products and _COST_OF_NONZERO * self._nonzeros < self.n_pairs

    def user_matrix(self, users: slice) -> Floats:
        """Return the columns of users as a matrix, followed by a column of ones and zero padding."""
        dense = np.zeros((users.stop - users.start, self.n_linear))
        dense[:, len(self.columns)] = 1.0
        write_users(tuple(self.rows.parts), self._layout, users.start, dense)
        return dense

    @cached_property
    def _place_of_pair(self) -> Ints:
        n = len(self.columns) + 1
        place_of: Ints = np.full((n, n), -1)
        first, second = self.pairs
        first, second = first[: self.n_real], second[: self.n_real]
        place_of[first, second] = place_of[second, first] = np.arange(self.n_real)
        return place_of

    def sparse_pairs(self, users: slice) -> Any:
        """Return the products of pairs as a CSR array."""
        split, n_varying = self.rows.parts, len(self.columns) - self.n_fixed
        own = split.users[users, FIRST_SHARED] + split.which[split.users[users, PATTERN], 0]
        most = split.shared_starts[own + 1] - split.shared_starts[own] + n_varying + 1
        room = int((most * (most + 1) // 2).sum())
        starts, indices, products = np.empty(len(own) + 1, np.int64), np.empty(room, np.int64), np.empty(room)
        fields = tuple(split), self._layout, self._place_of_pair
        n = write_pairs(*fields, users.start, starts, indices, products)
        return sparse.csr_array((products[:n], indices[:n], starts), shape=(len(own), self.n_pairs))

    def holds_for(self, start: int, stop: int) -> Floats | None:
        """Return a mask of the columns that apply to each arm, (n_arms, n_columns + 1); None if all columns do."""
        if len(self.columns) == self.n_fixed:
            return None
        holds = np.ones((stop - start, len(self.columns) + 1))
        holds[:, self.n_fixed : -1] = self._of_arm[start:stop]
        return holds

    def arm_parts(self, start: int, stop: int) -> Floats:
        """Return the arm parts of some arms as a matrix."""
        row, at = self._arm_entries(start, stop)
        dense = np.zeros((stop - start, self.rows.width))
        dense[row, self.rows.parts.columns[at]] = self.rows.parts.values[at]
        return dense

    def largest_arm_part(self) -> float:
        """Return the largest sum of absolute values over the arm parts."""
        row, at = self._arm_entries(0, self.rows.n_arms)
        return float(np.bincount(row, np.abs(self.rows.parts.values[at]), self.rows.n_arms).max())

    def _arm_entries(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """Return, for each entry of some arm parts, the arm (counted from `start`) and the place of the entry."""
        split = self.rows.parts
        first = split.users[0, FIRST_ARM]
        bounds = split.bounds[first + start : first + stop]
        lengths = bounds[:, STOP] - bounds[:, START]
        row = np.repeat(np.arange(stop - start), lengths)
        at = np.arange(lengths.sum()) + np.repeat(bounds[:, START] - np.cumsum(lengths) + lengths, lengths)
        return row, at


class DenseContexts:
    """Contexts that have nothing in common: one matrix for each user."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def block(self, users: slice, backend: Backend) -> Array:
        """Return the contexts of some users, arms first: (n_arms, n_users, width)."""
        rows = self.rows
        chosen = rows.select(np.arange(rows.n_users)[users], np.arange(rows.n_arms)).toarray()
        cube = chosen.reshape(-1, rows.n_arms, rows.width)
        return backend.upload(cube.transpose(1, 0, 2))


Contexts = CatalogueContexts | DenseContexts


def as_device_contexts(rows: Rows) -> Contexts:
    """Return contexts for a device: those of a catalogue if all users have the same arm parts."""
    if isinstance(rows, SparseRows):
        first = rows.parts.users[:, FIRST_ARM]
        if (first == first[0]).all():
            return CatalogueContexts(rows)
    return DenseContexts(rows)


def _varying_columns(split: SplitRows) -> tuple[Ints, NDArray[np.bool_], Ints]:
    """Find the columns in which the shared parts of a user differ, once for each value that arms have.

    Returns the columns, which of them apply to each arm, and which part of each pattern has the entry. Users with
    the same pattern have these columns in common.
    """
    n_patterns, n_arms = split.which.shape
    example_of = np.full(n_patterns, -1)
    example_of[split.users[:, PATTERN]] = np.arange(len(split.users))
    parts_of = {
        pattern: _parts_of(split, pattern, split.users[user, FIRST_SHARED])
        for pattern, user in enumerate(example_of.tolist())
        if user >= 0
    }
    differing: list[set[int]] = []
    for parts in parts_of.values():
        first, *others = parts.values()
        differing.append(first.union(*others) - first.intersection(*others))
    columns: list[int] = []
    holds: list[NDArray[np.bool_]] = []
    part_of: list[Ints] = []
    for column in sorted(set.union(*differing)):
        is_there = np.zeros((n_patterns, n_arms), bool)
        for pattern, parts in parts_of.items():
            for part, own in parts.items():
                is_there[pattern] |= (split.which[pattern] == part) & (column in own)
        value, examples_of_values = _distinct_columns(is_there)
        for number, arm in enumerate(examples_of_values.tolist()):
            columns.append(column)
            holds.append(value == number)
            part_of.append(split.which[:, arm])
    of_arms = np.array(holds, bool).reshape(-1, n_arms).T
    return np.array(columns, np.int64), of_arms, np.array(part_of, np.int64).reshape(-1, n_patterns).T.copy()


def _parts_of(split: SplitRows, pattern: int, first: int) -> dict[int, set[int]]:
    """Return the columns of each shared part that arms use, for a user with a given pattern."""
    starts = split.shared_starts
    return {
        part: set(split.shared_columns[starts[first + part] : starts[first + part + 1]].tolist())
        for part in np.flatnonzero(np.bincount(split.which[pattern])).tolist()
    }


def _distinct_columns(bits: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Find the distinct columns of a bit matrix; return the number of each column and an example per number."""
    number = np.zeros(bits.shape[1], np.int64)
    for row in bits:
        # Renumbered after each row, so that the numbers stay small.
        found = np.bincount(2 * number + row) > 0
        number = (np.cumsum(found) - 1)[2 * number + row]
    example = np.empty(number.max(initial=-1) + 1, np.int64)
    example[number[::-1]] = np.arange(len(number))[::-1]  # the first one, which is written last
    return number, example


def _have_same_entries(ours: SplitRows, theirs: SplitRows) -> bool:
    """Return whether arm parts without names are equal."""
    return np.array_equal(ours.columns, theirs.columns) and np.array_equal(ours.values, theirs.values)
