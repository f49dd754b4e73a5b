"""Epsilon-greedy: a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import GroupKey
from fairbandits.parameters import number, parameter
from fairbandits.policies.picker import Picker, share_of_best
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term
from fairbandits.policies.records import Scores


class EpsilonGreedyPicker(Picker):
    """Pick the arm with the highest score with probability 1 - epsilon, any arm otherwise."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def probabilities(self, scores: Scores, groups: Sequence[GroupKey]) -> NDArray[np.float64]:
        """Return epsilon shared by all arms, plus 1 - epsilon shared by the best arms."""
        best = share_of_best(scores.total)
        mixed: NDArray[np.float64] = self.epsilon / best.shape[-1] + (1.0 - self.epsilon) * best
        return mixed


class EpsilonGreedy(Policy):
    """Choose the arm with the highest predicted reward, but any arm at random with probability epsilon.

    Examples
    --------
    >>> from fairbandits import EpsilonGreedy
    >>> policy = EpsilonGreedy(epsilon=0.2, random_state=0)
    >>> first = policy.choose([[1.0, 0.0], [0.0, 1.0]])
    >>> policy.learn(first, reward=1.0)
    >>> policy.choose([[1.0, 0.0], [0.0, 1.0]]).probability
    0.9
    """

    epsilon: float = parameter(
        default=0.1, check=number(at_least=0.0, at_most=1.0), doc="The probability of choosing an arm at random."
    )

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return zeros, because the picker does the exploration."""
        return 0.0, 0.0

    @property
    def picker(self) -> Picker:
        """The rule that mixes the best arm with random ones."""
        return EpsilonGreedyPicker(self.epsilon)
