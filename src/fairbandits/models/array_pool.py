"""A pool of rows in arrays, which are reserved one by one and given back."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ArrayPool:
    """Arrays of the same length; a place is a row in each of them.

    Free places hold zeros, and the first free place is always taken. So equal histories give equal arrays, and
    memory that was never written to costs nothing.

    Parameters
    ----------
    rows : mapping of str to tuple
        The shape and the type of a row, by name.

    Attributes
    ----------
    n_taken : int
        The number of places that are taken.

    Examples
    --------
    >>> pool = ArrayPool({"x": ((2,), np.float64)})
    >>> pool.take(), pool.take(), pool["x"].shape
    (0, 1, (2, 2))
    """

    def __init__(self, rows: dict[str, tuple[tuple[int, ...], Any]]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {
            name: np.zeros((0, *shape), dtype) for name, (shape, dtype) in rows.items()
        }
        self._free: list[int] = []
        self._size = 0
        self.n_taken = 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def take(self) -> int:
        """Reserve the first free place; if there is none, double the arrays."""
        if not self._free:
            self._grow(2 * self._size or 1)
        self.n_taken += 1
        return heapq.heappop(self._free)

    def take_many(self, n: int) -> NDArray[np.int64]:
        """Reserve the first n free places, in order; the arrays grow at most once."""
        self.reserve(n)
        self._free.sort()  # still a heap
        taken = np.array(self._free[:n], np.int64)
        del self._free[:n]
        self.n_taken += n
        return taken

    def reserve(self, n: int) -> None:
        """Make sure that n places are free."""
        missing = n - len(self._free)
        if missing > 0:
            self._grow(max(2 * self._size, self._size + missing))

    def give_back_many(self, places: NDArray[np.int64]) -> None:
        """Free places that hold zeros."""
        if places.size:  # sorting all free places takes long
            self._free = sorted([*self._free, *places.tolist()])
            self.n_taken -= len(places)

    def give_back(self, place: int) -> None:
        """Free a place, and clear its content."""
        for array in self.arrays.values():
            array[place] = 0
        self.n_taken -= 1
        heapq.heappush(self._free, place)

    def used(self) -> dict[str, NDArray[Any]]:
        """Return the arrays up to the last taken place."""
        free = set(self._free)
        n = next((place + 1 for place in reversed(range(self._size)) if place not in free), 0)
        return {name: array[:n] for name, array in self.arrays.items()}

    def restore(self, arrays: dict[str, NDArray[Any]], taken: Iterable[int]) -> None:
        """Restore arrays that `used` returned, given the places that are taken."""
        ours = {name: np.array(arrays[name]) for name in self.arrays}
        (size,) = {len(array) for array in ours.values()}
        places = sorted(taken)
        if len(set(places)) < len(places) or not all(0 <= place < size for place in places):
            raise ValueError(f"a place is taken twice, or is not one of the {size} places")
        self.arrays, self._size, self.n_taken = ours, size, len(places)
        self._free = sorted(set(range(size)) - set(places))

    def _grow(self, size: int) -> None:
        # All arrays are allocated before any is replaced, so that nothing changes if memory runs out.
        grown = {name: np.zeros((size, *array.shape[1:]), array.dtype) for name, array in self.arrays.items()}
        for name, array in self.arrays.items():
            grown[name][: self._size] = array
        self.arrays = grown
        self._free += range(self._size, size)  # sorted, and therefore a heap
        self._size = size
