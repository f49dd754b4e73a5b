"""Epsilon-greedy: a yardstick."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.models import Model
from fairbandits.policies.base import Floats, Predictions, Term
from fairbandits.policies.decision import Scores
from fairbandits.policies.linear_policy import LinearPolicy
from fairbandits.policies.parameters import as_number
from fairbandits.policies.picker import share_of_best


class EpsilonGreedy(LinearPolicy):
    """Pick the arm with the highest predicted reward, but any arm at random with probability epsilon.

    Parameters
    ----------
    epsilon : float
        How often to try an arm at random, from 0 to 1.
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared", "hybrid"} or Model
        One regression for each arm, one for all arms, or both; a `Model` says more.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness comes from.

    Examples
    --------
    >>> from fairbandits import EpsilonGreedy
    >>> policy = EpsilonGreedy(epsilon=0.2, random_state=0)
    >>> first = policy.choose([[1.0, 0.0], [0.0, 1.0]])
    >>> policy.learn(first, reward=1.0)
    >>> policy.choose([[1.0, 0.0], [0.0, 1.0]]).probability
    0.9
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        super().__init__(ridge, model, reward_range, random_state)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add nothing: exploration is in the picking."""
        return 0.0, 0.0

    def pick(self, scores: Scores, rng: np.random.Generator) -> tuple[int, float | None]:
        """Pick the best arm with probability 1 - epsilon, any arm otherwise."""
        chances = self._mixed(share_of_best(scores.total[None])[0])
        index = int(rng.choice(chances.size, p=chances))
        return index, float(chances[index])

    def chances(self, scores: Scores) -> Floats:
        """Give the best arms their share of 1 - epsilon, and every arm its share of epsilon."""
        return self._mixed(share_of_best(scores.total))

    def _mixed(self, best: Floats) -> Floats:
        mixed: Floats = self.epsilon / best.shape[-1] + (1.0 - self.epsilon) * best
        return mixed

    def _check_params(self) -> None:
        super()._check_params()
        if as_number("epsilon", self.epsilon, least=0.0) > 1.0:
            raise ValueError(f"epsilon is a probability, from 0 to 1; got {self.epsilon!r}")
