"""Match features: bits at the end of a context that indicate whether the user's value equals the arm's."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.categorical import Categorical, codes_of
from fairbandits.jit import helper, kernel
from fairbandits.labels import as_label, is_listed, is_missing, labels_of
from fairbandits.models.kernels.layouts import FIRST_SHARED, N_SHARED, PATTERN, ZERO
from fairbandits.models.kernels.split_rows import LARGEST
from fairbandits.models.threads import USERS_AT_A_TIME, in_chunks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The code of a user who matches no arm, and of an arm that no user matches.
_USER_WITHOUT, _ARM_WITHOUT = -1, -2
# Reading and writing a feature of a user takes as long as this many multiplications.
_WORK_PER_FEATURE = 30
# Types of values that need no conversion to labels.
_LABELS = frozenset({str, int, NoneType})


class SharedParts(NamedTuple):
    """The fields of `SplitRows` that depend on users, and whether all features are usable numbers."""

    starts: Ints
    columns: Ints
    values: Floats
    users: Ints
    which: Ints
    is_usable: bool


class _Patterns(NamedTuple):
    """The patterns of match bits that arms have, for each combination of a user's values.

    Attributes
    ----------
    of_combination : array of shape (n_combinations, 2)
        The index of the first pattern of each combination, and the number of its patterns.
    starts, columns : arrays
        The columns of the bits that are set in each pattern.
    """

    of_combination: Ints
    starts: Ints
    columns: Ints


class Matches:
    """The ways in which a user can match arms, each with its own column of bits.

    Parameters
    ----------
    values : mapping of str to sequence
        For each way to match, by name, the value of every arm; None matches no user.
    n_arms : int
        The number of arms.
    first_column : int
        The column of the first bit.
    """

    def __init__(self, values: Mapping[str, Sequence[Any]], n_arms: int, first_column: int) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(f"matches must be a mapping of names to values, got {type(values).__name__}")
        self._codes: dict[str, dict[Any, int]] = {}
        self._of_arm = np.empty((len(values), n_arms), np.int64)
        for way, (name, given) in enumerate(values.items()):
            of_arms = _as_list(f"matches[{name!r}]", given, n_arms, "arm")
            codes = self._codes[name] = {}
            for value in of_arms:
                if value is not None:
                    codes.setdefault(value, len(codes))
            self._of_arm[way] = [codes.get(value, _ARM_WITHOUT) for value in of_arms]
        self._first_column = first_column
        # Combinations of values are numbered in the order of their first appearance.
        self._combinations: dict[tuple[int, ...], int] = {}
        self._which: list[Ints] = []
        self._patterns = _Patterns(np.empty((0, 2), np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))
        # The fields of `shared_parts_of_one` that depend only on the combination and the number of entries.
        self._cached: dict[tuple[int, int], tuple[Ints, Ints, Ints]] = {}
        # A catalogue is shared between threads.
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # Locks cannot be pickled, but the workers of a cluster receive pickled catalogues.
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._codes)

    def combination(self, matching: Mapping[str, Any] | None) -> int:
        """Return the number of one user's combination of values."""
        given = self._checked(matching)
        if not _LABELS.issuperset(map(type, given.values())):
            given = {name: _value(name, value) for name, value in given.items()}
        key = tuple([codes.get(given.get(name), _USER_WITHOUT) for name, codes in self._codes.items()])
        return self._number_of(key)

    def combinations(self, matching: Mapping[str, Sequence[Any]] | None, n_users: int) -> Ints:
        """Return the numbers of the combinations of many users."""
        given = self._checked(matching)
        if not given:
            return np.full(n_users, self.combination(None))
        of_user: Ints = np.zeros(n_users, np.int64)
        keys: list[tuple[int, ...]] = [()]
        for name, codes in self._codes.items():
            if name not in given:
                keys = [(*key, _USER_WITHOUT) for key in keys]
                continue
            numbers, values = codes_of(_as_list(f"matching[{name!r}]", given[name], n_users, "user"))
            pairs, of_user = np.unique(of_user * len(values) + numbers, return_inverse=True)
            found = [codes.get(value, _USER_WITHOUT) for value in values]
            keys = [(*keys[pair // len(values)], found[pair % len(values)]) for pair in pairs.tolist()]
        return np.array([self._number_of(key) for key in keys], np.int64)[of_user]

    def _checked(self, matching: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if type(matching) is dict and matching.keys() <= self._codes.keys():  # the common case, in every round
            return matching
        given = {} if matching is None else matching
        if not isinstance(given, Mapping) or not given.keys() <= self._codes.keys():
            raise ValueError(f"matching must be a mapping with names from {list(self._codes)}, got {matching!r}")
        return given

    def bits(self, matching: Mapping[str, Categorical], places: Ints) -> Any:
        """Return whether each of many users matches one arm: a sparse matrix (n_users, n_ways)."""
        unknown = [name for name in matching if name not in self._codes]
        if unknown:
            raise ValueError(f"matching must be a mapping with names from {list(self._codes)}, got {unknown[0]!r}")
        ways = np.zeros((len(places), len(self._codes)), bool)
        for way, (name, codes) in enumerate(self._codes.items()):
            if name in matching:
                ways[:, way] = matching[name].recoded(codes) == self._of_arm[way, places]
        return sparse.csr_array(ways, dtype=np.float64)

    def _number_of(self, key: tuple[int, ...]) -> int:
        number = self._combinations.get(key)
        return self._add_combination(key) if number is None else number

    def _add_combination(self, key: tuple[int, ...]) -> int:
        """Find the patterns of bits that arms have for a combination of values, and the pattern of each arm."""
        with self._lock:
            if key in self._combinations:
                return self._combinations[key]
            bits = self._of_arm == np.array(key, np.int64)[:, None]
            n_arms = bits.shape[1]
            # Without any way to match, there is one pattern: no bits.
            patterns, which = bits[:, :1], np.zeros(n_arms, np.int64)
            if key:
                patterns, which = np.unique(bits, axis=1, return_inverse=True)
            of_combination, starts, columns = self._patterns
            of_combination = np.vstack([of_combination, [[len(starts) - 1, patterns.shape[1]]]])
            for pattern in patterns.T:
                columns = np.append(columns, self._first_column + np.flatnonzero(pattern))
                starts = np.append(starts, len(columns))
            # The number is published last, when everything it refers to exists.
            self._which.append(which.reshape(1, n_arms).astype(np.int64))
            self._patterns = _Patterns(of_combination, starts, columns)
            self._combinations[key] = len(self._which) - 1
            return self._combinations[key]

    def shared_parts(self, users: Floats, combinations: Ints) -> SharedParts:
        """Return the shared parts of many users' contexts, one for each pattern of match bits."""
        used, pattern_of = np.unique(combinations, return_inverse=True)
        which = np.concatenate([self._which[combination] for combination in used])
        return _shared_parts(users, combinations, pattern_of, which, self._patterns)

    def shared_parts_of_one(self, user: Floats, combination: int) -> SharedParts:
        """Return the shared parts of one user's contexts; anything independent of the features is cached."""
        columns, values, is_usable = _shared_parts_of_one(user, combination, *self._patterns)
        cached = self._cached.get((combination, columns.size))
        if cached is None:
            first, n_parts = self._patterns.of_combination[combination].tolist()
            n_bits = np.diff(self._patterns.starts[first : first + n_parts + 1])
            starts = np.append(0, np.cumsum(n_bits + (columns.size - n_bits.sum()) // n_parts))
            cached = starts, np.array([[0, n_parts, 0, 0]]), self._which[combination]
            self._cached[combination, columns.size] = cached
        starts, users, which = cached
        return SharedParts(starts, columns, values, users, which, is_usable)


def _as_list(name: str, values: Any, n: int, whose: str) -> list[Any]:
    listed = labels_of(values, name) if is_listed(values) else []
    if len(listed) != n:
        raise ValueError(f"{name} must have one value for each of {n} {whose}(s), got {values!r}")
    return listed


def _value(name: str, value: Any) -> Any:
    if is_missing(value):
        return None
    return as_label(value, f"matching[{name!r}] must be a string or an integer", ", and give None for no match")


def _shared_parts(
    users: Floats, combinations: Ints, pattern_of: Ints, which: Ints, patterns: _Patterns
) -> SharedParts:
    """Find where the parts of each user begin, then write them; use several threads if there are many."""
    n_users, work = len(users), _WORK_PER_FEATURE * users.size
    found, sizes = np.zeros((n_users, 4), np.int64), np.empty(n_users, np.int64)
    found[:, PATTERN] = pattern_of
    read = users, combinations, patterns.of_combination, patterns.starts
    measured = partial(_measure_parts, *read, found, sizes)
    unusable = in_chunks(measured, n_users, USERS_AT_A_TIME, work)
    n_parts, stops = np.cumsum(found[:, N_SHARED]), np.cumsum(sizes)
    found[:, FIRST_SHARED] = n_parts - found[:, N_SHARED]
    starts: Ints = np.zeros(n_parts[-1] + 1, np.int64)
    columns, values = np.empty(stops[-1], np.int64), np.empty(stops[-1])
    written = partial(_write_parts, *read, patterns.columns, found, stops - sizes, starts, columns, values)
    in_chunks(written, n_users, USERS_AT_A_TIME, work)
    return SharedParts(starts, columns, values, found, which, unusable == 0)


@kernel()
def _measure_parts(
    users: Floats,
    combinations: Ints,
    of_combination: Ints,
    bit_starts: Ints,
    found: Ints,
    sizes: Ints,
    lo: int,
    hi: int,
) -> int:
    """Count the parts of some users, and their entries; return how many features are not usable numbers."""
    unusable = 0
    for user in range(lo, hi):
        first, n = of_combination[combinations[user], 0], of_combination[combinations[user], 1]
        filled, wrong = _count(users, user)
        found[user, N_SHARED], sizes[user] = n, filled * n + bit_starts[first + n] - bit_starts[first]
        unusable += wrong
    return unusable


@kernel()
def _write_parts(
    users: Floats,
    combinations: Ints,
    of_combination: Ints,
    bit_starts: Ints,
    bit_columns: Ints,
    found: Ints,
    begins: Ints,
    starts: Ints,
    columns: Ints,
    values: Floats,
    lo: int,
    hi: int,
) -> int:
    for user in range(lo, hi):
        first, n = of_combination[combinations[user], 0], of_combination[combinations[user], 1]
        part, at = found[user, FIRST_SHARED], begins[user]
        for pattern in range(first, first + n):
            at = _write_part(users, user, pattern, bit_starts, bit_columns, at, columns, values)
            part += 1
            starts[part] = at
    return 0


@kernel()
def _shared_parts_of_one(
    user: Floats, combination: int, of_combination: Ints, bit_starts: Ints, bit_columns: Ints
) -> tuple[Ints, Floats, bool]:
    users = user.reshape(1, -1)
    first, n = of_combination[combination, 0], of_combination[combination, 1]
    filled, unusable = _count(users, ZERO)
    size = filled * n + bit_starts[first + n] - bit_starts[first]
    columns, values = np.empty(size, np.int64), np.empty(size)
    at = ZERO
    for pattern in range(first, first + n):
        at = _write_part(users, ZERO, pattern, bit_starts, bit_columns, at, columns, values)
    return columns, values, unusable == 0


@helper()
def _write_part(
    users: Floats,
    user: int,
    pattern: int,
    bit_starts: Ints,
    bit_columns: Ints,
    at: int,
    columns: Ints,
    values: Floats,
) -> int:
    """Write one shared part, the user's features and the bits of a pattern; return where the next one begins."""
    for j in range(users.shape[1]):
        if users[user, j] != 0.0:
            columns[at], values[at] = j, users[user, j]
            at += 1
    for k in range(bit_starts[pattern], bit_starts[pattern + 1]):
        columns[at], values[at] = bit_columns[k], 1.0
        at += 1
    return at


@helper()
def _count(users: Floats, user: int) -> tuple[int, int]:
    """Count the non-zero features of a user, and those that are not usable numbers."""
    filled = unusable = 0
    for j in range(users.shape[1]):
        filled += users[user, j] != 0.0
        unusable += not (abs(users[user, j]) <= LARGEST)
    return filled, unusable
