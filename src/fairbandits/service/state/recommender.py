"""A policy and its catalogue: decides, and learns what the log says."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairbandits.contexts import Offer
from fairbandits.fairness import GroupKey
from fairbandits.models import Row
from fairbandits.policies import Policy
from fairbandits.policies.persistence import PolicyState as State
from fairbandits.service.config import Config
from fairbandits.service.features import FeatureEncoder, some_values
from fairbandits.service.log.events import ArmAdded, ArmRetired, ArmSet, Context, Decided, Entry, Rewarded
from fairbandits.service.state.catalogue import Shelf
from fairbandits.service.state.picks import picked_arms, picked_slates

# So many scores are computed at once: more take memory, and no less time for each.
_MOST_SCORES = 100_000


class NoArmsError(ValueError):
    """There is nothing to recommend."""


class Recommender:
    """A fold of the log: what the policy has learned, and the catalogue.

    Deciding changes nothing that was learned: a decision becomes part of the state when it stands in the log.

    Parameters
    ----------
    config : Config
        What is recommended, to whom, and how.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.policy = config.make_policy()
        self.shelf = Shelf(config)
        self.seq = 0
        self.decided = 0
        self.rewarded = 0
        self._encoder = FeatureEncoder(config.features)
        # A match is with the user's group, or with a feature.
        self._by_group = [name for name in config.matches if name in config.attributes]
        self._by_feature = [name for name in config.matches if name not in config.attributes]

    # -- deciding --------------------------------------------------------------------------------------

    def decide(
        self,
        features: Mapping[str, Any],
        groups: Mapping[str, str | None],
        arms: Sequence[str] | None = None,
        k: int | None = None,
    ) -> Decided:
        """Pick an arm, or k arms, for one user; see `decide_many`."""
        [decided] = self.decide_many([{"features": features, "groups": groups, "arms": arms, "k": k}])
        if isinstance(decided, ValueError):
            raise decided
        return decided

    def decide_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Decided | ValueError]:
        """Pick an arm, or several, for each of many users, with what is known now.

        Parameters
        ----------
        requests : sequence of mapping
            For each user, checked: `features`, `groups`; `arms`, those that this user may be offered, all where
            it is left out; `k`, how many arms, where several are wanted.

        Returns
        -------
        list of Decided or ValueError
            For each user the decision, or what is wrong with the request.
        """
        alike: dict[tuple[Any, ...], list[int]] = {}
        for number, request in enumerate(requests):
            arms = request.get("arms")
            alike.setdefault((request.get("k"), arms and tuple(arms)), []).append(number)
        most = max(1, _MOST_SCORES // max(1, len(self.shelf.arms)))
        made: dict[int, Decided | ValueError] = {}
        for (k, arms), numbers in alike.items():
            for at in range(0, len(numbers), most):
                some = numbers[at : at + most]
                made.update(zip(some, self._decide([requests[n] for n in some], arms, k), strict=True))
        return [made[number] for number in range(len(requests))]

    def _decide(
        self, requests: Sequence[Mapping[str, Any]], arms: Sequence[str] | None, k: int | None
    ) -> Sequence[Decided | ValueError]:
        """Decide for users who have the same arms on offer."""
        if not self.shelf.arms:
            return [NoArmsError("there are no arms to recommend; add some")] * len(requests)
        users = [(request.get("features", {}), _without_none(request.get("groups", {}))) for request in requests]
        try:
            offer = self._offer(users, arms)
            groups = [groups for _, groups in users]
            if k is None:
                picks = picked_arms(self.policy.choose_many(offer, groups))
            else:
                picks = picked_slates(self.policy.choose_many(offer, groups, k=k))
        except ValueError as error:
            return [error] * len(requests)
        now = time.time()
        return [
            Decided(
                id=new_id(now),
                time=now,
                at=self.seq,
                features=features,
                groups=known,
                picked=pick.arms,
                slate=k is not None,
                offered=len(offer.arms),
                propensity=pick.probability,
                explored=pick.explored,
                scores=pick.scores,
                contexts=pick.contexts,
                width=offer.rows.width,
            )
            for (features, known), pick in zip(users, picks, strict=True)
        ]

    def _offer(
        self, users: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]], arms: Sequence[str] | None
    ) -> Offer:
        matching: dict[str, list[Any]] = {way: [groups.get(way) for _, groups in users] for way in self._by_group}
        matching |= {way: [features.get(way) for features, _ in users] for way in self._by_feature}
        encoded = np.array([self._encoder.encode(features) for features, _ in users])
        return self.shelf.catalogue.offer_many(encoded, matching, arms)

    # -- learning --------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Learn the next entry of the log."""
        event = entry.event
        if isinstance(event, Decided):
            self.decided += 1
        elif isinstance(event, Rewarded):
            self.rewarded += 1
            if entry.decided is None:
                raise ValueError(f"entry {entry.seq} of the log is a reward without its decision")
            self._learn(entry.decided, event.reward)
        elif isinstance(event, ArmSet):
            self.shelf.set(event)
        elif isinstance(event, ArmRetired):
            self.shelf.retire(event, entry.seq)
            self.policy.forget_arm(event.arm)
        self.seq = entry.seq

    def _learn(self, decided: Decided, reward: float | list[float | None]) -> None:
        gain, rewards = spread(reward, len(decided.picked))
        retired = self.shelf.retired
        items = [
            (None if decided.at < retired.get(arm, 0) else arm, _read(context, decided.width), each)
            for arm, context, each in zip(decided.picked, decided.contexts, rewards, strict=True)
            if each is not None
        ]
        key: GroupKey = tuple(decided.groups.items())
        self.policy.replay(gain, key, items)

    # -- keeping ---------------------------------------------------------------------------------------

    def checksum(self) -> Callable[[], str]:
        """Take a copy of what was learned, of which another thread can compute the fingerprint."""
        state, rest = self.policy.state(), self._rest()
        return lambda: hashlib.sha256(f"{state.checksum()} {rest}".encode()).hexdigest()

    def snapshot(self) -> Callable[[], bytes]:
        """Take a copy of all of it, of which another thread can make what `restore` takes."""
        state = self.policy.state()
        state.header["metadata"] = {"service": self._rest()}
        return state.to_bytes

    def restore(self, content: bytes) -> None:
        """Take the state from what `snapshot` gave; where that is damaged, a ValueError and no change."""
        state = State.from_bytes(content, "the snapshot")
        policy = Policy.from_state(state, "the snapshot")
        fresh = self.config.make_policy()
        if repr(policy.set_params(random_state=None)) != repr(fresh):
            raise ValueError(f"the snapshot is of {policy!r}, not of {fresh!r}")
        rest = json.loads(state.header["metadata"]["service"])
        self.shelf.restore(rest["shelf"])
        self.policy, self.seq = policy, rest["seq"]
        self.decided, self.rewarded = rest["decided"], rest["rewarded"]

    def _rest(self) -> str:
        """Write what is not the policy's."""
        rest = {
            "seq": self.seq,
            "decided": self.decided,
            "rewarded": self.rewarded,
            "shelf": self.shelf.to_dict(),
        }
        return json.dumps(rest)


