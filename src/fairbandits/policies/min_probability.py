"""A picker that gives every arm a chance, so that its log can be used to evaluate other policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import GroupKey
from fairbandits.policies.picker import Pick, Picker
from fairbandits.policies.records import Scores

Floats = NDArray[np.float64]


class MinProbabilityPicker(Picker):
    """Pick as another picker does, but each arm with at least a given probability.

    With n arms on offer and m = min(min_probability, 1 / n), an arm that the other picker picks with probability p
    is picked with probability `m + (1 - n m) p`. For a slate, this holds at each position, among the remaining
    arms.

    Parameters
    ----------
    base : Picker
        The other picker.
    min_probability : float
        The lowest probability of an arm. At 1 / n or above, all arms are equally probable.

    Examples
    --------
    >>> from fairbandits.policies.picker import GreedyPicker
    >>> scores = Scores(*(np.array([[0.7, 0.1, 0.3]]) for _ in range(5)))
    >>> MinProbabilityPicker(GreedyPicker(), 0.05).probabilities(scores, [()])
    array([[0.9 , 0.05, 0.05]])
    """

    def __init__(self, base: Picker, min_probability: float) -> None:
        self.base = base
        self.min_probability = min_probability

    @property
    def has_random_scores(self) -> bool:
        """Whether the scores of the other picker hold random draws."""
        return self.base.has_random_scores

    def probabilities(self, scores: Scores, groups: Sequence[GroupKey]) -> Floats | None:
        """Return the mixed probabilities; None if those of the other picker have no closed form."""
        n = scores.total.shape[1]
        lowest, rest = self._shares(n)
        if not rest:
            return np.full(scores.total.shape, 1.0 / n)
        each = self.base.probabilities(scores, groups)
        return None if each is None else lowest + rest * each

    def probability(self, scores: Scores, group: GroupKey, index: int) -> float | None:
        """Return the mixed probability of one arm for one user."""
        lowest, rest = self._shares(scores.total.size)
        return self._mixed(self.base.probability(scores, group, index), lowest, rest) if rest else lowest

    def pick(self, scores: Scores, group: GroupKey, rng: np.random.Generator) -> Pick:
        """Pick any arm with probability n m, otherwise as the other picker does."""
        n = scores.total.size
        lowest, rest = self._shares(n)
        if not rest:
            return int(rng.integers(n)), lowest
        if rng.random() < rest:
            index, probability = self.base.pick(scores, group, rng)
        else:
            index = int(rng.integers(n))
            probability = self.base.probability(scores, group, index)
        return index, self._mixed(probability, lowest, rest)

    def _shares(self, n: int) -> tuple[float, float]:
        """Return the lowest probability of n arms, and the share of picks that the other picker makes."""
        if self.min_probability * n >= 1.0:
            return 1.0 / n, 0.0
        return self.min_probability, 1.0 - n * self.min_probability

    @staticmethod
    def _mixed(probability: float | None, lowest: float, rest: float) -> float | None:
        return None if probability is None else lowest + rest * probability
