"""An index of pairs of a user's 64-bit key and a combination of groups: an open-addressing hash table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel

Keys = NDArray[np.uint64]
Codes = NDArray[np.int32]
Slots = NDArray[np.int64]

_INITIAL_SIZE = 1 << 12
_EMPTY = -1
_LOWER = 0xFFFFFFFF
# Constants of the finaliser of SplitMix64 (Steele, Lea and Flood 2014), which mixes all bits.
_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
#: The number of random groups of users ("folds") that are left out one at a time for the intervals of effects.
N_FOLDS = 64
_FOLD_SHIFT = np.uint64(64 - 6)
_ROWS = np.int32(0x2545F491)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


class UnitIndex:
    """Units, i.e. pairs of a user and a combination of groups, numbered 0, 1, 2, ... in order of appearance.

    Nearly every user belongs to a single combination, and is therefore a single unit.

    Examples
    --------
    >>> units = UnitIndex()
    >>> units.numbers(np.array([7, 8, 7, 7], np.uint64), np.array([0, 0, 0, 1], np.int32))
    array([0, 1, 0, 2], dtype=int32)
    >>> units.users, units.combinations
    (array([7, 8, 7], dtype=uint64), array([0, 0, 1], dtype=int32))
    """

    def __init__(self) -> None:
        self._slots: Slots = _empty_slots(2 * _INITIAL_SIZE)
        self._users: Keys = np.empty(_INITIAL_SIZE, np.uint64)
        self._combinations: Codes = np.empty(_INITIAL_SIZE, np.int32)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def users(self) -> Keys:
        """The user of each unit."""
        return self._users[: self._n]

    @property
    def combinations(self) -> Codes:
        """The combination of groups of each unit."""
        return self._combinations[: self._n]

    def numbers(self, users: Keys, combinations: Codes) -> Codes:
        """Return the number of each unit; a new unit gets the next number."""
        numbers = np.empty(users.size, np.int32)
        done = 0
        while True:
            done, self._n = _number_units(
                users, combinations, self._slots, self._users, self._combinations, self._n, numbers, done
            )
            if done == users.size:
                return numbers
            self._grow()

    def _grow(self) -> None:
        # At least half of the slots stay empty, which keeps searches short.
        self._users = np.concatenate([self._users, np.empty_like(self._users)])
        self._combinations = np.concatenate([self._combinations, np.empty_like(self._combinations)])
        self._slots = _empty_slots(2 * self._users.size)
        _insert_units(self._slots, self._users, self._combinations, self._n)


def _empty_slots(n: int) -> Slots:
    slots = np.empty((n, 2), np.int64)
    slots[:, 1] = _EMPTY
    return slots


# A slot holds a user's key, and one integer with the unit's number and combination. Tables are larger than the CPU
# cache, so a search waits for memory, and should find everything in one place.
@kernel()
def _number_units(
    users: Keys,
    combinations: Codes,
    slots: Slots,
    known_users: Keys,
    known_combinations: Codes,
    n: int,
    numbers: Codes,
    start: int,
) -> tuple[int, int]:
    """Find or add units from row `start` until the table is full; return the next row and the number of units."""
    mask = np.uint64(len(slots) - 1)
    for i in range(start, users.size):
        user, combination = np.int64(users[i]), combinations[i]
        slot = _mixed(users[i], combination) & mask
        entry = slots[slot, 1]
        while entry != _EMPTY and (slots[slot, 0] != user or np.int32(entry & _LOWER) != combination):
            slot = (slot + np.uint64(1)) & mask
            entry = slots[slot, 1]
        if entry == _EMPTY:
            if n == known_users.size:
                return i, n
            known_users[n], known_combinations[n] = users[i], combination
            entry = _entry(n, combination)
            slots[slot, 0], slots[slot, 1] = user, entry
            n += 1
        numbers[i] = entry >> 32
    return users.size, n


@kernel()
def _insert_units(slots: Slots, users: Keys, combinations: Codes, n: int) -> None:
    mask = np.uint64(len(slots) - 1)
    for number in range(n):
        slot = _mixed(users[number], combinations[number]) & mask
        while slots[slot, 1] != _EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot, 0], slots[slot, 1] = np.int64(users[number]), _entry(number, combinations[number])


@helper()
def _entry(number: int, combination: np.int32) -> np.int64:
    return (np.int64(number) << 32) | (np.int64(combination) & _LOWER)


@helper()
def _mixed(user: np.uint64, combination: np.int32) -> np.uint64:
    bits = user + np.uint64(combination + 1) * _STEP
    bits = (bits ^ (bits >> _S30)) * _FIRST
    bits = (bits ^ (bits >> _S27)) * _SECOND
    return bits ^ (bits >> _S31)


@kernel()
def row_keys(first_row: int, n: int) -> Keys:
    """Return a distinct key for each of n consecutive rows: each row of an unknown user is a separate user."""
    keys = np.empty(n, np.uint64)
    for i in range(n):
        # The mapping is a bijection, so the keys of rows differ from each other. Its constant keeps them distinct
        # from the keys of ids.
        keys[i] = _mixed(np.uint64(first_row + i) * _SECOND, _ROWS)
    return keys


@kernel()
def fold_numbers(keys: Keys) -> NDArray[np.uint8]:
    """Return a random fold from 0 to 63 for each key, always the same for the same key."""
    folds = np.empty(keys.size, np.uint8)
    for i in range(keys.size):
        folds[i] = _mixed(keys[i], np.int32(-1)) >> _FOLD_SHIFT
    return folds
