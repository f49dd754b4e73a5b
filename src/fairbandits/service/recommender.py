"""A policy and its catalogue: decides, and learns what the log says."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fairbandits.fairness import GroupKey
from fairbandits.linear import Row
from fairbandits.policies import Policy, Scores
from fairbandits.policies.files import State
from fairbandits.policies.pick import TIE
from fairbandits.service.config import Config
from fairbandits.service.events import ArmAdded, ArmRetired, ArmSet, Context, Decided, Entry, Rewarded
from fairbandits.service.features import Encoder, some_values
from fairbandits.service.shelf import Shelf


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
        self._encoder = Encoder(config.features)
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
        """Pick an arm, or k arms, for a user.

        Parameters
        ----------
        features, groups : mapping
            The user's, checked.
        arms : sequence of str, optional
            The arms that this user may be offered; left out, all.
        k : int, optional
            How many arms; left out, one that is not in a slate.
        """
        if not self.shelf.arms:
            raise NoArmsError("there are no arms to recommend; add some")
        known = {name: group for name, group in groups.items() if group is not None}
        matching = {name: known.get(name) for name in self._by_group}
        matching |= {name: features.get(name) for name in self._by_feature}
        offer = self.shelf.catalogue.offer(self._encoder.encode(features), matching, arms)
        if k is None:
            decision = self.policy.choose(offer, known)
            picked, places, rows = [decision.arm], [decision.index], [decision.row]
            probability, scores = decision.probability, decision.scores
        else:
            slate = self.policy.choose(offer, known, k=k)
            picked, places, rows = list(slate.picked), list(slate.indices), list(slate.rows)
            probability, scores = slate.probability, slate.scores
        now = time.time()
        return Decided(
            id=new_id(now),
            time=now,
            at=self.seq,
            features=features,
            groups=known,
            picked=picked,  # type: ignore[arg-type]  # ids are text here
            slate=k is not None,
            offered=len(offer.arms),
            propensity=probability,
            explored=_explored(scores, places),
            scores=[_parts(scores, place) for place in places],
            contexts=[_written(row) for row in rows],
            width=rows[0].width,
        )

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
        self.policy.learn_kept(gain, key, items)

    # -- keeping ---------------------------------------------------------------------------------------

    def checksum(self) -> Callable[[], str]:
        """Take a copy of what was learned, of which another thread can compute the fingerprint."""
        state, rest = self.policy.state(), self._rest()
        return lambda: hashlib.sha256(f"{state.checksum()} {rest}".encode()).hexdigest()

    def snapshot(self) -> Callable[[], bytes]:
        """Take a copy of all of it, of which another thread can make what `restore` takes."""
        state = self.policy.state()
        state.header["notes"] = {"service": self._rest()}
        return state.to_bytes

    def restore(self, content: bytes) -> None:
        """Take the state from what `snapshot` gave; where that is damaged, a ValueError and no change."""
        state = State.from_bytes(content, "the snapshot")
        policy = Policy.from_state(state, "the snapshot")
        fresh = self.config.make_policy()
        if repr(policy.set_params(random_state=None)) != repr(fresh):
            raise ValueError(f"the snapshot is of {policy!r}, not of {fresh!r}")
        rest = json.loads(state.header["notes"]["service"])
        self.shelf.restore(rest["shelf"])
        self.policy, self.seq = policy, rest["seq"]
        self.decided, self.rewarded = rest["decided"], rest["rewarded"]

    def _rest(self) -> str:
        """Write what is not the policy's."""
        rest = {
            "seq": self.seq,
            "decided": self.decided,
            "rewarded": self.rewarded,
            "shelf": self.shelf.to_plain(),
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
    return f"{int(now * 1000):012x}{secrets.token_hex(10)}"


def spread(reward: float | list[float | None], n: int) -> tuple[float, list[float | None]]:
    """Say what a user gained in all, and what each arm gave: a single number is that of every arm."""
    if not isinstance(reward, list):
        return float(reward), [float(reward)] * n
    came = [float(each) for each in reward if each is not None]
    return math.fsum(came) / len(came), [None if each is None else float(each) for each in reward]


def _parts(scores: Scores, place: int) -> dict[str, float]:
    return {part: getattr(scores, part).item(place) for part in Scores.__slots__}


def _explored(scores: Scores, places: list[int]) -> bool:
    """Say whether arms were picked that are not the best by all but exploration."""
    known = scores.mean + scores.fairness
    k = len(places)
    best = known.max() if k == 1 else np.partition(known, -k)[-k:].sum()
    return bool(best - known[places].sum() > TIE * max(k, abs(best)))


def _written(row: Row) -> Context:
    columns, values, n_common = row.entries()
    return columns.tolist(), values.tolist(), n_common


def _read(context: Context, width: int) -> Row:
    columns, values, n_common = context
    return Row.of(np.array(columns, np.int64), np.array(values, np.float64), n_common, width)
