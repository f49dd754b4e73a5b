"""A summary of the recommendations of a run, by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class GroupScores:
    """The recommendations for the users in a group.

    Attributes
    ----------
    attribute : str
        The sensitive attribute.
    group : str, int, bool or None
        The value of the attribute; None for users whose group is unknown.
    users : int
        The number of users.
    mean_score : float
        The mean score of the items recommended to them.
    """

    attribute: str
    group: Any
    users: int
    mean_score: float


@dataclass
class ScoreSums:
    """Counts and sums of scores, overall and by group, to which the rows of blocks are added in order.

    Attributes
    ----------
    attributes : sequence of str
        The columns of the groups.
    k : int
        The number of rows per user.
    """

    attributes: Sequence[str]
    k: int
    rows: int = 0
    total: float = 0.0
    _by_group: dict[tuple[str, Any], tuple[int, float]] = field(default_factory=dict)

    def add(self, table: Any) -> None:
        """Add rows of the output."""
        self.rows += len(table)
        self.total += table["score"].to_numpy().sum()
        for attribute in self.attributes:
            sums = table.group_by(attribute, use_threads=False).aggregate([("score", "count"), ("score", "sum")])
            for row in sums.to_pylist():
                n, total = self._by_group.get((attribute, row[attribute]), (0, 0.0))
                of_group = n + row["score_count"], total + row["score_sum"]
                self._by_group[attribute, row[attribute]] = of_group

    @property
    def users(self) -> int:
        """The number of users."""
        return self.rows // self.k

    def groups(self) -> tuple[GroupScores, ...]:
        """Return the groups by attribute and name; users of unknown group come last."""
        order = {attribute: place for place, attribute in enumerate(self.attributes)}
        return tuple(
            GroupScores(attribute, group, n // self.k, total / n)
            for (attribute, group), (n, total) in sorted(
                self._by_group.items(), key=lambda item: (order[item[0][0]], item[0][1] is None, str(item[0][1]))
            )
        )
