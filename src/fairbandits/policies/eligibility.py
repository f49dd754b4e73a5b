"""Choosing for users who may be offered different arms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arm
from fairbandits.dataframes import as_frame
from fairbandits.fairness import GroupKey
from fairbandits.labels import is_listed
from fairbandits.models import Rows
from fairbandits.policies.decisions import Decisions, as_arrays, slate_of
from fairbandits.policies.mixed_decisions import MixedDecisions
from fairbandits.policies.records import Slate, as_slate_size

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

Ints = NDArray[np.int64]


class Round(NamedTuple):
    """The input of a round: checked contexts, the users' groups, the ids of the arms and their numbers."""

    rows: Rows
    keys: tuple[GroupKey, ...]
    ids: Sequence[ArmId]
    numbers: Ints


def choose_eligible(
    policy: Policy, offered: Round, eligible: Any, k: int | None
) -> Decisions | MixedDecisions | list[Slate]:
    """Choose for many users among the arms that each is eligible for; see `Policy.choose_many`.

    Users with the same set are scored together. Arms are picked in the order of the users, so that ties and random
    picks come out as if users were served one after the other.
    """
    sets = eligible_sets(eligible, offered.ids, len(offered.keys))
    # For each user, the set and the user's place in it.
    order = [
        place
        for _, place in sorted(
            (user, (s, at)) for s, (_, own) in enumerate(sets) for at, user in enumerate(own.tolist())
        )
    ]
    if k is not None:
        for user, (s, _) in enumerate(order):
            _check_slate_size(k, len(sets[s][0]), user)
    parts = [_select(offered, users, places) for places, users in sets]
    scored = [policy._score(part.rows, part.numbers, part.keys, part.ids) for part in parts]
    picker, unit_scores = policy._mixed_picker(), policy._scale.unit_scores
    rng, ledger = policy._rng, policy._ledger
    if k is not None:
        own = [scored[s][1].user(at) for s, at in order]
        slates = [
            picker.slate(unit_scores(scores), int(k), parts[s].keys[at], rng)
            for scores, (s, at) in zip(own, order, strict=True)
        ]
        first = ledger.issue(len(order))
        return [
            slate_of(
                scored[s][0],
                own[user],
                at,
                parts[s].keys[at],
                parts[s].ids,
                slates[user],
                ledger.policy,
                first + user,
            )
            for user, (s, at) in enumerate(order)
        ]
    picks: list[list[Any]] = [[None] * len(users) for _, users in sets]
    for s, at in order:
        picks[s][at] = picker.pick(unit_scores(scored[s][1].user(at)), parts[s].keys[at], rng)
    first = ledger.issue(len(order))
    decided = [
        Decisions(as_arrays(picked), scores, rows, part.keys, part.ids, ledger.policy, (first + users).tolist())
        for picked, (rows, scores), part, (_, users) in zip(picks, scored, parts, sets, strict=True)
    ]
    return decided[0] if len(decided) == 1 else MixedDecisions(decided, [users for _, users in sets])


def eligible_sets(eligible: Any, ids: Sequence[ArmId], n_users: int) -> list[tuple[Ints, Ints]]:
    """Return each distinct set of eligible arms, as places in `ids`, in order, with its users.

    Parameters
    ----------
    eligible : boolean array of shape (n_users, n_arms), or a sequence
        For each user, a collection of arm ids, or None for all.
    ids : sequence of ids
        The arms on offer.
    n_users : int
        The number of users.
    """
    n_arms = len(ids)
    if isinstance(eligible, np.ndarray) and eligible.dtype == bool:
        if eligible.shape != (n_users, n_arms):
            raise ValueError(
                f"eligible must be a boolean array of shape {(n_users, n_arms)}, a row per user and a column per "
                f"arm, got shape {eligible.shape}"
            )
        flags, which = np.unique(eligible, axis=0, return_inverse=True)
        sets: list[Ints] = [np.flatnonzero(row) for row in flags]
        of_user = which.reshape(-1).tolist()
    else:
        place = {arm: at for at, arm in enumerate(ids)}
        known: dict[tuple[int, ...], int] = {}
        of_user = []
        for user, own in enumerate(_per_user(eligible, n_users)):
            places = tuple(range(n_arms)) if own is None else _places(own, place, user)
            of_user.append(known.setdefault(places, len(known)))
        sets = [np.array(places, np.int64) for places in known]
    users_of: list[list[int]] = [[] for _ in sets]
    for user, number in enumerate(of_user):
        if not len(sets[number]):
            raise ValueError(f"eligible must have at least one arm for every user, got none for user {user}")
        users_of[number].append(user)
    return [(places, np.array(users, np.int64)) for places, users in zip(sets, users_of, strict=True)]


def _per_user(eligible: Any, n_users: int) -> list[Any]:
    if not is_listed(eligible) or as_frame(eligible, "eligible") is not None:
        raise ValueError(
            "eligible must have a collection of arm ids for each user, None for all, or be a boolean array of "
            f"shape (n_users, n_arms), got a {type(eligible).__name__}"
        )
    listed = list(eligible)
    if len(listed) != n_users:
        raise ValueError(f"eligible must have one entry per user, got {len(listed)} for {n_users} user(s)")
    return listed


def _places(own: Any, place: Mapping[ArmId, int], user: int) -> tuple[int, ...]:
    if isinstance(own, str) or not isinstance(own, Iterable):
        raise ValueError(f"eligible must have a collection of arm ids for each user, got {own!r} for user {user}")
    try:
        ids = [as_arm(arm) for arm in own]
    except ValueError as error:
        raise ValueError(f"eligible of user {user}: {error}") from None
    unknown = [arm for arm in ids if arm not in place]
    if unknown:
        raise ValueError(f"eligible must have arms that are on offer, got {unknown[0]!r} for user {user}")
    return tuple(sorted({place[arm] for arm in ids}))


def _check_slate_size(k: int, n_arms: int, user: int) -> None:
    try:
        as_slate_size(k, n_arms)
    except ValueError as error:
        raise ValueError(f"{error} (user {user})") from None


def _select(offered: Round, users: Ints, places: Ints) -> Round:
    """Return the part of a round that concerns some users with the same arms."""
    ids, keys = offered.ids, offered.keys
    return Round(
        offered.rows.select(users, places),
        tuple(keys[user] for user in users.tolist()),
        tuple(ids[at] for at in places.tolist()),
        offered.numbers[places],
    )
