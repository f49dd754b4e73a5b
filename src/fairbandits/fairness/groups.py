"""Users' groups, in any of the forms in which they can be given."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from fairbandits.dataframes import as_column, as_frame, column_names, index_of
from fairbandits.labels import as_label, column_labels, is_missing

GroupValue = str | int
Group = GroupValue | Mapping[str, GroupValue | None] | None
GroupKey = tuple[tuple[str, GroupValue], ...]

#: The attribute of a group that is given as a single value.
DEFAULT_ATTRIBUTE = "group"

_RULE = "group must be a string, an integer, or a mapping of attributes to these"


def as_group(group: Any) -> GroupKey:
    """Return a group in its canonical form: pairs of attribute and value, without unknown values (None, NaN).

    A row of a data frame counts as a mapping: a pandas Series whose index contains the attributes, or a frame with
    one row.

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
    if is_missing(group):
        return ()
    frame = as_frame(group, "group")
    if frame is not None:
        return _of_one_row(frame)
    row = as_column(group, "group")
    return ((DEFAULT_ATTRIBUTE, _value(group)),) if row is None else as_group(_as_mapping(row))


def as_groups(groups: Any) -> tuple[GroupKey, ...]:
    """Return many groups in their canonical form; a string or a mapping that occurs often is read once.

    Examples
    --------
    >>> as_groups(["female", None])
    ((('group', 'female'),), ())
    """
    if type(groups) is not list and type(groups) is not tuple:
        columns = group_columns(groups)
        if columns is not None:
            return _keys(columns)
    if {*map(type, groups)} == {str}:
        by_name = {group: as_group(group) for group in {*groups}}
        return tuple(map(by_name.__getitem__, groups))
    listed = list(groups)  # keeps them alive, so that no two have the same id
    keys = {number: as_group(group) for number, group in {id(group): group for group in listed}.items()}
    return tuple(keys[id(group)] for group in listed)


def group_columns(groups: Any) -> dict[str, list[GroupValue | None]] | None:
    """Return the values of each attribute, from a frame or one of its columns; None if this is a list of groups.

    Each column of a frame is an attribute; so is a single named column. The values of a column or array without a
    name belong to the default attribute.
    """
    if isinstance(groups, AbstractSet):
        raise ValueError(
            f"groups must be ordered, got a {type(groups).__name__}; pass a list with one group per user"
        )
    if isinstance(groups, np.ndarray) and groups.ndim != 1:
        raise ValueError(
            f"groups must have one entry per user, got an array of shape {groups.shape}; pass a data frame, or a "
            "mapping for each user, so that attributes have names"
        )
    frame = as_frame(groups, "groups")
    if frame is not None:
        names = column_names(frame, "groups")
        return {name: column_labels(frame[name], f"groups[{name!r}]") or [] for name in names}
    column = groups if isinstance(groups, np.ndarray) else as_column(groups, "groups")
    if column is None or any(isinstance(each, Mapping) for each in column):
        return None
    name = getattr(column, "name", None)
    if name is None or name == "":
        return {DEFAULT_ATTRIBUTE: column_labels(column, "groups") or []}
    return {_attribute(name): column_labels(column, f"groups[{name!r}]") or []}


def _keys(columns: Mapping[str, list[GroupValue | None]]) -> tuple[GroupKey, ...]:
    """Return the canonical form of the groups of many users, by attribute."""
    users = list(zip(*columns.values(), strict=True))
    keys = {
        values: tuple((name, value) for name, value in zip(columns, values, strict=True) if value is not None)
        for values in set(users)
    }
    return tuple(keys[values] for values in users)


def _of_one_row(frame: Any) -> GroupKey:
    keys = _keys(group_columns(frame) or {})
    if len(keys) != 1:
        raise ValueError(
            f"group must describe one user, got a data frame with {len(keys)} row(s); use choose_many"
        )
    return keys[0]


def _as_mapping(row: Any) -> dict[str, Any]:
    """Return a row of a pandas frame as a mapping."""
    index = index_of(row)
    if index is None or not all(isinstance(name, str) for name in index):
        raise ValueError(
            f"{_RULE}, got a {type(row).__name__} whose index has no attributes; use choose_many for many users"
        )
    values = dict(zip(index, row.to_list(), strict=True))
    for name, value in values.items():
        if isinstance(value, bool | float | np.bool_) and not is_missing(value):
            raise ValueError(
                f"group must have strings or integers as values, got {value} for {name!r}: extracting a row "
                "changes the types of its columns; pass a data frame with one row, such as frame.loc[[label]]"
            )
    return values


def _attribute(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"attribute of a group must be a non-empty string, got {name!r}")
    return str(name)


def _value(value: Any) -> GroupValue:
    return as_label(value, _RULE, ", and give None for an unknown group")
