"""Vowpal Wabbit: gradient steps instead of matrices. Not LinUCB, but a common choice where speed matters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import vowpalwabbit

from peers.base import Peer


class Vw(Peer):
    """Contextual bandit with action features; a round is parsed once, for prediction and learning.

    The index of the action is a feature too, so that the model can learn the effect of an arm.
    """

    def __init__(self, exploration: str) -> None:
        self.vw = vowpalwabbit.Workspace(f"--cb_explore_adf {exploration} --quiet --random_seed 1")
        self.rng = random.Random(0)

    def prepare(self, round_: Any) -> Any:
        """Format the round as text, with the columns of the user as shared features if possible."""
        contexts, own = round_.contexts, round_.own
        is_shared = own < contexts.shape[1]
        lines = [f"shared |u {_features(contexts[0, :own])}"] if is_shared else ["shared |u one"]
        for arm, row in enumerate(contexts):
            lines.append(f"|a {_features(row[own:] if is_shared else row)} id{arm}")
        return "\n".join(lines)

    def choose(self, prepared: Any) -> int:
        """Parse, predict, and draw an action."""
        self.examples = self.vw.parse(prepared, vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
        self.probabilities = self.vw.predict(self.examples)
        return self.rng.choices(range(len(self.probabilities)), self.probabilities)[0]

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Label the chosen action, and learn."""
        self.examples[arm + 1].set_label_string(f"0:{-reward}:{self.probabilities[arm]}")
        self.vw.learn(self.examples)
        self.vw.finish_example(self.examples)

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Skip the log: training does not change its cost."""


def _features(values: Any) -> str:
    return " ".join(f"{column}:{values[column]:.6g}" for column in values.nonzero()[0])


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float, exploration: str) -> Peer:
    """Return the adapter; it has its own exploration, and no ridge."""
    return Vw(exploration)
