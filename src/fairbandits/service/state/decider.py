"""Decisions: the arms that users receive, given the learned state of the recommender."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from fairbandits.models import Row
from fairbandits.policies import Decisions, Scores, Slate
from fairbandits.policies.picker import TIE
from fairbandits.policies.reward_scale import UnitScale
from fairbandits.service.config import Config
from fairbandits.service.features import example_values
from fairbandits.service.log.appender import AppendEvents, AppendRequest, RefusedRequest
from fairbandits.service.log.events import ArmAdded, Context, Decided, Entry, Rewarded
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.requests import LogRequest, Refusal, RefusalReason
from fairbandits.service.state.catalogue import User
from fairbandits.service.state.recommender import ServedRecommender

# The number of scores that are computed at once. More would take memory without saving time.
_MAX_SCORES = 100_000
# The number of random bytes in an id.
_ID_BYTES = 10


class EmptyCatalogueError(ValueError):
    """There are no arms to recommend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRequest(LogRequest):
    """A request for decisions, which are made either all or not at all.

    Attributes
    ----------
    users : sequence of mapping
        The validated values of each user: `user`, the pseudonym, if it is known; `features`; `groups`; `arms`, the
        arms on offer, by default all; `k`, the size of the slate, if a slate is requested; `key_id`, the id of the
        API key that is used, if any.
    is_batch : bool
        Whether the reply is a list of decisions, even of a single one.
    """

    users: Sequence[Mapping[str, Any]]
    is_batch: bool = False


