"""Combinations of groups that occur in a log, numbered in order of appearance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.pair_index import Codes, PairIndex
from fairbandits.categorical import Categorical

# With more combinations of groups than this, no comparison is possible, and memory would grow with the log.
MAX_GROUPS = 10_000


class Combinations:
    """Combinations of the groups of several attributes.

    Parameters
    ----------
    attributes : sequence of str
        The attributes.

    Attributes
    ----------
    labels : dict of str to list
        By attribute, the label of each group's code.
    """

    def __init__(self, attributes: Sequence[str]) -> None:
        self.labels: dict[str, list[Any]] = {attribute: [] for attribute in attributes}
        # The first attribute numbers its own groups; each further attribute is paired with the ones before it.
        self._pairs = [PairIndex() for _ in attributes[1:]]

    def __len__(self) -> int:
        if self._pairs:
            return len(self._pairs[-1])
        return len(next(iter(self.labels.values()))) + 1

    def numbers(self, group: Mapping[str, Categorical]) -> Codes:
        """Return the combination of each row, given its group by attribute."""
        self.labels = {attribute: group[attribute].labels for attribute in self.labels}
        return self._numbers([group[attribute].codes for attribute in self.labels])

    def merge(self, other: Combinations) -> Codes:
        """Add the combinations of another part of a log; return the number of each of them in this object."""
        columns = []
        for attribute, codes in zip(other.labels, other.codes.T, strict=True):
            self.labels[attribute], code = merge_labels(self.labels[attribute], other.labels[attribute])
            columns.append(code[codes])
        return self._numbers(columns)

    @property
    def codes(self) -> Codes:
        """The code of each attribute (columns) in each combination (rows); -1 if it is unknown.

        Some combinations may have no decisions.
        """
        columns: list[Codes] = []
        numbers = np.arange(len(self), dtype=np.int32)
        for pairs in reversed(self._pairs):
            columns.append(pairs.right[numbers])
            numbers = pairs.left[numbers]
        return np.stack([numbers - 1, *reversed(columns)], axis=1)

    @property
    def error(self) -> str | None:
        """The error message if there are too many combinations; None otherwise."""
        if len(self) <= MAX_GROUPS:
            return None
        return (
            f"groups by {', '.join(self.labels)} must have at most {MAX_GROUPS:,} combinations, got more; "
            "leave out ids, and bin numeric columns first"
        )

    def _numbers(self, columns: Sequence[Codes]) -> Codes:
        numbers: Codes = columns[0] + np.int32(1)
        for pairs, codes in zip(self._pairs, columns[1:], strict=True):
            numbers = pairs.numbers(numbers, codes)
        return numbers


def merge_labels(ours: Sequence[Any], theirs: Sequence[Any]) -> tuple[list[Any], NDArray[np.int32]]:
    """Return the union of the labels, and our code for each of their codes; the last entry maps -1 to -1."""
    code: Mapping[Any, int] = {label: number for number, label in enumerate(dict.fromkeys([*ours, *theirs]))}
    return [*code], np.array([*(code[label] for label in theirs), -1], np.int32)
