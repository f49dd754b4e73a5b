"""How a user's group is written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

GroupValue = str | int
Group = GroupValue | Mapping[str, GroupValue | None] | None
GroupKey = tuple[tuple[str, GroupValue], ...]

# The attribute of a group that is given as a plain value.
PLAIN = "group"


def as_group(group: Any) -> GroupKey:
    """Bring a group to its one form: pairs of attribute and value, the unknown ones (None, NaN) left out.

    Examples
    --------
    >>> as_group("female")
    (('group', 'female'),)
    >>> as_group({"sex": "female", "race": None})
    (('sex', 'female'),)
    >>> as_group(None)
    ()
    """
    if type(group) is str:  # the common case first: this runs at every round
        return ((PLAIN, group),)
    if isinstance(group, Mapping):
        return tuple((_attribute(name), _value(value)) for name, value in group.items() if not is_missing(value))
    return () if is_missing(group) else ((PLAIN, _value(group)),)


def as_groups(groups: Iterable[Any]) -> tuple[GroupKey, ...]:
    """Bring many groups to their one form; one and the same mapping, which may come often, is read once.

    Examples
    --------
    >>> as_groups(["female", None])
    ((('group', 'female'),), ())
    """
    listed = list(groups)  # which keeps them alive: no two have the same id
    keys = {number: as_group(group) for number, group in {id(group): group for group in listed}.items()}
    return tuple(keys[id(group)] for group in listed)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, or what data frames write in its place."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"  # noqa: PLR0124


def _attribute(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"an attribute of a group is named by a non-empty string; got {name!r}")
    return str(name)


def _value(value: Any) -> GroupValue:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int):
        return value
    raise ValueError(
        f"a group is a string or a whole number, or a mapping of attributes to such; got {value!r} "
        f"of type {type(value).__name__}. Bin numbers first; write None for a group that is not known"
    )