class Decider:
    """Makes the decisions of a batch of requests all at once, which is much faster than one after another.

    Parameters
    ----------
    follower : Follower
        The state, whose fold `recommender` makes the decisions.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def prepare(self, requests: Sequence[LogRequest]) -> list[AppendRequest]:
        """Turn requests for decisions into requests to append them; leave other requests unchanged."""
        recommender = cast(ServedRecommender, self._follower.folds["recommender"])
        users = [user for request in requests if isinstance(request, DecisionRequest) for user in request.users]
        decisions = decide_many(recommender, users)
        prepared: list[AppendRequest] = []
        first = 0
        for request in requests:
            if isinstance(request, DecisionRequest):
                last = first + len(request.users)
                prepared.append(_append_decisions(request, decisions[first:last]))
                first = last
            else:
                prepared.append(cast(AppendRequest, request))
        return prepared


def _append_decisions(request: DecisionRequest, decisions: Sequence[Decided | ValueError]) -> AppendRequest:
    made: list[Decided] = []
    for item, decision in enumerate(decisions):
        if isinstance(decision, ValueError):
            is_empty = isinstance(decision, EmptyCatalogueError)
            reason = RefusalReason.EMPTY_CATALOGUE if is_empty else RefusalReason.INVALID
            return RefusedRequest(refusal=Refusal(reason, str(decision), item), idempotency=request.idempotency)
        made.append(decision)
    return AppendEvents(events=made, reply=_reply(made, request.is_batch), idempotency=request.idempotency)


def _reply(decisions: Sequence[Decided], is_batch: bool) -> bytes:
    """Return the reply to the client, as JSON."""
    public = [
        {
            "decision": decided.id,
            "propensity": decided.propensity,
            **(
                {"slate": decided.picked, "scores": decided.scores}
                if decided.slate
                else {"arm": decided.picked[0], "scores": decided.scores[0]}
            ),
        }
        for decided in decisions
    ]
    return to_json({"decisions": public} if is_batch else public[0])


def decide(
    recommender: ServedRecommender,
    features: Mapping[str, Any],
    groups: Mapping[str, str | None],
    arms: Sequence[str] | None = None,
    k: int | None = None,
) -> Decided:
    """Choose an arm, or a slate of k arms, for one user; see `decide_many`."""
    [decision] = decide_many(recommender, [{"features": features, "groups": groups, "arms": arms, "k": k}])
    if isinstance(decision, ValueError):
        raise decision
    return decision


def decide_many(recommender: ServedRecommender, users: Sequence[Mapping[str, Any]]) -> list[Decided | ValueError]:
    """Choose an arm, or a slate, for each of many users; return the decision or the error of each.

    Parameters
    ----------
    recommender : ServedRecommender
        The recommender, which is not changed.
    users : sequence of mapping
        The users, in the form of `DecisionRequest`.
    """
    # Users with the same arms on offer are scored together.
    by_offer: dict[tuple[Any, ...], list[int]] = {}
    for number, user in enumerate(users):
        arms = user.get("arms")
        by_offer.setdefault((user.get("k"), arms and tuple(arms)), []).append(number)
    most = max(1, _MAX_SCORES // max(1, len(recommender.catalogue.arms)))
    decisions: dict[int, Decided | ValueError] = {}
    for (k, arms), numbers in by_offer.items():
        for at in range(0, len(numbers), most):
            some = numbers[at : at + most]
            decisions.update(zip(some, _decide_alike(recommender, [users[n] for n in some], arms, k), strict=True))
    return [decisions[number] for number in range(len(users))]


def _decide_alike(
    recommender: ServedRecommender,
    users: Sequence[Mapping[str, Any]],
    arms: Sequence[str] | None,
    k: int | None,
) -> Sequence[Decided | ValueError]:
    """Make decisions for users who have the same arms on offer."""
    if not recommender.catalogue.arms:
        return [EmptyCatalogueError("there are no arms to recommend; add some")] * len(users)
    known: list[User] = [
        (
            user.get("features", {}),
            {name: group for name, group in user.get("groups", {}).items() if group is not None},
        )
        for user in users
    ]
    try:
        offer = recommender.catalogue.offer(known, arms)
        groups = [groups for _, groups in known]
        scale = UnitScale(recommender.policy.reward_range)
        if k is None:
            choices = _arm_choices(recommender.policy.choose_many(offer, groups), scale)
        else:
            choices = _slate_choices(recommender.policy.choose_many(offer, groups, k=k), scale)
    except ValueError as error:
        return [error] * len(users)
    now = time.time()
    return [
        Decided(
            id=decision_id,
            time=now,
            at=recommender.seq,
            features=features,
            groups=groups,
            picked=choice.arms,
            slate=k is not None,
            offered=len(offer.arms),
            propensity=choice.probability,
            explored=choice.explored,
            scores=choice.scores,
            contexts=choice.contexts,
            width=offer.rows.width,
            user=user.get("user"),
            key_id=user.get("key_id"),
            policy=recommender.policy_id,
        )
        for decision_id, user, (features, groups), choice in zip(
            new_ids(now, len(users)), users, known, choices, strict=True
        )
    ]


class _Choice(NamedTuple):
    """The choice of a policy for a user: the parts of `Decided` that come from the policy."""

    arms: list[str]
    probability: float | None
    explored: bool
    scores: list[dict[str, float]]
    contexts: list[Context]


def _arm_choices(decisions: Decisions, scale: UnitScale) -> Iterator[_Choice]:
    users, scores = np.arange(len(decisions)), decisions.scores
    explored = _are_explored(scale.to_unit(scores.mean + scores.fairness), decisions.indices[:, None]).tolist()
    parts = [getattr(scores, part)[users, decisions.indices].tolist() for part in Scores.__slots__]
    for arm, probability, is_explored, context, *values in zip(
        decisions.picked, decisions.probability, explored, decisions.contexts(), *parts, strict=True
    ):
        by_part = dict(zip(Scores.__slots__, values, strict=True))
        yield _Choice([str(arm)], probability, is_explored, [by_part], [context])


def _slate_choices(slates: Sequence[Slate], scale: UnitScale) -> Iterator[_Choice]:
    for slate in slates:
        scores, places = slate.scores, list(slate.indices)
        values = scale.to_unit(scores.mean + scores.fairness)
        [explored] = _are_explored(values[None], np.array([places])).tolist()
        parts = [{part: getattr(scores, part).item(place) for part in Scores.__slots__} for place in places]
        contexts = [_context(row) for row in slate.rows]
        yield _Choice([str(arm) for arm in slate.picked], slate.probability, explored, parts, contexts)


def _are_explored(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each user whether the chosen arms are not the best arms without the exploration term.

    Values lie in [0, 1], so that ties are defined in the same way as in pickers.
    """
    k = places.shape[1]
    best = values.max(axis=1) if k == 1 else np.partition(values, -k, axis=1)[:, -k:].sum(axis=1)
    missed = best - np.take_along_axis(values, places, axis=1).sum(axis=1)
    explored: NDArray[np.bool_] = missed > TIE * np.maximum(k, np.abs(best))
    return explored


def _context(row: Row) -> Context:
    columns, values, n_common = row.entries()
    return columns.tolist(), values.tolist(), n_common


def new_ids(now: float, n: int) -> list[str]:
    """Return ids that cannot be guessed, and that sort by time, which keeps database indices compact."""
    # The bytes are drawn all at once, because each draw may yield the interpreter lock to another thread.
    drawn = os.urandom(_ID_BYTES * n).hex()
    size = 2 * _ID_BYTES
    return [f"{int(now * 1000):012x}{drawn[at : at + size]}" for at in range(0, len(drawn), size)]


def warm_up(config: Config) -> None:
    """Decide and learn once with a scratch recommender, so that the first user does not wait for compilation."""
    scratch = ServedRecommender(config)
    inputs = config.inputs
    scratch.apply(Entry(1, ArmAdded("", 1, 0.0, example_values(inputs.arm_features), {})))
    decided = decide(scratch, example_values(inputs.features), {})
    scratch.apply(Entry(2, decided))
    scratch.apply(Entry(3, Rewarded(decided.id, 0.0, config.reward.low), decided))
    decide(scratch, example_values(inputs.features), {}, k=1)
