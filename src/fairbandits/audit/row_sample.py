"""The rows of a log in memory: all of them, or those of a random sample of users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.combinations import Combinations, merge_labels
from fairbandits.audit.unit_index import Keys
from fairbandits.audit.unit_sums import user_keys
from fairbandits.categorical import Categorical

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk
    from fairbandits.logs.log import Log

#: The number of rows to hold in memory; for a longer log, only the rows of a random sample of users are held.
MAX_ROWS = 1_000_000
_ALL = np.uint64(2**64 - 1)


class RowSample:
    """Rows with a reward: the user, the combination of groups, the reward and the factors.

    A sample consists of the users whose key does not exceed a limit. Keys are random numbers that depend on the
    user's id alone, so the sample is the same for all parts of a log, and whenever the same log is read.

    Parameters
    ----------
    attributes : sequence of str
        The attributes that define the groups.
    factors : sequence of str
        The factors.
    max_rows : int
        The number of rows to hold.

    Attributes
    ----------
    combinations : Combinations
        The combinations of groups.
    labels : dict of str to list
        The labels of each factor that is text.
    """

    def __init__(self, attributes: Sequence[str], factors: Sequence[str], max_rows: int = MAX_ROWS) -> None:
        self.combinations = Combinations(attributes)
        self.labels: dict[str, list[Any]] = {}
        self.factors, self.max_rows = tuple(factors), max_rows
        self._limit = _ALL
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._n = 0

    def add(self, chunk: Chunk) -> None:
        """Add the rows of a chunk."""
        columns = [self._values(factor, chunk.given[factor]) for factor in self.factors]
        keys = user_keys(chunk)
        rows: tuple[NDArray[Any], ...] = (keys, self.combinations.numbers(chunk.group), chunk.reward, *columns)
        self._append(rows, ~np.isnan(chunk.reward) & (keys <= self._limit))

    def merge(self, other: RowSample) -> None:
        """Add the rows of another part of the log, matching labels, because codes may differ."""
        combination, columns = self.combinations.merge(other.combinations), list(other.columns)
        columns[1] = combination[columns[1]]
        for number, factor in enumerate(self.factors, start=3):
            if factor in other.labels:
                self.labels[factor], code = merge_labels(self.labels.get(factor, []), other.labels[factor])
                columns[number] = code[columns[number]]
        self._limit = min(self._limit, other._limit)
        self._append(tuple(columns), np.ones(len(columns[0]), bool))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The keys, the combinations, the rewards and the factors (codes, or numbers) of all rows."""
        if len(self._parts) > 1:
            self._parts = [tuple(np.concatenate(column) for column in zip(*self._parts, strict=True))]
        return self._parts[0] if self._parts else (np.zeros(0, np.uint64),) * (3 + len(self.factors))

    @property
    def keys(self) -> Keys:
        """The user of each row."""
        return self.columns[0]

    @property
    def share(self) -> float:
        """The share of users in the sample; 1 if it is the whole log."""
        return float(self._limit) / float(_ALL)

    def factor(self, name: str) -> Categorical | NDArray[np.float64]:
        """Return the values of a factor, one for each row."""
        values = self.columns[3 + self.factors.index(name)]
        return Categorical(values, self.labels[name]) if name in self.labels else values

    def _values(self, factor: str, column: Categorical | NDArray[np.float64]) -> NDArray[Any]:
        if not isinstance(column, Categorical):
            return column
        self.labels[factor] = column.labels
        return column.codes

    def _append(self, rows: tuple[NDArray[Any], ...], is_chosen: NDArray[np.bool_]) -> None:
        self._parts.append(tuple(column[is_chosen] for column in rows))
        self._n += len(self._parts[-1][0])
        while self._n > self.max_rows and self._limit > 0:
            self._limit = self._limit >> np.uint64(1)
            kept = self.columns[0] <= self._limit
            self._parts = [tuple(column[kept] for column in self.columns)]
            self._n = int(kept.sum())


def sample_rows(log: Log, factors: Sequence[str] = (), max_rows: int = MAX_ROWS) -> RowSample:
    """Read the rows of a log, or of a part of one."""
    roles = log.roles
    rows = RowSample(roles.groups, factors, max_rows)
    for chunk in log.chunks(columns=[*roles.groups, *factors, *([roles.user] if roles.user else [])]):
        rows.add(chunk)
    return rows
