"""Groups of users from the sensitive columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairbandits.contexts import FrameTable
from fairbandits.contexts.context_fitting import as_names

Group = str | int | None | dict[str, Any]


def group_columns(group: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns that define groups: one by name, or several.

    Examples
    --------
    >>> group_columns("sex"), group_columns(["sex", "race"])
    (('sex',), ('sex', 'race'))
    """
    columns = (group,) if isinstance(group, str) else as_names("group", group)
    if not columns:
        raise ValueError("group must name at least one column, got none")
    return columns


def read_groups(table: FrameTable, group: str | Sequence[str]) -> list[Group]:
    """Return the group of each row: a label for one column by name, a mapping for a list of columns."""
    columns = group_columns(group)
    table.require(columns, "group")
    labels = [table.labels(column) for column in columns]
    if isinstance(group, str):
        return list(labels[0])
    return [dict(zip(columns, row, strict=True)) for row in zip(*labels, strict=True)]


def sensitive_params(columns: Sequence[str], group: str | Sequence[str]) -> dict[str, Any]:
    """Return parameters by which policies can refer to sensitive columns, by name.

    These are the columns to drop, and pairs of columns that a user and the counterfactual twin exchange, for
    attributes with two values.

    Examples
    --------
    >>> sensitive_params(("age", "sex=f", "sex=m"), "sex")
    {'drop': ('sex=f', 'sex=m'), 'swap': (('sex=f', 'sex=m'),)}
    """
    found = {
        name: tuple(column for column in columns if column == name or column.startswith(f"{name}="))
        for name in group_columns(group)
    }
    drop = tuple(column for of_attribute in found.values() for column in of_attribute)
    swap = tuple(of_attribute for of_attribute in found.values() if len(of_attribute) == 2)
    return {"drop": drop, "swap": swap}
