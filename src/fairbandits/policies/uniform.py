"""Any arm at random: the lowest yardstick."""

from __future__ import annotations

import numpy as np

from fairbandits.policies.base import Floats, Policy, Predictions, Term
from fairbandits.policies.decision import Scores


class Uniform(Policy):
    """Pick any arm, each with the same probability. Learns nothing but who got what.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness comes from.

    Examples
    --------
    >>> from fairbandits import Uniform
    >>> Uniform(random_state=0).choose([[1.0], [1.0], [1.0], [1.0]]).probability
    0.25
    """

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add nothing: all arms score the same."""
        return 0.0, 0.0

    def pick(self, scores: Scores, rng: np.random.Generator) -> tuple[int, float | None]:
        """Pick any arm."""
        n = scores.total.size
        return int(rng.integers(n)), 1.0 / n

    def chances(self, scores: Scores) -> Floats:
        """Give every arm the same."""
        return np.full(scores.total.shape, 1.0 / scores.total.shape[1])
