"""How a user's group is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

GroupValue = str | int
Group = GroupValue | Mapping[str, GroupValue | None] | None
GroupKey = tuple[tuple[str, GroupValue], ...]

#: The attribute of a group that is given as a single value.
DEFAULT_ATTRIBUTE = "group"


def as_group(group: Any) -> GroupKey:
    """Return a group in its canonical form: pairs of attribute and value, without unknown ones (None, NaN).

    Examples
    --------
    >>> as_group("female")
    (('group', 'female'),)
    >>> as_group({"sex": "female", "race": None})
    (('sex', 'female'),)
    >>> as_group(None)
    ()
    """
    if type(group) is str:  # the common case first: this runs in every round
        return ((DEFAULT_ATTRIBUTE, group),)
    if isinstance(group, Mapping):
        return tuple((_attribute(name), _value(value)) for name, value in group.items() if not is_missing(value))
    return () if is_missing(group) else ((DEFAULT_ATTRIBUTE, _value(group)),)


def as_groups(groups: Iterable[Any]) -> tuple[GroupKey, ...]:
    """Return many groups in their canonical form; a mapping that occurs often is read once.

    Examples
    --------
    >>> as_groups(["female", None])
    ((('group', 'female'),), ())
    """
    listed = list(groups)  # which keeps them alive: no two have the same id
    keys = {number: as_group(group) for number, group in {id(group): group for group in listed}.items()}
    return tuple(keys[id(group)] for group in listed)


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, or pandas.NA."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"  # noqa: PLR0124


def _attribute(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"attribute of a group must be a non-empty string, got {name!r}")
    return str(name)


def _value(value: Any) -> GroupValue:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int):
        return value
    raise ValueError(
        f"group must be a string, an integer, or a mapping of attributes to these, got {value!r} of type "
        f"{type(value).__name__}; bin numbers first, and give None for an unknown group"
    )
