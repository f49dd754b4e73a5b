"""The groups of a log, numbered: sums are kept for each, and for everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical, Label

Ints = NDArray[np.int64]

#: The cell of all rows.
ALL = 0


class GroupIndex:
    """Cell 0 is everybody; then come the groups of one attribute after the other.

    Parameters
    ----------
    labels : mapping of str to sequence
        By attribute, its groups.

    Examples
    --------
    >>> cells = GroupIndex({"sex": ["male", "female"], "race": ["Black"]})
    >>> len(cells), cells.groups("sex")
    (4, {'female': 1, 'male': 2})
    """

    def __init__(self, labels: Mapping[str, Sequence[Label]]) -> None:
        self._places: dict[str, dict[Label, int]] = {}
        n = 1
        for attribute, known in labels.items():
            # In the order of their names: which group is subtracted from which must not depend on the log's order.
            self._places[attribute] = {label: n + i for i, label in enumerate(sorted(known, key=str))}
            n += len(known)
        self._n = n

    def __len__(self) -> int:
        return self._n

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(self._places)

    def groups(self, attribute: str) -> dict[Label, int]:
        """Give the groups of an attribute, each with its cell."""
        return self._places[attribute]

    def named(self) -> Iterator[tuple[str, Label, int]]:
        """Give every group: attribute, label, cell."""
        for attribute, places in self._places.items():
            for label, cell in places.items():
                yield attribute, label, cell

    def of(self, group: Mapping[str, Categorical], n_rows: int) -> Ints:
        """Give the cells of rows: an array of shape (n_rows, 1 + attributes), -1 where a group is not known."""
        cells = np.full((n_rows, 1 + len(self._places)), ALL)
        for column, (attribute, places) in enumerate(self._places.items(), start=1):
            cells[:, column] = group[attribute].recoded(places)
        return cells

    def as_groups(self, cells: Ints) -> list[dict[str, Label]]:
        """Give the groups of rows as policies take them, from what `of` gave."""
        names = {cell: (attribute, label) for attribute, label, cell in self.named()}
        distinct, place = np.unique(cells[:, 1:], axis=0, return_inverse=True)
        groups = [dict(names[cell] for cell in line if cell in names) for line in distinct.tolist()]
        return [groups[i] for i in place.reshape(-1).tolist()]
