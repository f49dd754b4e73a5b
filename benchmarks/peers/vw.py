"""Vowpal Wabbit: gradient steps instead of matrices. Not LinUCB, but what many take when it has to be fast."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import vowpalwabbit

from peers.base import Peer


class Vw(Peer):
    """Contextual bandit with features of actions; a round is parsed once, and used to predict and to learn.

    Each action also has its number as a feature, so that it can learn what is special about an arm.
    """

    def __init__(self, exploration: str) -> None:
        self.vw = vowpalwabbit.Workspace(f"--cb_explore_adf {exploration} --quiet --random_seed 1")
        self.rng = random.Random(0)

    def prepare(self, round_: Any) -> Any:
        """Write the round as text, the user's part once where it is the same for all."""
        contexts, own = round_.contexts, round_.own
        is_apart = own < contexts.shape[1]
        lines = [f"shared |u {_features(contexts[0, :own])}"] if is_apart else ["shared |u one"]
        for arm, row in enumerate(contexts):
            lines.append(f"|a {_features(row[own:] if is_apart else row)} id{arm}")
        return "\n".join(lines)

    def choose(self, prepared: Any) -> int:
        """Parse, predict, and draw."""
        self.examples = self.vw.parse(prepared, vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
        self.chances = self.vw.predict(self.examples)
        return self.rng.choices(range(len(self.chances)), self.chances)[0]

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Label the action that was taken, and learn."""
        self.examples[arm + 1].set_label_string(f"0:{-reward}:{self.chances[arm]}")
        self.vw.learn(self.examples)
        self.vw.finish_example(self.examples)

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Learn no log: what was learned does not change its cost."""


def _features(values: Any) -> str:
    return " ".join(f"{column}:{values[column]:.6g}" for column in values.nonzero()[0])


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float, exploration: str) -> Peer:
    """Make it; it has its own ways to explore, and no ridge."""
    return Vw(exploration)
