"""Categorical columns: labels stored as integer codes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Label = str | int
Value = TypeVar("Value", bound=Hashable)


def codes_of(values: Sequence[Value]) -> tuple[NDArray[np.int64], list[Value]]:
    """Return values as codes, and the distinct values in the order of their appearance.

    Examples
    --------
    >>> codes_of(["b", "a", "b"])
    (array([0, 1, 0]), ['b', 'a'])
    """
    code = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(code.__getitem__, values), np.int64, len(values)), list(code)


@dataclass(frozen=True, eq=False)
class Categorical:
    """A column of labels stored as integer codes.

    Attributes
    ----------
    codes : array of int32
        The code of each row's label; -1 where the label is missing.
    labels : list
        The label of each code. In a log, the list grows from chunk to chunk, but a code keeps its label
        throughout.
    """

    codes: NDArray[np.int32]
    labels: list[Label]

    @classmethod
    def encode(cls, values: Sequence[Label | None]) -> Self:
        """Return labels as codes in the order of their appearance; None marks a missing label.

        Examples
        --------
        >>> Categorical.encode(["b", None, "b", 7])
        Categorical(codes=array([ 0, -1,  0,  1], dtype=int32), labels=['b', 7])
        """
        labels = [label for label in dict.fromkeys(values) if label is not None]
        return cls.from_values(values, labels)

    @classmethod
    def from_values(cls, values: Iterable[Any], labels: Sequence[Label]) -> Self:
        """Return values as codes of the given labels; any other value counts as missing.

        Examples
        --------
        >>> Categorical.from_values(["b", None, "b", "c"], ["a", "b"]).codes
        array([ 1, -1,  1, -1], dtype=int32)
        """
        code: Mapping[Any, int] = {label: number for number, label in enumerate(labels)}
        return cls(np.array([code.get(value, -1) for value in values], np.int32), list(labels))

    def take(self, rows: NDArray[np.bool_]) -> Categorical:
        """Return some of the rows."""
        return Categorical(self.codes[rows], self.labels)

    def first_rows(self) -> list[tuple[int, Label]]:
        """Return the labels that occur, in the order of appearance, each with its first row."""
        n = len(self.codes)
        first = np.full(len(self.labels) + 1, n)
        # Rows are assigned in reverse order, so the first row of each label remains. Rows without a label are in
        # the last entry.
        first[self.codes[::-1]] = np.arange(n)[::-1]
        found = zip(first[:-1].tolist(), self.labels, strict=True)
        return sorted(((row, label) for row, label in found if row < n), key=lambda pair: pair[0])

    def recoded(self, number: Mapping[Label, int]) -> NDArray[np.int64]:
        """Return the rows with other codes for the labels; -1 where a label has none."""
        return np.array([*(number.get(label, -1) for label in self.labels), -1])[self.codes]
