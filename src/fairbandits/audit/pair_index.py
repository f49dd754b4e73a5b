"""An index of pairs of codes, in which only pairs that occur take up memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel

Codes = NDArray[np.int32]

_INITIAL_SIZE = 1 << 10
_EMPTY = -1
# Knuth's multiplicative hashing: 2^64 divided by the golden ratio.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class PairIndex:
    """Pairs of codes, numbered 0, 1, 2, ... in order of appearance: an open-addressing hash table.

    Examples
    --------
    >>> pairs = PairIndex()
    >>> pairs.numbers(np.array([3, 3, 0, 3], np.int32), np.array([1, -1, 1, 1], np.int32))
    array([0, 1, 2, 0], dtype=int32)
    >>> pairs.left, pairs.right
    (array([3, 3, 0], dtype=int32), array([ 1, -1,  1], dtype=int32))
    """

    def __init__(self) -> None:
        self._slots: Codes = np.full(2 * _INITIAL_SIZE, _EMPTY, np.int32)
        self._keys: NDArray[np.int64] = np.empty(_INITIAL_SIZE, np.int64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def numbers(self, left: Codes, right: Codes) -> Codes:
        """Return the number of each pair; a new pair gets the next number."""
        numbers = np.empty(left.size, np.int32)
        done = 0
        while True:
            done, self._n = _number_pairs(left, right, self._slots, self._keys, self._n, numbers, done)
            if done == left.size:
                return numbers
            self._grow()

    @property
    def left(self) -> Codes:
        """The left code of each pair."""
        return (self._keys[: self._n] >> 32).astype(np.int32)

    @property
    def right(self) -> Codes:
        """The right code of each pair."""
        return self._keys[: self._n].astype(np.int32)

    def _grow(self) -> None:
        # At least half of the slots stay empty, which keeps searches short.
        self._keys = np.concatenate([self._keys, np.empty_like(self._keys)])
        self._slots = np.full(2 * self._keys.size, _EMPTY, np.int32)
        _insert_keys(self._slots, self._keys, self._n)


@kernel()
def _number_pairs(
    left: Codes, right: Codes, slots: Codes, keys: NDArray[np.int64], n: int, numbers: Codes, start: int
) -> tuple[int, int]:
    """Find or add pairs from row `start` until the table is full; return the next row and the number of pairs."""
    mask = np.uint64(slots.size - 1)
    for i in range(start, left.size):
        key = (np.int64(left[i]) << 32) | (np.int64(right[i]) & 0xFFFFFFFF)
        slot = _first_slot(key, mask)
        while slots[slot] != _EMPTY and keys[slots[slot]] != key:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == _EMPTY:
            if n == keys.size:
                return i, n
            keys[n] = key
            slots[slot] = n
            n += 1
        numbers[i] = slots[slot]
    return left.size, n


@kernel()
def _insert_keys(slots: Codes, keys: NDArray[np.int64], n: int) -> None:
    mask = np.uint64(slots.size - 1)
    for number in range(n):
        slot = _first_slot(keys[number], mask)
        while slots[slot] != _EMPTY:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@helper()
def _first_slot(key: np.int64, mask: np.uint64) -> np.uint64:
    # The upper bits of the product depend on all bits of the key.
    product = np.uint64(key) * _MULTIPLIER
    return (product ^ (product >> np.uint64(32))) & mask
