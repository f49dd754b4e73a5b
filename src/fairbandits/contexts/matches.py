"""Which arms match a user: bits at the end of a context, laid out once for all arms that have the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.linear.split import LARGEST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_MATCH = -1


class Matches:
    """The ways in which a user can match arms, each a bit in a column of its own.

    Parameters
    ----------
    values : mapping of str to sequence
        For each way, by name, the value of every arm; None matches nobody.
    n_arms : int
        How many arms there are.
    first_column : int
        The column of the first bit.
    """

    def __init__(self, values: Mapping[str, Sequence[Any]], n_arms: int, first_column: int) -> None:
        self._codes: dict[str, dict[Any, int]] = {}
        self._of_arm = np.empty((len(values), n_arms), np.int64)
        for way, (name, of_arms) in enumerate(values.items()):
            if isinstance(of_arms, str) or len(of_arms) != n_arms:
                raise ValueError(f"matches[{name!r}] needs one value for each of {n_arms} arm(s); got {of_arms!r}")
            codes = self._codes[name] = {}
            self._of_arm[way] = [_NO_MATCH - 1 if v is None else codes.setdefault(v, len(codes)) for v in of_arms]
        self._first_column = first_column
        self._no_bits = np.zeros(n_arms, np.int64)
        self._known: dict[tuple[int, ...], int] = {}
        # Which of its patterns each arm has, a line for each combination of values that a user has shown.
        self.which: Ints = np.empty((0, n_arms), np.int64)
        # For each line the first of its patterns and how many they are; the columns of each pattern.
        self._patterns: Ints = np.empty((0, 2), np.int64)
        self._starts: Ints = np.zeros(1, np.int64)
        self._columns: Ints = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._codes)

    def line(self, matching: Mapping[str, Any] | None) -> int:
        """Find the line of `which` for what one user matches."""
        given = matching or {}
        if not given.keys() <= self._codes.keys():
            unknown = sorted(given.keys() - self._codes.keys())
            raise ValueError(f"matching names {unknown}; this catalogue can match {list(self._codes)}")
        key = tuple([codes.get(given.get(name), _NO_MATCH) for name, codes in self._codes.items()])
        line = self._known.get(key)
        return self._new_line(key) if line is None else line

    def lines(self, matching: Mapping[str, Sequence[Any]] | None, n_users: int) -> Ints:
        """Find the lines of `which` for what each of many users matches."""
        given = matching or {}
        for name, values in given.items():
            if isinstance(values, str) or len(values) != n_users:
                raise ValueError(
                    f"matching[{name!r}] needs one value for each of {n_users} user(s); got {values!r}"
                )
        users = ({name: values[user] for name, values in given.items()} for user in range(n_users))
        return np.array([self.line(user) for user in users], np.int64)

    def _new_line(self, key: tuple[int, ...]) -> int:
        """Find the patterns of bits that arms have for a user of these values, and which arm has which."""
        line = self._known[key] = len(self._known)
        bits = self._of_arm == np.array(key, np.int64)[:, None]
        # Without any way to match there is one pattern, of no bits.
        patterns, which = np.unique(bits, axis=1, return_inverse=True) if key else (bits[:, :1], self._no_bits)
        self.which = np.vstack([self.which, which.reshape(1, -1)])
        self._patterns = np.vstack([self._patterns, [[len(self._starts) - 1, patterns.shape[1]]]])
        for pattern in patterns.T:
            self._columns = np.append(self._columns, self._first_column + np.flatnonzero(pattern))
            self._starts = np.append(self._starts, len(self._columns))
        return line

    def lay_out(self, users: Floats, lines: Ints) -> tuple[tuple[Ints, Ints, Floats, Ints], bool]:
        """Write for every user the common parts of arms; and say whether all entries are usable numbers."""
        return _lay_out(users, lines, self._patterns, self._starts, self._columns)


@njit(cache=True, nogil=True)
def _lay_out(
    users: Floats, lines: Ints, patterns: Ints, pattern_starts: Ints, pattern_columns: Ints
) -> tuple[tuple[Ints, Ints, Floats, Ints], bool]:
    n_users, n_features = users.shape
    where = np.zeros((n_users, 4), np.int64)
    n_parts = 0
    n_bits = 0
    for user in range(n_users):
        first, n = patterns[lines[user]]
        where[user] = n_parts, n, lines[user], 0
        n_parts += n
        n_bits += pattern_starts[first + n] - pattern_starts[first]
    starts = np.zeros(n_parts + 1, np.int64)
    filled, is_usable = _count(users, where)
    columns = np.empty(filled + n_bits, np.int64)
    values = np.empty(columns.size)
    part = at = 0
    for user in range(n_users):
        first, n = patterns[lines[user]]
        for pattern in range(first, first + n):
            for j in range(n_features):
                if users[user, j] != 0.0:
                    columns[at] = j
                    values[at] = users[user, j]
                    at += 1
            for k in range(pattern_starts[pattern], pattern_starts[pattern + 1]):
                columns[at] = pattern_columns[k]
                values[at] = 1.0
                at += 1
            part += 1
            starts[part] = at
    return (starts, columns, values, where), is_usable


@njit(cache=True, nogil=True)
def _count(users: Floats, where: Ints) -> tuple[int, bool]:
    """Count what will be written of the users, and check it."""
    filled = 0
    unusable = 0
    for user in range(len(users)):
        own = 0
        for value in users[user]:
            own += value != 0.0
            unusable += not (abs(value) <= LARGEST)
        filled += own * where[user, 1]
    return filled, unusable == 0
