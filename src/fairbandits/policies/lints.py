"""Linear Thompson sampling (Agrawal and Goyal 2013): a yardstick."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.policies.base import Floats, Seen, Term
from fairbandits.policies.decision import Scores
from fairbandits.policies.linear_policy import LinearPolicy
from fairbandits.policies.params import as_number
from fairbandits.policies.pick import pick_best

# Beyond this many standard deviations a normal density is 0 to sixteen digits.
_REACH = 8.5
_MOST_BENDS = 60


class LinTS(LinearPolicy):
    """Draw coefficients from what is believed of them, `N(theta, (alpha^2) A^-1)`, and pick the best arm for them.

    With the disjoint model the arms are independent, and the probability of a pick is an integral over one
    variable that is computed to nine digits. With the shared model it has no closed form, and decisions carry
    `probability=None`.

    Parameters
    ----------
    alpha : float
        The scale of the draws, not below 0.
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared"}
        One regression for each arm, or one for all arms.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness comes from.

    Examples
    --------
    >>> from fairbandits import LinTS
    >>> decision = LinTS(alpha=0.3, random_state=0).choose([[1.0, 0.0], [0.0, 1.0]])
    >>> round(decision.probability, 9)
    0.5
    """

    def __init__(
        self,
        alpha: float = 0.5,
        ridge: float = 1.0,
        model: str = "disjoint",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        super().__init__(ridge, model, reward_range, random_state)

    def terms(self, seen: Seen) -> tuple[Term, Term]:
        """Add what the draw makes of the predicted reward."""
        if self.model == "disjoint":
            # One row per arm and independent arms: drawing the score is drawing the coefficients.
            return self.alpha * seen.width * self._rng.standard_normal(seen.width.shape), 0.0
        root = np.linalg.cholesky(self.bank.inverse_of(0))
        draws = root @ self._rng.standard_normal((len(root), len(seen.groups)))
        return self.alpha * seen.contexts.times(draws), 0.0

    def pick(self, scores: Scores, rng: np.random.Generator) -> tuple[int, float | None]:
        """Pick the arm whose draw is best."""
        index, share = pick_best(scores.total, rng)
        if self.alpha == 0.0:
            return index, share
        if self.model == "shared":
            return index, None
        return index, probability_of_best(index, scores.mean, self.alpha * scores.width)

    def _check_params(self) -> None:
        super()._check_params()
        as_number("alpha", self.alpha, least=0.0)


def probability_of_best(index: int, mean: Floats, sd: Floats) -> float:
    """Compute the probability that one of several independent normal variables is the greatest.

    Examples
    --------
    >>> round(probability_of_best(0, np.array([1.0, 0.0]), np.array([1.0, 1.0])), 6)
    0.76025
    """
    from scipy.integrate import quad  # noqa: PLC0415  (imported where it is used: it is slow to import)
    from scipy.special import ndtr  # noqa: PLC0415

    others = np.arange(mean.size) != index
    # The greatest lies above this with certainty, and arms that never reach it do not matter.
    floor = (mean - _REACH * sd).max()
    others &= mean + _REACH * sd > floor
    m, s = mean[others], np.maximum(sd[others], 1e-300)
    if sd[index] == 0.0:
        return float(np.prod(ndtr((mean[index] - m) / s)))

    def density(z: float) -> float:
        below: NDArray[np.float64] = ndtr((mean[index] + z * sd[index] - m) / s)
        return math.exp(-0.5 * z * z) * float(below.prod())

    start = max(-_REACH, (floor - mean[index]) / sd[index])
    if start >= _REACH:
        return 0.0
    # The others' steps are where the integrand bends; the quadrature is told where each begins and ends.
    steps = np.concatenate([m - 6.0 * s, m, m + 6.0 * s])
    bends = np.unique((steps - mean[index]) / sd[index])
    bends = bends[(bends > start) & (bends < _REACH)]
    # Many steps overlap where there are many arms; a sample of them is as good a grid.
    bends = bends[:: 1 + bends.size // _MOST_BENDS]
    area, _ = quad(density, start, _REACH, points=bends, limit=500, epsabs=1e-11, epsrel=1e-10)
    return float(area) / math.sqrt(2.0 * math.pi)
