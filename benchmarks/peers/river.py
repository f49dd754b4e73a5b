"""River: a Bayesian regression per arm, one context per user as a dictionary of its non-zeros, no batches."""

from __future__ import annotations

from typing import Any

from river.bandit import LinUCBDisjoint

from peers.base import Peer, UserPeer


class River(UserPeer):
    """Its LinUCB, as close to the textbook as possible.

    It adds the standard deviation of the reward, not alpha times that of the mean. With prior and noise precision
    1 / alpha**2, the means are right, and the width is alpha * sqrt(1 + x' A^-1 x).
    """

    users_at_once = 100

    def __init__(self, n_arms: int, alpha: float) -> None:
        self.arms = list(range(n_arms))
        self.policy = LinUCBDisjoint(alpha=alpha**-2, beta=alpha**-2, seed=0)

    def prepare(self, round_: Any) -> Any:
        """Return the non-zero columns as a dictionary."""
        return {int(column): float(round_.user[column]) for column in round_.user.nonzero()[0]}

    def choose(self, prepared: Any) -> int:
        """Pull an arm."""
        return int(self.policy.pull(self.arms, prepared))

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Update."""
        self.policy.update(arm, prepared, reward)


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float) -> Peer:
    """Return the adapter."""
    if ridge != 1.0:
        raise ValueError(f"ridge must be 1, which the prior stands for, got {ridge}")
    return River(n_arms, alpha)
