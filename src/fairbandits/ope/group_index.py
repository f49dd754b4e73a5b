"""Numbers for the groups of a log, by which sums are indexed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical, Label

Ints = NDArray[np.int64]

#: The number of the group that contains all rows.
OVERALL = 0
# The largest table of combinations of groups.
_MAX_KEYS = 1 << 20


class GroupIndex:
    """Group numbers: 0 for all rows, then the groups of one attribute after another.

    Parameters
    ----------
    labels : mapping of str to sequence
        The groups of each attribute.

    Examples
    --------
    >>> groups = GroupIndex({"sex": ["male", "female"], "race": ["Black"]})
    >>> len(groups), groups.numbers("sex")
    (4, {'female': 1, 'male': 2})
    """

    def __init__(self, labels: Mapping[str, Sequence[Label]]) -> None:
        self._numbers: dict[str, dict[Label, int]] = {}
        n = 1
        for attribute, known in labels.items():
            # Groups are sorted by name, so that the sign of a gap does not depend on the order of the log.
            self._numbers[attribute] = {label: n + i for i, label in enumerate(sorted(known, key=str))}
            n += len(known)
        self._n = n

    def __len__(self) -> int:
        return self._n

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(self._numbers)

    def numbers(self, attribute: str) -> dict[Label, int]:
        """Return the numbers of the groups of an attribute."""
        return self._numbers[attribute]

    def items(self) -> Iterator[tuple[str, Label, int]]:
        """Yield the attribute, the label and the number of each group."""
        for attribute, numbers in self._numbers.items():
            for label, number in numbers.items():
                yield attribute, label, number

    def encode(self, columns: Mapping[str, Categorical], n_rows: int) -> Ints:
        """Return the group numbers of rows, -1 where unknown, as an array of shape (n_rows, 1 + attributes)."""
        numbers = np.full((n_rows, 1 + len(self._numbers)), OVERALL)
        for column, (attribute, known) in enumerate(self._numbers.items(), start=1):
            numbers[:, column] = columns[attribute].recoded(known)
        return numbers

    def decode(self, numbers: Ints) -> list[dict[str, Label]]:
        """Return the groups of rows in the form that policies take, given the result of `encode`."""
        names = {number: (attribute, label) for attribute, label, number in self.items()}
        distinct, inverse = distinct_rows(numbers[:, 1:])
        groups = [dict(names[number] for number in row if number in names) for row in distinct.tolist()]
        return [groups[i] for i in inverse.tolist()]


def distinct_rows(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows of a matrix of small integers, and the number of each row among them.

    The result is the same as that of `numpy.unique`, which sorts rows and is many times slower.

    Examples
    --------
    >>> distinct, inverse = distinct_rows(np.array([[2, -1], [0, 5], [2, -1]]))
    >>> distinct.tolist(), inverse.tolist()
    ([[0, 5], [2, -1]], [1, 0, 1])
    """
    if not numbers.size:
        return numbers[:1], np.zeros(len(numbers), np.int64)
    low = numbers.min(axis=0)
    spans = numbers.max(axis=0) - low + 1
    if np.prod(spans.astype(float)) > _MAX_KEYS:
        distinct, inverse = np.unique(numbers, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)
    key = np.zeros(len(numbers), np.int64)
    for column, (start, span) in enumerate(zip(low, spans, strict=True)):
        key = key * span + (numbers[:, column] - start)
    present = np.flatnonzero(np.bincount(key))
    positions = np.zeros(int(present[-1]) + 1, np.int64)
    positions[present] = np.arange(len(present))
    rows = np.empty((len(present), numbers.shape[1]), np.int64)
    remainder = present
    for column in range(numbers.shape[1] - 1, -1, -1):
        remainder, rows[:, column] = np.divmod(remainder, spans[column])
    return rows + low, positions[key]