def warm_up(config: Config) -> None:
    """Decide and learn once, on nothing that counts: compiled code is loaded now, not by the first user."""
    scratch = Recommender(config)
    scratch.apply(Entry(1, ArmAdded("", 1, 0.0, some_values(config.arm_features), {})))
    decided = scratch.decide(some_values(config.features), {})
    scratch.apply(Entry(2, decided))
    scratch.apply(Entry(3, Rewarded(decided.id, 0.0, config.reward.low), decided))
    scratch.decide(some_values(config.features), {}, k=1)


def new_id(now: float) -> str:
    """Make an id that nobody guesses, and that is near those of the same time, for the sake of indices."""
    return f"{int(now * 1000):012x}{os.urandom(10).hex()}"


def spread(reward: float | list[float | None], n: int) -> tuple[float, list[float | None]]:
    """Say what a user gained in all, and what each arm gave: a single number is that of every arm."""
    if not isinstance(reward, list):
        return float(reward), [float(reward)] * n
    came = [float(each) for each in reward if each is not None]
    return math.fsum(came) / len(came), [None if each is None else float(each) for each in reward]


def _without_none(groups: Mapping[str, str | None]) -> dict[str, str]:
    return {name: group for name, group in groups.items() if group is not None}


def _read(context: Context, width: int) -> Row:
    columns, values, n_common = context
    return Row.of(np.array(columns, np.int64), np.array(values, np.float64), n_common, width)
