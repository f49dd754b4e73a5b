"""Places in arrays, handed out one by one and given back."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Pool:
    """Arrays of the same length, of which a place is a line in each of them.

    A place that is free holds zeros, and the first free one is taken: what is in the arrays follows from what was
    taken and given back, and memory that was never written to costs none.

    Parameters
    ----------
    lines : mapping of str to tuple
        By name, the shape of a line and its type.

    Examples
    --------
    >>> pool = Pool({"x": ((2,), np.float64)})
    >>> pool.take(), pool.take(), pool["x"].shape
    (0, 1, (2, 2))
    """

    def __init__(self, lines: dict[str, tuple[tuple[int, ...], Any]]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {
            name: np.zeros((0, *shape), dtype) for name, (shape, dtype) in lines.items()
        }
        self._free: list[int] = []
        self._size = 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def take(self) -> int:
        """Take the first place that is free, and make room for as many again where there is none."""
        if not self._free:
            self._grow(2 * self._size or 1)
        return heapq.heappop(self._free)

    def give_back(self, place: int) -> None:
        """Let go of a place, and of what it holds."""
        for array in self.arrays.values():
            array[place] = 0
        heapq.heappush(self._free, place)

    def used(self) -> dict[str, NDArray[Any]]:
        """Give the arrays up to the last place that is taken."""
        free = set(self._free)
        n = next((place + 1 for place in reversed(range(self._size)) if place not in free), 0)
        return {name: array[:n] for name, array in self.arrays.items()}

    def restore(self, arrays: dict[str, NDArray[Any]], taken: Iterable[int]) -> None:
        """Take the arrays that `used` gave, among others, and say which of their places are taken."""
        ours = {name: np.array(arrays[name]) for name in self.arrays}
        (size,) = {len(array) for array in ours.values()}
        places = sorted(taken)
        if len(set(places)) < len(places) or not all(0 <= place < size for place in places):
            raise ValueError(f"a place is taken twice, or is none of the {size} that there are")
        self.arrays, self._size = ours, size
        self._free = sorted(set(range(size)) - set(places))

    def _grow(self, size: int) -> None:
        for name, array in self.arrays.items():
            grown = np.zeros((size, *array.shape[1:]), array.dtype)
            grown[: self._size] = array
            self.arrays[name] = grown
        self._free += range(self._size, size)  # sorted, and so a heap
        self._size = size
