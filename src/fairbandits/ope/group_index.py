"""Numbers for the groups of a log, under which sums are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical, Label

Ints = NDArray[np.int64]

#: The number of the group that contains all rows.
OVERALL = 0


class GroupIndex:
    """Group numbers: 0 for all rows, then the groups of one attribute after the other.

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
            # Sorted by name, so that the sign of a gap does not depend on the order of the log.
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
        """Return the numbers of rows: an array of shape (n_rows, 1 + attributes), -1 where a group is unknown."""
        numbers = np.full((n_rows, 1 + len(self._numbers)), OVERALL)
        for column, (attribute, known) in enumerate(self._numbers.items(), start=1):
            numbers[:, column] = columns[attribute].recoded(known)
        return numbers

    def decode(self, numbers: Ints) -> list[dict[str, Label]]:
        """Return the groups of rows as policies take them, from the result of `encode`."""
        names = {number: (attribute, label) for attribute, label, number in self.items()}
        distinct, inverse = np.unique(numbers[:, 1:], axis=0, return_inverse=True)
        groups = [dict(names[number] for number in row if number in names) for row in distinct.tolist()]
        return [groups[i] for i in inverse.reshape(-1).tolist()]
