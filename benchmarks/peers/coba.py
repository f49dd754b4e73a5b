"""Coba: one regression for all arms, a row per arm as its features, ridge 1, no batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coba.learners import LinUCBLearner

from peers.base import Peer


class Coba(Peer):
    """Its LinUCB on the features of the action, which include the columns of the user."""

    model = "shared"

    def __init__(self, alpha: float) -> None:
        self.learner = LinUCBLearner(alpha=alpha, features=["a"])

    def prepare(self, round_: Any) -> Any:
        """Convert rows to tuples."""
        return [tuple(row) for row in round_.contexts.tolist()]

    def choose(self, prepared: Any) -> int:
        """Predict, and return the arm; among arms with equal features, the first."""
        action, self.probability = self.learner.predict(None, prepared)
        return int(prepared.index(action))

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Learn."""
        self.learner.learn(None, prepared[arm], reward, self.probability)

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Skip the log: training does not change the cost of a shared model."""


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float) -> Peer:
    """Return the adapter."""
    if ridge != 1.0:
        raise ValueError(f"ridge must be 1 for coba, got {ridge}")
    return Coba(alpha)
