"""Cells that are small enough to identify a person, and further cells that would reveal them.

The groups of one comparison add up to the whole log, and the groups of an intersection add up to the groups of its
attributes. A hidden number can therefore follow from the numbers that are shown. Further cells are hidden until no
hidden number can be derived: each sum has either no hidden part or hidden parts with at least `min_cell` users in
total, and the equations of all sums do not determine the number of any small cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_ROUNDING = 1500.0
# A cell: the attributes of a comparison, and the labels of one of its groups.
Cell = tuple[tuple[str, ...], tuple[Any, ...]]
# A sum: the cells that are added, and the cell that is their sum; None if they add up to the whole log.
Sum = tuple[frozenset[Cell], Cell | None]


def hidden_cells(users: Mapping[Cell, float], min_cell: int) -> set[Cell]:
    """Return the cells that are not shown.

    Parameters
    ----------
    users : mapping
        The number of users of every cell of all comparisons.
    min_cell : int
        The number of users that a cell needs to be shown.

    Examples
    --------
    >>> users = {(("sex",), (label,)): n for label, n in {"f": 400, "m": 300, "x": 3}.items()}
    >>> sorted(labels for _, labels in hidden_cells(users, 10))
    [('m',), ('x',)]
    """
    hidden = {cell for cell, n in users.items() if n < min_cell}
    small = set(hidden)
    sums = _sums(users) if hidden else []
    while hidden and (more := _revealing(users, sums, hidden, small, min_cell)) is not None:
        hidden.add(more)
    return hidden


def is_recognisable(users: float, min_cell: int) -> bool:
    """Return whether the number of users in a group could be inferred from its interval to within `min_cell`.

    Numbers are shown with three digits, and half the width of an interval is about `1.5 / sqrt(users)`. Rounding
    therefore leaves an uncertainty of about `users ** 1.5 / 1500` users.
    """
    return math.pow(users, 1.5) < _ROUNDING * min_cell


def _revealing(
    users: Mapping[Cell, float], sums: list[Sum], hidden: set[Cell], small: set[Cell], min_cell: int
) -> Cell | None:
    """Return a shown cell that helps to reveal hidden ones, or None if there is none."""
    for parts, total in sums:
        found = parts & hidden
        if not found or total in hidden:
            continue
        is_revealed = len(found) == 1 or sum(users[cell] for cell in found) < min_cell
        if is_revealed and (shown := _smallest(users, parts - hidden)):
            return shown
    for cell in _determined(sums, hidden) & small:
        lines = [parts | ({total} if total else set()) for parts, total in sums if cell in parts or cell == total]
        if shown := _smallest(users, frozenset().union(*lines) - hidden):
            return shown
    return None


def _smallest(users: Mapping[Cell, float], cells: frozenset[Cell]) -> Cell | None:
    # Ties are broken by label, so that the same log always gives the same report.
    return min(cells, key=lambda cell: (users[cell], str(cell)), default=None)


def _determined(sums: list[Sum], hidden: set[Cell]) -> set[Cell]:
    """Return the hidden cells whose numbers follow from the equations of all sums."""
    column = {cell: number for number, cell in enumerate(sorted(hidden, key=str))}
    rows = []
    for parts, total in sums:
        row = np.zeros(len(column))
        row[[column[cell] for cell in parts & hidden]] = 1.0
        if total in column:
            row[column[total]] = -1.0
        if row.any():
            rows.append(row)
    if not rows:
        return set()
    # A number is determined if it is the same in all solutions, that is, zero in every vector of the null space.
    _, values, vectors = np.linalg.svd(np.array(rows))
    null_space = vectors[np.count_nonzero(values > 1e-9) :]
    is_free = (np.abs(null_space) > 1e-9).any(axis=0)
    return {cell for cell, number in column.items() if not is_free[number]}


def _sums(users: Mapping[Cell, float]) -> list[Sum]:
    """Return all sums: the cells of a comparison that share the labels of some of its attributes."""
    attributes = list(dict.fromkeys(names for names, _ in users))
    sums: list[Sum] = []
    for whole in attributes:
        for part in ((), *attributes):
            if set(part) < set(whole):
                at = [whole.index(name) for name in part]
                lines: dict[tuple[Any, ...], set[Cell]] = {}
                for names, labels in users:
                    if names == whole:
                        lines.setdefault(tuple(labels[i] for i in at), set()).add((names, labels))
                sums += [(frozenset(cells), (part, key) if part else None) for key, cells in lines.items()]
    return sums
