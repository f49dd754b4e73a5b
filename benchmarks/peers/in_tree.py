"""The baselines in this folder: the textbook, and optimised NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import baselines
from peers.base import Peer


class InTree(Peer):
    """A baseline of this folder."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.choose = policy.choose  # type: ignore[method-assign]  # avoids one call per choice

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Learn the arm's row."""
        self.policy.learn(arm, prepared[arm], reward)


class InTreeBatch(InTree):
    """A baseline that scores many users in one call."""

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Stack the contexts, arm by arm: (n_arms, n_users, width)."""
        return np.ascontiguousarray(np.stack([round_.contexts for round_ in rounds], axis=1))

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Score all at once."""
        arms: list[int] = self.policy.choose_many(prepared).tolist()
        return arms


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float, kind: str) -> Peer:
    """Return the adapter of a baseline, by its name."""
    policy = getattr(baselines, kind)(n_arms, width, alpha, ridge)
    return InTreeBatch(policy) if hasattr(policy, "choose_many") else InTree(policy)
