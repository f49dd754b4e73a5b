"""How a user's group is written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

GroupValue = str | int
Group = GroupValue | Mapping[str, GroupValue | None] | None
GroupKey = tuple[tuple[str, GroupValue], ...]

# The attribute of a group that is given as a plain value.
PLAIN = "group"


def as_group(group: Any) -> GroupKey:
    """Bring a group to its one form: pairs of attribute and value, the unknown ones left out.

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
    if group is None:
        return ()
    if isinstance(group, Mapping):
        return tuple((_attribute(name), _value(value)) for name, value in group.items() if value is not None)
    return ((PLAIN, _value(group)),)


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
