"""Contexts that a policy is given as data frames: their columns must be those that the policy knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.contexts.named_matrix import NamedMatrix, as_named_matrix, stack_frames
from fairbandits.dataframes import as_frame
from fairbandits.models import Rows
from fairbandits.models.rows import stack_rows

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

Ints = NDArray[np.int64]


def read_contexts(
    policy: Policy, contexts: Any, arms: Any, as_rows: Callable[[Any, int | None], Rows]
) -> tuple[Rows, Sequence[ArmId], Ints]:
    """Check contexts that may be data frames, and the ids of arms; find the numbers of these arms.

    The policy remembers the names of the columns once everything has been checked.
    """
    if isinstance(contexts, list | tuple):
        named = stack_frames(contexts)
    else:
        # A single frame is not valid input for many users; `stack_rows` raises the error.
        named = None if as_rows is stack_rows else as_named_matrix(contexts, "contexts")
    if named is not None:
        check_names(policy, named)
        contexts, arms = named.values, named.arms_or(arms)
    rows = as_rows(contexts, policy._expected_width())
    found = policy._arms.lookup(arms, rows.n_arms)
    if named is not None:
        policy._feature_names = named.names
    return rows, *found


def check_names(policy: Policy, named: NamedMatrix) -> None:
    """Raise ValueError unless the columns of a frame are those of earlier frames, in the same order."""
    known = known_names(policy)
    if known is None or known == named.names:
        return
    at, expected, got = next(
        (at, ours, theirs) for at, (ours, theirs) in enumerate(zip_longest(known, named.names)) if ours != theirs
    )
    found = "no column" if got is None else repr(got)
    rule = "must not exist" if expected is None else f"must be {expected!r}"
    raise ValueError(
        f"contexts must have the same columns as earlier data frames, in the same order: column {at} {rule}, got "
        f"{found}; select them with frame[list(policy.feature_names_in_)]"
    )


def known_names(policy: Policy) -> tuple[str, ...] | None:
    """Return the names of the columns that a policy knows; None if it has seen no frame of its width."""
    names, width = policy._feature_names, policy._expected_width()
    return None if names is None or width not in {None, len(names)} else names


def refuse_frame(rewards: Any) -> None:
    """Raise ValueError for rewards in a data frame, whose values as a list would be column names."""
    if as_frame(rewards, "rewards") is not None:
        raise ValueError(
            f"rewards must be a list or a column with one reward per decision, got a {type(rewards).__name__}; "
            "pass one of its columns"
        )
