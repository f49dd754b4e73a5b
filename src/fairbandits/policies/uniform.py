"""Uniformly random arms: the lowest baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import GroupKey
from fairbandits.policies.picker import Pick, Picker
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term
from fairbandits.policies.records import Scores


class UniformPicker(Picker):
    """Pick any arm, each with the same probability."""

    def probabilities(self, scores: Scores, groups: Sequence[GroupKey]) -> NDArray[np.float64]:
        """Return the same probability for every arm."""
        return np.full(scores.total.shape, 1.0 / scores.total.shape[1])

    def pick(self, scores: Scores, group: GroupKey, rng: np.random.Generator) -> Pick:
        """Pick any arm."""
        n = scores.total.size
        return int(rng.integers(n)), 1.0 / n


class Uniform(Policy):
    """Choose any arm, each with the same probability. It learns nothing but the groups' rewards.

    Examples
    --------
    >>> from fairbandits import Uniform
    >>> Uniform(random_state=0).choose([[1.0], [1.0], [1.0], [1.0]]).probability
    0.25
    """

    # The policy has no model, and therefore none of a model's parameters.
    model: Any = None
    ridge: Any = 1.0

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return zeros: all arms score the same."""
        return 0.0, 0.0

    @property
    def picker(self) -> Picker:
        """The rule that picks any arm."""
        return UniformPicker()
