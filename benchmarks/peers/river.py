"""River: a Bayesian regression per arm, one context per user as a dictionary of its non-zeros, no batches."""

from __future__ import annotations

from typing import Any

from river.bandit import LinUCBDisjoint

from peers.base import Peer, UserPeer


class River(UserPeer):
    """Its LinUCB, as near to the textbook as it comes.

    It adds the standard deviation of the reward, not alpha times that of its mean. A prior and a noise precision
    of 1 / alpha**2 make the means right, and the width alpha * sqrt(1 + x' A^-1 x).
    """

    users_at_once = 100

    def __init__(self, n_arms: int, alpha: float) -> None:
        self.arms = list(range(n_arms))
        self.policy = LinUCBDisjoint(alpha=alpha**-2, beta=alpha**-2, seed=0)

    def prepare(self, round_: Any) -> Any:
        """Name the columns that are not zero."""
        return {int(column): float(round_.user[column]) for column in round_.user.nonzero()[0]}

    def choose(self, prepared: Any) -> int:
        """Pull."""
        return int(self.policy.pull(self.arms, prepared))

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Update."""
        self.policy.update(arm, prepared, reward)


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float) -> Peer:
    """Make it."""
    if ridge != 1.0:
        raise ValueError(f"the prior stands for a ridge of 1; got {ridge}")
    return River(n_arms, alpha)
