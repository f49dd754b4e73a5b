"""Encoding of users as feature vectors; the encoder is stored with the policy fitted on its features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairbandits.categorical import Categorical
from fairbandits.policies import Policy

Floats = NDArray[np.float64]
Features: TypeAlias = "csr_array[Any] | Floats"  # a string: csr_array cannot be subscripted before SciPy 1.16


@dataclass(frozen=True)
class ContextEncoder:
    """An encoder of user columns: numbers unchanged, text one-hot, in the order of the columns.

    A missing or unknown category is zero in all features of its column. Without any column there is one feature,
    a constant 1.

    Parameters
    ----------
    columns : sequence of str
        The columns, in order.
    categories : mapping of str to sequence of str
        The categories of each text column.

    Examples
    --------
    >>> encoder = ContextEncoder(("age", "city"), {"city": ("Paris", "Rome")})
    >>> encoder.features
    ('age', 'city=Paris', 'city=Rome')
    >>> encoder.encode([{"age": 31, "city": "Rome"}, {"age": 40, "city": None}]).toarray()
    array([[31.,  0.,  1.],
           [40.,  0.,  0.]])
    """

    columns: tuple[str, ...] = ()
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        if not self.columns:
            return ("constant",)
        return tuple(
            name
            for column in self.columns
            for name in (
                [f"{column}={category}" for category in self.categories[column]]
                if column in self.categories
                else [column]
            )
        )

    @property
    def width(self) -> int:
        """The number of features."""
        return sum(self._widths()) or 1

    def _widths(self) -> list[int]:
        return [len(self.categories[column]) if column in self.categories else 1 for column in self.columns]

    def assemble(self, n_rows: int, columns: Mapping[str, Categorical | Floats]) -> Features:
        """Return the features of columns that have been read: text as codes, numbers as floats."""
        if not self.columns:
            return np.ones((n_rows, 1))
        if not self.categories:
            return np.column_stack([np.asarray(columns[name]) for name in self.columns])
        starts = np.cumsum([0, *self._widths()]).tolist()
        indices = np.empty((n_rows, len(self.columns)), np.int64)
        values = np.ones((n_rows, len(self.columns)))
        for k, name in enumerate(self.columns):
            column = columns[name]
            if isinstance(column, Categorical):
                categories = enumerate(self.categories[name], starts[k])
                indices[:, k] = column.recoded({category: index for index, category in categories})
            else:
                indices[:, k], values[:, k] = starts[k], column
        is_known = indices >= 0
        indptr = np.concatenate([[0], np.cumsum(is_known.sum(axis=1))])
        return csr_array((values[is_known], indices[is_known], indptr), shape=(n_rows, self.width))

    def encode(self, users: Sequence[Mapping[str, Any]]) -> Features:
        """Encode users given as mappings of column to value, for serving a fitted policy."""
        columns: dict[str, Categorical | Floats] = {}
        for name in self.columns:
            values = [user.get(name) for user in users]
            if name in self.categories:
                columns[name] = Categorical.from_values(values, self.categories[name])
            else:
                columns[name] = self._numbers(name, values)
        return self.assemble(len(users), columns)

    @staticmethod
    def _numbers(name: str, values: list[Any]) -> Floats:
        try:
            return np.array([float(value) for value in values])
        except (TypeError, ValueError):
            wrong = next(value for value in values if not isinstance(value, int | float | np.number))
            raise ValueError(f"{name} must be a number, got {wrong!r}") from None

    def __or__(self, other: ContextEncoder) -> ContextEncoder:
        """Return the encoder with the categories of both, as needed for two parts of a log."""
        if other.columns != self.columns or other.categories.keys() != self.categories.keys():
            raise ValueError(
                "encoders must have the same columns to be combined, "
                f"got {list(self.columns)} and {list(other.columns)}"
            )
        both = {name: tuple(sorted({*self.categories[name], *other.categories[name]})) for name in self.categories}
        return ContextEncoder(self.columns, both)

    @classmethod
    def of(cls, policy: Policy) -> Self | None:
        """Return the encoder that a policy was fitted with; None if it was not fitted to a log."""
        return cls.from_dict(policy.metadata["encoder"]) if "encoder" in policy.metadata else None

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as JSON values, as policy files store it."""
        # The key is "words" in the policy files of all releases.
        return {"columns": list(self.columns), "words": {name: list(c) for name, c in self.categories.items()}}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the encoder from the result of `to_dict`."""
        try:
            categories = {str(name): tuple(map(str, known)) for name, known in plain["words"].items()}
            return cls(tuple(map(str, plain["columns"])), categories)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"encoder must have columns and words, got an invalid one ({error!r})") from None
