"""The items that a user may get, read from any of the forms in which they can be given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from fairbandits.arms import ArmId, as_arm
from fairbandits.dataframes import as_column, as_frame, index_of


def eligible_ids(eligible: Any, ids: Collection[ArmId]) -> list[ArmId]:
    """Return the eligible items in the given order; the items of a set in the order of the catalogue.

    Parameters
    ----------
    eligible : collection of ids, or boolean array or column with an entry for each item
        The eligible items as given. A boolean column of pandas is matched to the items by its index, unless that
        is the default index.
    ids : collection of ids
        The items of the catalogue; membership tests must be fast.

    Examples
    --------
    >>> eligible_ids({"c", "a"}, ["a", "b", "c"])
    ['a', 'c']
    >>> eligible_ids(np.array([False, True, True]), ["a", "b", "c"])
    ['b', 'c']
    """
    column = as_column(eligible, "eligible")
    listed = _listed(eligible if column is None else column)
    if listed and {*map(type, listed)} <= {bool, np.bool_}:
        listed = _where_true(listed, None if column is None else index_of(column), ids)
    if not listed:
        raise ValueError("eligible must have at least one item, got none")
    items = [as_arm(item) for item in listed]
    unknown = [item for item in items if item not in ids]
    if unknown:
        raise ValueError(f"eligible must be items of the catalogue, got {unknown[:5]}")
    return [item for item in ids if item in eligible] if isinstance(eligible, AbstractSet) else items


def _listed(eligible: Any) -> list[Any]:
    is_text = isinstance(eligible, str | bytes | Mapping)
    if is_text or not isinstance(eligible, Collection) or as_frame(eligible, "eligible") is not None:
        raise ValueError(f"eligible must be a collection of ids, got {eligible!r}"[:200])
    return eligible.tolist() if hasattr(eligible, "tolist") else list(eligible)


def _where_true(flags: list[bool], index: Any, ids: Collection[ArmId]) -> list[Any]:
    named = list(ids) if index is None else list(index)
    if len(flags) != len(named):
        raise ValueError(f"eligible must have one truth value per item, got {len(flags)} for {len(named)} item(s)")
    return [item for item, flag in zip(named, flags, strict=True) if flag]


def eligible_per_user(eligible: Any, ids: Collection[ArmId], n_users: int) -> Any:
    """Return eligible items as `Policy.choose_many` takes them; a single list or set applies to all users."""
    is_matrix = isinstance(eligible, np.ndarray) and eligible.ndim == 2
    if eligible is None or is_matrix or not isinstance(eligible, Collection) or isinstance(eligible, str):
        return eligible
    if isinstance(eligible, AbstractSet) or all(isinstance(item, str | int | np.integer) for item in eligible):
        return [eligible_ids(eligible, ids)] * n_users
    return eligible
