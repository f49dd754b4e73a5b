"""The served recommender: a policy and its catalogue, as a fold of the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import numpy as np

from fairbandits.fairness import GroupKey
from fairbandits.models import Row
from fairbandits.policies import Policy
from fairbandits.policies.persistence import PolicyState
from fairbandits.service.config import Config
from fairbandits.service.log.events import (
    ArmRetired,
    ArmSet,
    Context,
    Decided,
    Entry,
    Rewarded,
    rewards_by_arm,
)
from fairbandits.service.state.catalogue import ServedCatalogue


class ServedRecommender:
    """A fold of the log: the catalogue, and what the policy has learned.

    `decider.py` decides with it, which changes nothing here: a decision counts once it is in the log.

    Parameters
    ----------
    config : Config
        The configuration.

    Attributes
    ----------
    policy : Policy
        The policy.
    catalogue : ServedCatalogue
        The arms.
    seq : int
        The last entry that was applied.
    decided, rewarded : int
        The numbers of decisions and of rewards.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.policy = config.make_policy()
        self.catalogue = ServedCatalogue(config)
        self.seq = 0
        self.decided = 0
        self.rewarded = 0

    def apply(self, entry: Entry) -> None:
        """Learn from the next entry of the log."""
        event = entry.event
        if isinstance(event, Decided):
            self.decided += 1
        elif isinstance(event, Rewarded):
            self.rewarded += 1
            if entry.decided is None:
                raise ValueError(f"entry {entry.seq} of the log is a reward without its decision")
            self._learn(entry.decided, event.reward)
        elif isinstance(event, ArmSet):
            self.catalogue.set(event)
        elif isinstance(event, ArmRetired):
            self.catalogue.retire(event, entry.seq)
            self.policy.forget_arm(event.arm, missing_ok=True)  # it may never have been shown
        self.seq = entry.seq

    def _learn(self, decided: Decided, reward: float | list[float | None]) -> None:
        mean, rewards = rewards_by_arm(reward, len(decided.picked))
        retired = self.catalogue.retired
        # An arm that was retired after the decision counts for the groups alone.
        items = [
            (None if decided.at < retired.get(arm, 0) else arm, _row(context, decided.width), each)
            for arm, context, each in zip(decided.picked, decided.contexts, rewards, strict=True)
            if each is not None
        ]
        group: GroupKey = tuple(decided.groups.items())
        self.policy.replay(mean, group, items)

    def checksum(self) -> Callable[[], str]:
        """Copy the state; return a function that computes its checksum, to be called in another thread."""
        state, rest = self.policy.state(), self._rest()
        return lambda: hashlib.sha256(f"{state.checksum()} {rest}".encode()).hexdigest()

    def snapshot(self) -> Callable[[], bytes]:
        """Copy the state; return a function that serialises the copy, to be called in another thread."""
        state = self.policy.state()
        state.header["metadata"] = {"service": self._rest()}
        return state.to_bytes

    def restore(self, content: bytes) -> None:
        """Replace the state by a serialised one; raise ValueError, and change nothing, if it is damaged."""
        state = PolicyState.from_bytes(content, "the snapshot")
        policy = Policy.from_state(state, "the snapshot")
        configured = self.config.make_policy()
        if repr(policy.set_params(random_state=None)) != repr(configured):
            raise ValueError(f"the snapshot must be of {configured!r}, got {policy!r}")
        rest = json.loads(state.header["metadata"]["service"])
        self.catalogue.restore(rest["shelf"])
        self.policy, self.seq = policy, rest["seq"]
        self.decided, self.rewarded = rest["decided"], rest["rewarded"]

    def _rest(self) -> str:
        """Return everything but the policy as JSON, under the names that snapshots of 0.1.0 have."""
        rest = {
            "seq": self.seq,
            "decided": self.decided,
            "rewarded": self.rewarded,
            "shelf": self.catalogue.to_dict(),
        }
        return json.dumps(rest)


def _row(context: Context, width: int) -> Row:
    columns, values, n_common = context
    return Row.of(np.array(columns, np.int64), np.array(values, np.float64), n_common, width)
