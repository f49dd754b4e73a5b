"""bayesianbandits: a Bayesian regression per arm, one context per user, the bound as a quantile of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from bayesianbandits import Arm, ContextualAgent, NormalRegressor, UpperConfidenceBound

from peers.base import Peer, UserPeer


class BayesianBandits(UserPeer):
    """Its upper confidence bound with the default number of draws; alpha becomes a normal quantile."""

    users_at_once = 100

    def __init__(self, n_arms: int, alpha: float, ridge: float) -> None:
        arms = [Arm(arm, learner=NormalRegressor(alpha=ridge, beta=1.0)) for arm in range(n_arms)]
        policy = UpperConfidenceBound(alpha=NormalDist().cdf(alpha))
        self.agent: Any = ContextualAgent(arms, policy, random_seed=0)

    def choose(self, prepared: Any) -> int:
        """Pull."""
        return int(self.agent.pull(prepared)[0])

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Update the given arm."""
        self.agent.select_for_update(arm).update(prepared, np.array([reward]))

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Stack the users."""
        return np.vstack([self.prepare(round_) for round_ in rounds])

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Pull for all at once."""
        arms: list[int] = self.agent.pull(prepared)
        return arms


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float) -> Peer:
    """Return the adapter."""
    return BayesianBandits(n_arms, alpha, ridge)
