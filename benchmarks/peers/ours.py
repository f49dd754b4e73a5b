"""fairbandits, through its public face: with all checks, and a full record of every decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fairbandits
from peers.base import Peer


class Ours(Peer):
    """A policy that is given its contexts as a matrix."""

    def __init__(self, policy: Any, only_scores: bool) -> None:
        self.policy, self.model, self.only_scores = policy, policy.model, only_scores

    def prepare(self, round_: Any) -> Any:
        """Take the matrix and the group."""
        return round_.contexts, round_.group

    def choose(self, prepared: Any) -> int:
        """Choose, and keep the decision for `learn`."""
        contexts, group = prepared
        self.decision = self.policy.choose(contexts, group=group)
        index: int = self.decision.index
        return index

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Learn the decision."""
        self.policy.learn(self.decision, reward)

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Offer the arm of the log and no other, so that all contenders learn the same."""
        for arm, round_, reward in zip(arms, rounds, rewards, strict=True):
            decision = self.policy.choose(round_.contexts[[arm]], group=round_.group, arms=[arm])
            self.policy.learn(decision, reward)

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Stack the contexts: (n_users, n_arms, width)."""
        return np.stack([round_.contexts for round_ in rounds]), [round_.group for round_ in rounds]

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Decide for all, or score all."""
        contexts, groups = prepared
        if self.only_scores:
            best: list[int] = self.policy.score(contexts, groups).total.argmax(axis=1).tolist()
            return best
        return [decision.index for decision in self.policy.choose_many(contexts, groups)]


def make(
    n_arms: int, width: int, own: int, alpha: float, ridge: float,
    policy: str = "LinUCB", model: str = "disjoint", only_scores: bool = False,
) -> Ours:  # fmt: skip
    """Make a policy by its name."""
    made = getattr(fairbandits, policy)(alpha=alpha, ridge=ridge, model=model, random_state=0)
    return Ours(made, only_scores)
