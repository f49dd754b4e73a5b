"""Logged decisions as arrays, lists or data frames, checked and encoded for learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical
from fairbandits.contexts.named_matrix import NamedMatrix, as_named_matrix
from fairbandits.dataframes import as_column, as_frame, index_of
from fairbandits.fairness.groups import as_groups, group_columns
from fairbandits.labels import is_listed, is_missing, labels_of
from fairbandits.policies.inputs import check_names

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

Floats = NDArray[np.float64]


class LoggedDecisions(NamedTuple):
    """Decisions of a log: the contexts of the picked arms, the arms, their rewards, the users' groups.

    Attributes
    ----------
    names : tuple of str, or None
        The names of the contexts' columns, if they were a data frame.
    """

    contexts: Any
    arms: Categorical
    rewards: Floats
    groups: Mapping[str, Categorical]
    names: tuple[str, ...] | None


def as_logged(policy: Policy, contexts: Any, arms: Any, rewards: Any, groups: Any) -> LoggedDecisions:
    """Check logged decisions, except the entries of their contexts; labels that have codes are not changed."""
    check_alignment({"contexts": contexts, "arms": arms, "rewards": rewards, "groups": groups})
    named: NamedMatrix | None = as_named_matrix(contexts, "contexts", is_indexed=False)
    if named is not None:
        check_names(policy, named)
        contexts = named.values
    checked_rewards = _as_rewards(rewards)
    check_one_per_context("rewards", len(checked_rewards), contexts)
    coded_arms = arms if isinstance(arms, Categorical) else Categorical.encode(_arm_labels(arms))
    check_one_per_context("arms", len(coded_arms.codes), contexts)
    missing = np.flatnonzero(coded_arms.codes < 0)
    if missing.size:
        raise ValueError(
            f"arms must have an id for every decision, got none in row {missing[0]}; leave out the row"
        )
    coded_groups = _as_group_columns(groups)
    for name, column in coded_groups.items():
        check_one_per_context(f"groups[{name!r}]", len(column.codes), contexts)
    return LoggedDecisions(
        contexts, coded_arms, checked_rewards, coded_groups, None if named is None else named.names
    )


def _arm_labels(arms: Any) -> list[Any]:
    if not is_listed(arms) or as_frame(arms, "arms") is not None:
        raise ValueError(f"arms must be a sequence of ids, one per decision, got a {type(arms).__name__}")
    return labels_of(arms, "arms")


def _as_rewards(rewards: Any) -> Floats:
    if type(rewards) is np.ndarray and rewards.dtype == np.float64 and rewards.ndim == 1:
        return rewards
    column = as_column(rewards, "rewards")
    try:
        listed = np.asarray(rewards).tolist() if column is None else column.to_list()
        if as_frame(rewards, "rewards") is not None or any(isinstance(each, str) for each in listed):
            raise ValueError
        array = np.array([np.nan if is_missing(each) else each for each in listed], np.float64)
        if array.ndim != 1:
            raise ValueError
        return array
    except (TypeError, ValueError):
        raise ValueError(
            f"rewards must be numbers, one per decision, got a {type(rewards).__name__} that cannot be converted; "
            "pass a list, a one-dimensional array or one column of a data frame"
        ) from None


def _as_group_columns(groups: Any) -> Mapping[str, Categorical]:
    if groups is None:
        return {}
    if isinstance(groups, str):
        raise ValueError(f"groups must be a list with one group per decision, got {groups!r}")
    if isinstance(groups, Mapping):
        return {name: _as_categorical(name, values) for name, values in groups.items()}
    columns = group_columns(groups)
    if columns is None:
        keys = [dict(key) for key in as_groups(groups)]
        names = dict.fromkeys(name for key in keys for name in key)
        columns = {name: [key.get(name) for key in keys] for name in names}
        if not columns:
            return {"group": Categorical(np.full(len(keys), -1, np.int32), [])}
    return {name: Categorical.encode(values) for name, values in columns.items()}


def _as_categorical(name: str, values: Any) -> Categorical:
    if isinstance(values, Categorical):
        return values
    if not isinstance(name, str) or not name:
        raise ValueError(f"attribute of a group must be a non-empty string, got {name!r}")
    if not is_listed(values):
        raise ValueError(f"groups[{name!r}] must have one value per decision, got {values!r}")
    return Categorical.encode(labels_of(values, f"groups[{name!r}]"))


def check_one_per_context(name: str, n: int, contexts: Any) -> None:
    """Raise ValueError unless the number of entries equals the number of contexts."""
    shape = getattr(contexts, "shape", ())
    n_contexts = shape[0] if shape else len(contexts)
    if n != n_contexts:
        raise ValueError(f"{name} must have one entry per context, got {n} for {n_contexts} context(s)")


def check_alignment(given: Mapping[str, Any]) -> None:
    """Raise ValueError if pandas objects have different indices: their rows may belong to different decisions."""
    indices = {name: index_of(value) for name, value in given.items() if hasattr(value, "iloc")}
    if len(indices) < 2:
        return
    (first, ours), *others = indices.items()
    for name, theirs in others:
        is_same = theirs is ours or (ours is not None and theirs is not None and ours.equals(theirs))
        if not is_same and len(given[first]) == len(given[name]):
            raise ValueError(
                f"{name} must have the same index as {first}, got a different one; align them "
                f"({name}.loc[{first}.index]), or drop both indexes (reset_index(drop=True))"
            )
