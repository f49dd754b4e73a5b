"""The scale of rewards: models and pickers work on [0, 1], everything else in the user's units."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.policies.records import Scores

Floats = NDArray[np.float64]
Reward = TypeVar("Reward", float, Floats)

# The default tolerance, as a share of the reward range.
_DEFAULT_TOLERANCE = 0.01


class UnitScale:
    """Converts rewards, predictions and scores between a range of rewards and [0, 1].

    A ridge penalty, a weight of the width and a threshold for ties mean the same on every scale only if rewards
    are measured as shares of their range. So the choice of arms does not depend on the units of reward; for ranges
    that start at 0 and end at a power of two, scores are bitwise identical after division.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and the highest reward.

    Attributes
    ----------
    low, span : float
        The lowest reward, and the highest minus the lowest.
    is_unit : bool
        Whether the range is [0, 1]: nothing is then computed or copied.

    Examples
    --------
    >>> scale = UnitScale((1.0, 5.0))
    >>> scale.to_unit(4.0)
    0.75
    >>> scale.predictions(np.array([0.75]), np.array([0.5]))
    (array([4.]), array([2.]))
    """

    def __init__(self, reward_range: tuple[float, float]) -> None:
        low, high = (float(bound) for bound in reward_range)
        self.low, self.span = low, high - low
        self.is_unit = (low, high) == (0.0, 1.0)

    def to_unit(self, reward: Reward) -> Reward:
        """Return rewards, or scores, as shares of the range."""
        return reward if self.is_unit else (reward - self.low) / self.span

    def predictions(self, mean: Floats, width: Floats) -> tuple[Floats, Floats]:
        """Convert a model's predictions on [0, 1] to the user's units."""
        return self.low + self.span * mean, self.span * width

    def unit_scores(self, scores: Scores) -> Scores:
        """Return scores on [0, 1], as pickers see them."""
        if self.is_unit:
            return scores
        return Scores(
            self.to_unit(scores.mean),
            scores.width / self.span,
            scores.exploration / self.span,
            scores.fairness / self.span,
            self.to_unit(scores.total),
        )

    def tolerance(self, given: float | None) -> float:
        """Return a tolerance in units of reward; if none is given, 1% of the range."""
        return _DEFAULT_TOLERANCE * self.span if given is None else float(given)
