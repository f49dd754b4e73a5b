"""Suppression of cells that are small enough to identify a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairbandits.audit.results import Comparison, GroupResult

# A cell: the attributes of a comparison, and the labels of one of its groups.
Cell = tuple[tuple[str, ...], tuple[Any, ...]]


class Suppression:
    """The groups whose numbers are not shown.

    Groups with fewer than `min_cell` users are hidden. The groups of one comparison add up to the log, and those
    of an intersection to the groups of its attributes, so one hidden number could be computed from the others.
    Further groups are therefore hidden until every such sum has no hidden part, or at least two.

    Parameters
    ----------
    comparisons : sequence of Comparison
        All comparisons that are shown.
    min_cell : int
        The number of users from which on a group is shown.

    Attributes
    ----------
    min_cell : int
        As above.
    """

    def __init__(self, comparisons: Sequence[Comparison] = (), min_cell: int = 0) -> None:
        self.min_cell = min_cell
        self._users = {
            (comparison.attributes, group.labels): group.users
            for comparison in comparisons
            for group in comparison.groups
        }
        self._small = {cell for cell, users in self._users.items() if users < min_cell}
        self._hidden = set(self._small)
        if self._small:
            self._hide_complements([comparison.attributes for comparison in comparisons])

    def is_small(self, comparison: Comparison, group: GroupResult) -> bool:
        """Return whether a group has too few users for any of its numbers to be shown."""
        return (comparison.attributes, group.labels) in self._small

    def is_hidden(self, comparison: Comparison, group: GroupResult) -> bool:
        """Return whether the counts of a group are not shown."""
        return (comparison.attributes, group.labels) in self._hidden

    def count(self, comparison: Comparison, group: GroupResult, value: float) -> str:
        """Return a count of a group, or what is shown instead."""
        if self.is_small(comparison, group):
            return f"< {self.min_cell:,}"
        return "suppressed" if self.is_hidden(comparison, group) else f"{value:,.0f}"

    def hides_small_groups(self, comparison: Comparison) -> bool:
        """Return whether the number of users in groups that are too small to compare is not shown."""
        return any(self.is_hidden(comparison, group) for group in comparison.too_small)

    def _hide_complements(self, attributes: list[tuple[str, ...]]) -> None:
        sums = [line for whole in attributes for part in ((), *attributes) for line in self._sums(whole, part)]
        is_done = False
        while not is_done:
            is_done = True
            for cells in sums:
                if len(self._hidden & cells) != 1:
                    continue
                if shown := [cell for cell in cells if cell not in self._hidden]:
                    # The label decides between equal counts, so that the same log gives the same report.
                    self._hidden.add(min(shown, key=lambda cell: (self._users[cell], str(cell))))
                    is_done = False

    def _sums(self, whole: tuple[str, ...], part: tuple[str, ...]) -> Iterable[set[Cell]]:
        """Return the sets of groups of which one is the sum of the others, or all add up to the log."""
        if not set(part) < set(whole):
            return []
        at = [whole.index(name) for name in part]
        lines: dict[tuple[Any, ...], set[Cell]] = {}
        for attributes, labels in self._users:
            if attributes == whole:
                lines.setdefault(tuple(labels[i] for i in at), set()).add((attributes, labels))
        for labels, cells in lines.items():
            if (part, labels) in self._users:
                cells.add((part, labels))
        return lines.values()
