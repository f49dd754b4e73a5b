"""Columns of contexts given by number or by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def column_numbers(parameter: str, wanted: Sequence[int | str], columns: Sequence[str] | None) -> list[int]:
    """Return the numbers of columns.

    Parameters
    ----------
    parameter : str
        The name of the parameter, for errors.
    wanted : sequence of int or str
        The columns, by number or by name.
    columns : sequence of str, optional
        The names of all columns.

    Examples
    --------
    >>> column_numbers("drop", ["sex", 0], ["age", "sex"])
    [1, 0]
    """
    place = {name: number for number, name in enumerate(() if columns is None else columns)}
    return [_number(parameter, column, place, columns is None) for column in wanted]


def _number(parameter: str, column: Any, place: dict[str, int], is_nameless: bool) -> int:
    if isinstance(column, str):
        if column not in place:
            remedy = "pass columns=[...] to name them" if is_nameless else "columns does not contain it"
            raise ValueError(f"{parameter} must contain column names, got {column!r}; {remedy}")
        return place[column]
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and column >= 0:
        return int(column)
    raise ValueError(f"{parameter} must contain column names, or numbers from 0, got {column!r}")


def check_columns(parameter: str, numbers: Sequence[int], columns: Sequence[str] | None, width: int) -> None:
    """Raise ValueError for columns that contexts of the given width do not have."""
    if columns is not None and len(columns) != width:
        raise ValueError(f"columns must have one name per column of contexts, got {len(columns)} for {width}")
    for number in numbers:
        if number >= width:
            raise ValueError(f"{parameter} must have columns in 0..{width - 1}, got {number}")
