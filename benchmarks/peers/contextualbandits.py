"""contextualbandits: compiled Sherman-Morrison per arm, one context per user, float64 or float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from contextualbandits.online import LinUCB

from peers.base import Peer, UserPeer


class ContextualBandits(UserPeer):
    """Its LinUCB without an intercept, with bounds for arms without observations."""

    def __init__(self, n_arms: int, width: int, alpha: float, ridge: float, use_float: bool) -> None:
        self.dtype = np.float32 if use_float else np.float64
        self.policy = LinUCB(
            n_arms, alpha=alpha, lambda_=ridge, fit_intercept=False, use_float=use_float, random_state=1
        )

    def prepare(self, round_: Any) -> Any:
        """Return the user's row in the precision of the model."""
        return super().prepare(round_).astype(self.dtype)

    def choose(self, prepared: Any) -> int:
        """Predict."""
        return int(self.policy.predict(prepared)[0])

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Fit one row."""
        self.policy.partial_fit(prepared, np.array([arm]), np.array([reward]))

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Fit all at once."""
        self.policy.partial_fit(self.prepare_many(rounds), np.array(arms), np.array(rewards))

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Stack the users."""
        return np.vstack([self.prepare(round_) for round_ in rounds])

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Predict for all at once."""
        arms: list[int] = self.policy.predict(prepared).tolist()
        return arms


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float, use_float: bool = False) -> Peer:
    """Return the adapter."""
    return ContextualBandits(n_arms, width, alpha, ridge, use_float)
