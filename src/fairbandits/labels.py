"""Labels: the ids of arms, the values of groups and of matches. A label is text or an integer.

A single value must be text or an integer: `True` and `1.0` are both equal to `1`, so they would be merged with it,
or told apart from it, by accident. The values of a column have one type, so they cannot be confused: truth values
become "true" and "false", as in logs, and whole numbers become integers, because pandas stores integers as floats
if values are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import NoneType
from typing import Any

import numpy as np

from fairbandits.dataframes import as_column

LabelValue = str | int

_PLAIN = frozenset({str, int, NoneType})
# Beyond this, not every integer can be represented as a float.
_LARGEST_WHOLE = 2.0**53


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, pandas.NA or pandas.NaT."""
    if value is None or (isinstance(value, float | np.floating) and value != value):  # noqa: PLR0124
        return True
    return type(value).__name__ in {"NAType", "NaTType"}


def is_listed(values: Any) -> bool:
    """Return whether an object is an ordered collection of values: not text, a set, or a mapping."""
    return isinstance(values, Iterable) and not isinstance(values, str | bytes | AbstractSet | Mapping)


def as_label(value: Any, rule: str, hint: str = "") -> LabelValue:
    """Return a single value as a label; raise ValueError with the rule if it is not one.

    Parameters
    ----------
    value : any
        The value.
    rule : str
        The start of the error message: which value must be what.
    hint : str
        The end of the error message.

    Examples
    --------
    >>> as_label(np.int64(3), "arm id must be a string or an integer")
    3
    >>> as_label(1.0, "arm id must be a string or an integer")
    Traceback (most recent call last):
        ...
    ValueError: arm id must be a string or an integer, got 1.0 of type float; write 1 or '1'
    """
    plain = _plain(value)
    if type(plain) is str or type(plain) is int:
        return plain
    raise ValueError(f"{rule}, got {plain!r} of type {type(value).__name__}; {_remedy(plain)}{hint}")


def column_labels(values: Any, name: str) -> list[LabelValue | None] | None:
    """Return the labels of a column, None where one is missing; None if it is not a column.

    Parameters
    ----------
    values : any
        A column is a Series or an Index of a data frame, or a NumPy array of one dimension.
    name : str
        The name of the column, for errors.

    Examples
    --------
    >>> column_labels(np.array([True, False]), "groups")
    ['true', 'false']
    >>> column_labels(np.array([3.0, np.nan]), "groups")
    [3, None]
    >>> column_labels(np.array([0.5]), "groups")
    Traceback (most recent call last):
        ...
    ValueError: groups must have text or integers as values, got 0.5 in row 0; bin numbers first
    """
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension, got an array of shape {values.shape}")
        # As Python objects, some dates and durations would be integers.
        listed = list(values) if values.dtype.kind in "mM" else values.tolist()
    elif (column := as_column(values, name)) is not None:
        listed = column.to_list()
    else:
        return None
    if {*map(type, listed)} <= _PLAIN:
        return listed
    return _of_one_type([None if is_missing(value) else _plain(value) for value in listed], name)


def labels_of(values: Any, name: str) -> list[LabelValue | None]:
    """Return the labels of a column, or of a list of single values; None where one is missing."""
    labels = column_labels(values, name)
    if labels is not None:
        return labels
    listed = list(values)
    if {*map(type, listed)} <= _PLAIN:
        return listed
    rule = f"{name} must have text or integers as values"
    return [None if is_missing(value) else as_label(value, rule) for value in listed]


def _of_one_type(values: list[Any], name: str) -> list[LabelValue | None]:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return [None if value is None else str(value).lower() for value in values]
    if kinds == {float}:
        return [None if value is None else _whole(value, row, name) for row, value in enumerate(values)]
    if kinds <= {str, int}:
        return values
    if kinds <= {str, int, float, bool}:
        mixed = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"{name} must not mix types that may be equal, got {mixed}; convert the column, for example with "
            "astype(str)"
        )
    row, value = next((row, v) for row, v in enumerate(values) if type(v) not in _PLAIN)
    raise ValueError(
        f"{name} must have text or integers as values, got {value!r} of type {type(value).__name__} in row {row}; "
        f"{_remedy(value)}"
    )


def _whole(value: float, row: int, name: str) -> int:
    if value.is_integer() and abs(value) <= _LARGEST_WHOLE:
        return int(value)
    raise ValueError(f"{name} must have text or integers as values, got {value!r} in row {row}; {_remedy(value)}")


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python object, and a member of an enumeration to its value."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _remedy(value: Any) -> str:
    if isinstance(value, bool):
        return f"write '{str(value).lower()}' or {int(value)}"
    if isinstance(value, float):
        is_exact = value.is_integer() and abs(value) <= _LARGEST_WHOLE
        return f"write {int(value)} or '{int(value)}'" if is_exact else "bin numbers first"
    return "write it as text"
