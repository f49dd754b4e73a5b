"""Contexts that are given as data frames: numbers, with the names of their columns and of their arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arms
from fairbandits.dataframes import as_frame, column_names, index_of
from fairbandits.labels import is_missing

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NamedMatrix:
    """The numbers of a data frame, or of one frame per user.

    Attributes
    ----------
    names : tuple of str
        The names of its columns.
    values : array of shape (n_rows, n_columns), or (n_users, n_rows, n_columns)
        The numbers, with NaN where one is missing.
    arms : tuple of ids, or None
        The ids in the index; None for a default index, or for a library without indexes.
    """

    names: tuple[str, ...]
    values: Floats
    arms: tuple[ArmId, ...] | None

    def arms_or(self, arms: Any, name: str = "contexts") -> Any:
        """Return the arms that were given, or those in the index; raise ValueError if the two differ."""
        if self.arms is None:
            return arms
        if arms is not None and as_arms(arms) != self.arms:
            raise ValueError(
                f"arms must match the index of {name} if both are given, got other ids; drop the index "
                "(reset_index(drop=True)), or omit arms"
            )
        return self.arms


def as_named_matrix(frame: Any, name: str, *, is_indexed: bool = True) -> NamedMatrix | None:
    """Return a data frame as numbers; None if the value is not a data frame.

    Parameters
    ----------
    frame : any
        The value to read.
    name : str
        The name of the parameter, for errors.
    is_indexed : bool
        Whether the index names the arms.
    """
    found = as_frame(frame, name)
    if found is None:
        return None
    return NamedMatrix(column_names(found, name), _floats(found, name), _arms(found, name) if is_indexed else None)


def stack_frames(frames: Sequence[Any]) -> NamedMatrix | None:
    """Return the frames of many users, which must have the same columns and index; None if they are not frames."""
    matrices = [as_named_matrix(frame, "contexts") for frame in frames]
    found = [matrix for matrix in matrices if matrix is not None]
    if not found:
        return None
    if len(found) < len(matrices):
        user = matrices.index(None)
        raise ValueError(
            f"contexts must be a data frame for every user, or for none, got {type(frames[user]).__name__} for "
            f"user {user}"
        )
    first = found[0]
    for user, matrix in enumerate(found):
        for what, ours, theirs in (("columns", first.names, matrix.names), ("index", first.arms, matrix.arms)):
            if ours != theirs:
                raise ValueError(
                    f"contexts of all users must have the same {what}, got a difference between users 0 "
                    f"and {user}; {_REMEDY[what]}"
                )
        if matrix.values.shape != first.values.shape:
            raise ValueError(
                "contexts of all users must have one row per arm on offer, got "
                f"{len(matrix.values)} row(s) for user {user} and {len(first.values)} for user 0; restrict the "
                "arms of each user with eligible"
            )
    return NamedMatrix(first.names, np.stack([matrix.values for matrix in found]), first.arms)


_REMEDY = {
    "columns": "select the same columns: frame[names]",
    "index": "offer the same arms in the same order, and restrict the arms of each user with eligible",
}


def _arms(frame: Any, name: str) -> tuple[ArmId, ...] | None:
    index = index_of(frame)
    if index is None:
        return None
    if getattr(index, "nlevels", 1) > 1:
        raise ValueError(
            f"{name} must have a single id per row as its index, got {index.nlevels} levels; join them, or drop "
            "the index (reset_index(drop=True))"
        )
    for each in index:
        if not isinstance(each, str | int | np.integer) or isinstance(each, bool):
            raise ValueError(
                f"{name} must have text or integers as index, which names the arms, got {each!r}; convert it, or "
                "drop it (reset_index(drop=True))"
            )
    return as_arms(index)


def _floats(frame: Any, name: str) -> Floats:
    """Return the numbers of a frame."""
    dtypes = getattr(frame, "dtypes", None)
    # The values of a categorical column of pandas may be integers, which are categories rather than numbers.
    if dtypes is not None and "category" not in {str(each) for each in dtypes}:
        values = frame.to_numpy()
        if values.dtype.kind in "biuf":
            return np.ascontiguousarray(values, np.float64)
    columns = [_column_floats(frame[column], column, name) for column in frame.columns]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def _column_floats(column: Any, label: str, name: str) -> Floats:
    values = column.to_numpy()
    kind = values.dtype.kind
    if str(column.dtype) == "category":
        kind = "categories"
    elif kind in "biuf":
        return np.asarray(values, np.float64)
    elif kind == "O":
        listed = [np.nan if is_missing(value) else value for value in values]
        kinds = {type(value) for value in listed}
        if all(issubclass(each, bool | int | float | np.number | np.bool_) for each in kinds):
            return np.array(listed, np.float64)
        kind = "text" if any(issubclass(each, str) for each in kinds) else "objects"
    what = {"M": "dates", "m": "durations", "U": "text", "T": "text"}.get(kind, kind)
    raise ValueError(
        f"{name} must have numbers in every column, got {what} in column {label!r}; encode it first, or pass the "
        "tables to a Recommender"
    )
