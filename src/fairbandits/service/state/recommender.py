"""The served recommender: the library's `Recommender` as a fold of the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import numpy as np

from fairbandits.fairness import GroupKey
from fairbandits.models import Row
from fairbandits.policies import Policy
from fairbandits.policies.persistence import PolicyState
from fairbandits.recommender import Recommender
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
    """A fold of the log: a `fairbandits.Recommender`, with the items and the rewards of the log.

    `decider.py` makes decisions with it, which does not change its state: a decision counts only once it is in the
    log.

    Parameters
    ----------
    config : Config
        The configuration.

    Attributes
    ----------
    recommender : Recommender
        The recommender of the library.
    policy : Policy
        Its policy.
    catalogue : ServedCatalogue
        The arms.
    policy_id : str
        The id of the policy, which is recorded in its decisions.
    seq : int
        The last entry that was applied.
    decided, rewarded : int
        The numbers of decisions and of rewards.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.recommender = config.make_recommender()
        self.policy = self.recommender.policy
        self.policy_id = policy_id(self.policy)
        self.catalogue = ServedCatalogue(config.inputs, self.recommender)
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
            # The arm may never have been shown.
            self.policy.forget_arm(self.catalogue.id_of(event.arm), missing_ok=True)
        self.seq = entry.seq

    def _learn(self, decided: Decided, reward: float | list[float | None]) -> None:
        mean, rewards = rewards_by_arm(reward, len(decided.picked))
        retired, id_of = self.catalogue.retired, self.catalogue.id_of
        # The reward of an arm that was retired after the decision counts only for the groups.
        items = [
            (None if decided.at < retired.get(arm, 0) else id_of(arm), _row(context, decided.width), each)
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
        """Copy the state; return a function that serialises the copy, to be called in another thread.

        The bytes are those of a recommender file, which `Recommender.from_state` can also read.
        """
        self.catalogue.encode()
        state = self.recommender.state()
        state.header["metadata"] |= {"service": self._rest()}
        return state.to_bytes

    def restore(self, content: bytes) -> None:
        """Replace the state with a serialised one; raise ValueError, and change nothing, if it is damaged."""
        state = PolicyState.from_bytes(content, "the snapshot")
        policy = Policy.from_state(state, "the snapshot")
        start = self.config.make_recommender()
        configured = start.policy.set_params(random_state=None)
        if repr(policy.set_params(random_state=None)) != repr(configured):
            raise ValueError(f"the snapshot must be of {configured!r}, got {policy!r}")
        rest = json.loads(state.header["metadata"]["service"])
        policy.metadata = start.policy.metadata
        recommender = Recommender.from_parts(policy, start.catalogue, start.group_columns, start.item_id)
        catalogue = ServedCatalogue(self.config.inputs, recommender)
        # The encoder and the items of a snapshot are not used here: configured defaults may have changed since.
        catalogue.restore(rest["shelf"])
        self.recommender, self.policy, self.catalogue = recommender, policy, catalogue
        self.seq, self.decided, self.rewarded = rest["seq"], rest["decided"], rest["rewarded"]

    def restore_counts(self, content: bytes) -> None:
        """Restore only the numbers of decisions and rewards from a snapshot, possibly that of another policy."""
        rest = json.loads(PolicyState.from_bytes(content, "the snapshot").header["metadata"]["service"])
        self.decided, self.rewarded = rest["decided"], rest["rewarded"]

    def _rest(self) -> str:
        """Return everything except the policy as JSON, under the names used in snapshots of version 0.1.0."""
        rest = {
            "seq": self.seq,
            "decided": self.decided,
            "rewarded": self.rewarded,
            "shelf": self.catalogue.to_dict(),
        }
        return json.dumps(rest)


def policy_id(policy: Policy) -> str:
    """Return an id of a policy's class and parameters, regardless of its random state."""
    params = {name: value for name, value in policy.get_params(deep=False).items() if name != "random_state"}
    return hashlib.sha256(f"{type(policy).__name__}{sorted(params.items())}".encode()).hexdigest()[:8]


def _row(context: Context, width: int) -> Row:
    columns, values, n_common = context
    return Row.of(np.array(columns, np.int64), np.array(values, np.float64), n_common, width)
