"""Which arms match a user: bits at the end of a context, laid out once for all arms that have the same."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.categorical import Categorical
from fairbandits.fairness.groups import is_missing
from fairbandits.models.kernels.split_rows import LARGEST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What a user has who matches nobody, and what an arm has that nobody matches.
_NO_MATCH, _NOBODY = -1, -2

# What rows are made of (see `linear.split`) that is the users': `starts, columns, values` of the common parts,
# `users`, `which`; and whether all features are usable numbers.
Common = tuple[Ints, Ints, Floats, Ints, Ints, bool]


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
        if not isinstance(values, Mapping):
            raise ValueError(f"matches names the ways to match in a mapping; got {type(values).__name__}")
        self._codes: dict[str, dict[Any, int]] = {}
        self._of_arm = np.empty((len(values), n_arms), np.int64)
        for way, (name, given) in enumerate(values.items()):
            of_arms = _as_list(f"matches[{name!r}]", given, n_arms, "arm")
            codes = self._codes[name] = {}
            _coded(f"matches[{name!r}]", of_arms, codes, _NOBODY)  # refuses what cannot be looked up
            for value in of_arms:
                if not is_missing(value):
                    codes.setdefault(value, len(codes))
            self._of_arm[way] = _coded(f"matches[{name!r}]", of_arms, codes, _NOBODY)
        self._first_column = first_column
        self._known: dict[tuple[int, ...], int] = {}
        # For each combination of values that a user has shown, which of its patterns of bits each arm has; the
        # first of those patterns and how many they are; and the columns of all patterns.
        self._which: list[Ints] = []
        no_lines, no_columns = np.empty((0, 2), np.int64), np.empty(0, np.int64)
        self._tables: tuple[Ints, Ints, Ints] = no_lines, np.zeros(1, np.int64), no_columns
        # For a line and a number of entries, what `lay_out_one` gives for all such users alike.
        self._kept: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}
        # A catalogue is shared between threads.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._codes)

    def line(self, matching: Mapping[str, Any] | None) -> int:
        """Find the number of what one user matches."""
        given = self._as_given(matching)
        try:
            key = tuple([codes.get(given.get(name), _NO_MATCH) for name, codes in self._codes.items()])
        except TypeError:
            raise ValueError(f"values to match are strings or numbers; got {matching!r}") from None
        return self._line_of(key)

    def lines(self, matching: Mapping[str, Sequence[Any]] | None, n_users: int) -> Ints:
        """Find the numbers of what each of many users matches."""
        given = self._as_given(matching)
        if not given:
            return np.full(n_users, self.line(None))
        per_user: list[list[int]] = []
        for name, codes in self._codes.items():
            if name in given:
                values = _as_list(f"matching[{name!r}]", given[name], n_users, "user")
                per_user.append(_coded(f"matching[{name!r}]", values, codes, _NO_MATCH))
            else:
                per_user.append([_NO_MATCH] * n_users)
        return np.array([self._line_of(key) for key in zip(*per_user, strict=True)], np.int64)

    def _as_given(self, matching: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if type(matching) is dict and matching.keys() <= self._codes.keys():  # the common case, at every round
            return matching
        given = {} if matching is None else matching
        if not isinstance(given, Mapping) or not given.keys() <= self._codes.keys():
            raise ValueError(f"matching gives values for some of {list(self._codes)}, by name; got {matching!r}")
        return given

    def _line_of(self, key: tuple[int, ...]) -> int:
        line = self._known.get(key)
        return self._new_line(key) if line is None else line

    def bits(self, matching: Mapping[str, Categorical], places: Ints) -> Any:
        """Say whether each of many users matches one arm: a sparse matrix, a line per user, a column per way."""
        unknown = [name for name in matching if name not in self._codes]
        if unknown:
            raise ValueError(f"matching gives values for some of {list(self._codes)}, by name; got {unknown[0]!r}")
        ways = np.zeros((len(places), len(self._codes)), bool)
        for way, (name, codes) in enumerate(self._codes.items()):
            if name in matching:
                per_user = matching[name].renumbered(codes)
                ways[:, way] = per_user == self._of_arm[way, places]
        return sparse.csr_array(ways, dtype=np.float64)

    def _new_line(self, key: tuple[int, ...]) -> int:
        """Find the patterns of bits that arms have for a user of these values, and which arm has which."""
        with self._lock:
            if key in self._known:
                return self._known[key]
            bits = self._of_arm == np.array(key, np.int64)[:, None]
            n_arms = bits.shape[1]
            # Without any way to match there is one pattern, of no bits.
            patterns, which = bits[:, :1], np.zeros(n_arms, np.int64)
            if key:
                patterns, which = np.unique(bits, axis=1, return_inverse=True)
            lines, starts, columns = self._tables
            lines = np.vstack([lines, [[len(starts) - 1, patterns.shape[1]]]])
            for pattern in patterns.T:
                columns = np.append(columns, self._first_column + np.flatnonzero(pattern))
                starts = np.append(starts, len(columns))
            # The number is handed out last, when all that it points to is there.
            self._which.append(which.reshape(1, n_arms).astype(np.int64))
            self._tables = lines, starts, columns
            self._known[key] = len(self._which) - 1
            return self._known[key]

    def lay_out(self, users: Floats, lines: Ints) -> Common:
        """Write for every user the common parts of arms; say which arm has which; and whether all is usable."""
        used, dealt = np.unique(lines, return_inverse=True)
        which = np.concatenate([self._which[line] for line in used])
        common, is_usable = _lay_out(users, lines, dealt, *self._tables)
        return *common, which, is_usable

    def lay_out_one(self, user: Floats, line: int) -> Common:
        """Do as `lay_out` does, for one user: what does not depend on the user's features is kept."""
        columns, values, is_usable = _lay_out_one(user, line, *self._tables)
        kept = self._kept.get((line, columns.size))
        if kept is None:
            patterns, pattern_starts, _ = self._tables
            first, n_parts = patterns[line].tolist()
            bits = np.diff(pattern_starts[first : first + n_parts + 1])
            starts = np.append(0, np.cumsum(bits + (columns.size - bits.sum()) // n_parts))
            kept = self._kept[line, columns.size] = starts, np.array([[0, n_parts, 0, 0]]), self._which[line]
        starts, users, which = kept
        return starts, columns, values, users, which, is_usable


def _as_list(what: str, values: Any, n: int, whose: str) -> list[Any]:
    listed = [] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
    if len(listed) != n:
        raise ValueError(f"{what} needs one value for each of {n} {whose}(s); got {values!r}")
    return listed


def _coded(what: str, values: list[Any], codes: dict[Any, int], unknown: int) -> list[int]:
    """Give the number of each value."""
    try:
        return [codes.get(value, unknown) for value in values]
    except TypeError:
        raise ValueError(f"{what} needs strings or numbers; got {values!r}") from None


@njit(cache=True, nogil=True)
def _lay_out(
    users: Floats, lines: Ints, dealt: Ints, patterns: Ints, pattern_starts: Ints, pattern_columns: Ints
) -> tuple[tuple[Ints, Ints, Floats, Ints], bool]:
    n_users = len(users)
    where = np.zeros((n_users, 4), np.int64)
    n_parts = size = unusable = 0
    for user in range(n_users):
        first, n = patterns[lines[user]]
        where[user] = n_parts, n, dealt[user], 0
        n_parts += n
        filled, wrong = _count(users[user])
        size += filled * n + pattern_starts[first + n] - pattern_starts[first]
        unusable += wrong
    starts = np.zeros(n_parts + 1, np.int64)
    columns, values = np.empty(size, np.int64), np.empty(size)
    part = at = 0
    for user in range(n_users):
        first, n = patterns[lines[user]]
        for pattern in range(first, first + n):
            at = _write(users[user], pattern, pattern_starts, pattern_columns, at, columns, values)
            part += 1
            starts[part] = at
    return (starts, columns, values, where), unusable == 0


@njit(cache=True, nogil=True)
def _lay_out_one(
    user: Floats, line: int, patterns: Ints, pattern_starts: Ints, pattern_columns: Ints
) -> tuple[Ints, Floats, bool]:
    first, n_parts = patterns[line, 0], patterns[line, 1]
    filled, unusable = _count(user)
    size = filled * n_parts + pattern_starts[first + n_parts] - pattern_starts[first]
    columns, values = np.empty(size, np.int64), np.empty(size)
    at = 0
    for pattern in range(first, first + n_parts):
        at = _write(user, pattern, pattern_starts, pattern_columns, at, columns, values)
    return columns, values, unusable == 0


@njit(cache=True, nogil=True)
def _write(
    user: Floats, pattern: int, pattern_starts: Ints, pattern_columns: Ints, at: int, columns: Ints, values: Floats
) -> int:
    """Write one common part, the user's features and the bits of a pattern; give where the next begins."""
    for j in range(user.size):
        if user[j] != 0.0:
            columns[at] = j
            values[at] = user[j]
            at += 1
    for k in range(pattern_starts[pattern], pattern_starts[pattern + 1]):
        columns[at] = pattern_columns[k]
        values[at] = 1.0
        at += 1
    return at


@njit(cache=True, nogil=True)
def _count(user: Floats) -> tuple[int, int]:
    """Count the features of a user that will be written, and those that are no usable numbers."""
    filled = unusable = 0
    for value in user:
        filled += value != 0.0
        unusable += not (abs(value) <= LARGEST)
    return filled, unusable
