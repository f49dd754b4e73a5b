"""Suppression of cells that are small enough to identify a person."""

from __future__ import annotations

from collections.abc import Sequence

from fairbandits.audit.results import Comparison, GroupResult
from fairbandits.audit.small_cells import Cell, hidden_cells


class Suppression:
    """The groups whose numbers are not shown.

    Groups with fewer than `min_cell` users are hidden, as are groups that would reveal them (see
    `small_cells.py`).

    Parameters
    ----------
    comparisons : sequence of Comparison
        All comparisons that are shown.
    min_cell : int
        The number of users that a group needs to be shown.

    Attributes
    ----------
    min_cell : int
        As above.
    """

    def __init__(self, comparisons: Sequence[Comparison] = (), min_cell: int = 0) -> None:
        self.min_cell = min_cell
        self._users: dict[Cell, float] = {
            (comparison.attributes, group.labels): group.users
            for comparison in comparisons
            for group in comparison.groups
        }
        self._small = {cell for cell, users in self._users.items() if users < min_cell}
        self._hidden = hidden_cells(self._users, min_cell)

    def is_small(self, comparison: Comparison, group: GroupResult) -> bool:
        """Return whether a group has too few users for any of its numbers to be shown."""
        return (comparison.attributes, group.labels) in self._small

    def is_hidden(self, comparison: Comparison, group: GroupResult) -> bool:
        """Return whether the numbers of a group are not shown."""
        return (comparison.attributes, group.labels) in self._hidden

    def count(self, comparison: Comparison, group: GroupResult, value: float) -> str:
        """Return a count of a group as text, or the text that replaces a hidden count."""
        if self.is_small(comparison, group):
            return f"< {self.min_cell:,}"
        return "suppressed" if self.is_hidden(comparison, group) else f"{value:,.0f}"

    def hides_small_groups(self, comparison: Comparison) -> bool:
        """Return whether the number of users in groups that are too small to compare is not shown."""
        return any(self.is_hidden(comparison, group) for group in comparison.too_small)
