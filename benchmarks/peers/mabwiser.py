"""MABWiser: a ridge regression per arm, one context per user, an inverse at every update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from peers.base import Peer, UserPeer


class MabWiser(UserPeer):
    """Its LinUCB; it must be fitted before it can predict, so the first arm is arbitrary."""

    def __init__(self, n_arms: int, alpha: float, ridge: float) -> None:
        self.mab = MAB(list(range(n_arms)), LearningPolicy.LinUCB(alpha=alpha, l2_lambda=ridge), seed=0)
        self.is_new = True

    def choose(self, prepared: Any) -> int:
        """Predict."""
        arm: int = 0 if self.is_new else self.mab.predict(prepared)
        return arm

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Fit at first, and partially after that."""
        fit = self.mab.fit if self.is_new else self.mab.partial_fit
        fit([arm], [reward], prepared)
        self.is_new = False

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Fit all at once."""
        self.mab.fit(list(arms), list(rewards), self.prepare_many(rounds))
        self.is_new = False

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Stack the users."""
        return np.vstack([self.prepare(round_) for round_ in rounds])

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Predict for all at once."""
        arms: list[int] = self.mab.predict(prepared)
        return arms


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float) -> Peer:
    """Return the adapter."""
    return MabWiser(n_arms, alpha, ridge)
