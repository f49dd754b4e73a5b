"""Linear Thompson sampling (Agrawal and Goyal 2013): a baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import GroupKey
from fairbandits.jit import helper, kernel
from fairbandits.models import Model, as_model
from fairbandits.parameters import number, parameter
from fairbandits.policies.picker import GREEDY, TIE, Pick, Picker, pick_best, share_of_best
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term
from fairbandits.policies.records import Scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Beyond this many standard deviations a normal density is 0 to sixteen digits.
_REACH = 8.5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_TOLERANCE = 1e-9
_NARROW = 0.2
# Spreads that differ by more leave the range of a float64 when one is measured in units of the other.
_NOTHING = 1e-150
# The normal distribution function and its density on a grid. Between the grid points, cubics are accurate to
# eleven digits and take a tenth of the time. Beyond the ends of the grid, the distribution function is 0 or 1.
_FAR, _PER_UNIT = 7.0, 128
_GRID = np.linspace(-_FAR, _FAR, int(2 * _FAR) * _PER_UNIT + 1)
_BELOW = np.array([0.5 * math.erfc(-z / math.sqrt(2.0)) for z in _GRID])
_SLOPE = np.exp(-0.5 * _GRID**2) / math.sqrt(2.0 * math.pi) / _PER_UNIT
_DEEPEST = 40


class ThompsonPicker(Picker):
    """Pick the arm whose draw is the highest.

    Parameters
    ----------
    alpha : float
        The scale of the draws.
    is_independent : bool
        Whether the draws of arms are independent: the probability of a pick is then an integral over one variable.
    """

    def __init__(self, alpha: float, is_independent: bool) -> None:
        self.alpha = alpha
        self.is_independent = is_independent

    def probabilities(self, scores: Scores, groups: Sequence[GroupKey]) -> Floats | None:
        """Return the probability that each arm's draw is the highest; None if the model is shared."""
        if self.alpha == 0.0:
            return share_of_best(scores.total)
        if not self.is_independent:
            return None
        return np.array(
            [
                [probability_of_best(index, mean, sd) for index in range(mean.size)]
                for mean, sd in zip(scores.mean, self.alpha * scores.width, strict=True)
            ]
        )

    @property
    def has_random_scores(self) -> bool:
        """Whether there is anything to draw."""
        return self.alpha > 0.0

    def probability(self, scores: Scores, group: GroupKey, index: int) -> float | None:
        """Return the probability that one arm's draw is the highest."""
        if self.alpha == 0.0:
            return super().probability(scores, group, index)
        return probability_of_best(index, scores.mean, self.alpha * scores.width) if self.is_independent else None

    def pick(self, scores: Scores, group: GroupKey, rng: np.random.Generator) -> Pick:
        """Pick the arm whose draw is the highest."""
        index, share = pick_best(scores.total, rng)
        return index, share if self.alpha == 0.0 else self.probability(scores, group, index)

    def slate(
        self, scores: Scores, k: int, group: GroupKey, rng: np.random.Generator
    ) -> tuple[list[int], float | None]:
        """Pick the arms whose draws are the highest; the probability of their order has no closed form."""
        picked, share = GREEDY.slate(scores, k, group, rng)
        return picked, share if self.alpha == 0.0 else None

    def slates(
        self, scores: Scores, k: int, groups: Sequence[GroupKey], rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """Pick the arms whose draws are the highest, for each of many users."""
        picked, share = GREEDY.slates(scores, k, groups, rng)
        return picked, share if self.alpha == 0.0 else np.full(len(share), np.nan)


class LinTS(Policy):
    """Draw coefficients from the belief about them, `N(theta, alpha^2 A^-1)`, and choose the best arm for them.

    With the disjoint model, the arms are independent, and the probability of a pick is an integral over one
    variable that is computed to nine digits. With a shared or hybrid model, the probability has no closed form,
    and decisions have `probability=None`. With the logistic link, draws are normal on the scale of rewards.

    Examples
    --------
    >>> from fairbandits import LinTS
    >>> decision = LinTS(alpha=0.3, random_state=0).choose([[1.0, 0.0], [0.0, 1.0]])
    >>> round(decision.probability, 9)
    0.5
    """

    alpha: float = parameter(default=0.5, check=number(at_least=0.0), doc="The scale of the draws.")

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return the deviation of the drawn reward from the predicted one, and nothing for fairness."""
        drawn = predictions.model.sample(predictions.rows, predictions.arms, self._rng)
        return self.alpha * predictions.width * drawn, 0.0

    @property
    def picker(self) -> Picker:
        """The rule that picks the highest draw."""
        model = as_model(self.model)
        return ThompsonPicker(self.alpha, isinstance(model, Model) and model.kind == "disjoint")


def probability_of_best(index: int, mean: Floats, sd: Floats) -> float:
    """Compute the probability that one of several independent normal variables is the greatest.

    Examples
    --------
    >>> round(probability_of_best(0, np.array([1.0, 0.0]), np.array([1.0, 1.0])), 6)
    0.76025
    """
    # Arms without spread stay at their means. The best of them is a lower bound; several equally good ones tie.
    fixed = sd <= _NOTHING * sd.max()
    sure = mean[fixed].max(initial=-np.inf)
    level = TIE * max(1.0, abs(sure)) if fixed.any() else 0.0
    # The greatest lies above this with certainty, and arms that never reach it do not matter.
    floor = max(sure, (mean - _REACH * sd).max())
    others = ~fixed & (mean + _REACH * sd > floor)
    others[index] = False
    m, s = _highest_first(mean[others], sd[others])
    if fixed[index]:
        if mean[index] < sure - level:
            return 0.0
        return _all_below(mean[index], m, s) / int((fixed & (mean >= sure - level)).sum())
    start = max(-_REACH, (floor - mean[index]) / sd[index])
    if start >= _REACH:
        return 0.0
    # Use the units of the arm in question, so that its density is the standard normal one.
    m, s = (m - mean[index]) / sd[index], s / sd[index]
    # A narrow arm is a steep step, which the nodes could miss, so panels begin and end at its edges.
    narrow = s < _NARROW
    bends = np.concatenate([m[narrow] - 6.0 * s[narrow], m[narrow] + 6.0 * s[narrow]])
    bends = np.unique(bends[(bends > start) & (bends < _REACH)])
    return min(1.0, _integrate(np.concatenate([[start], bends, [_REACH]]), m, s))


def _highest_first(m: Floats, s: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(-(m + _FAR * s))
    return m[order], s[order]


@kernel()
def _all_below(z: float, m: Floats, s: Floats) -> float:
    return _below(z, m, s)


@helper()
def _below(z: float, m: Floats, s: Floats) -> float:
    """Return the probability that all of several normal variables lie below z, the highest first."""
    product = 1.0
    for i in range(m.size):
        x = (z - m[i]) / s[i]
        if x >= _FAR:
            break  # so do all that follow
        product *= _normal(x)
    return product


@helper()
def _normal(x: float) -> float:
    """Return the probability that a standard normal variable lies below x."""
    if x <= -_FAR:
        return 0.0
    place = (x + _FAR) * _PER_UNIT
    k = min(int(place), _BELOW.size - 2)
    t = place - k
    low, high, from_low, from_high = _BELOW[k], _BELOW[k + 1], _SLOPE[k], _SLOPE[k + 1]
    rise = high - low
    # Hermite's cubic: both values, both slopes.
    bend = from_low + from_high - 2.0 * rise
    value: float = low + t * (from_low + t * (3.0 * rise - 2.0 * from_low - from_high + t * bend))
    return value


@helper()
def _panel(a: float, b: float, m: Floats, s: Floats) -> float:
    """Integrate the standard normal density times `_below` from a to b by Gaussian quadrature."""
    area = 0.0
    for i in range(_NODES.size):
        z = 0.5 * (a + b) + 0.5 * (b - a) * _NODES[i]
        area += _WEIGHTS[i] * math.exp(-0.5 * z * z) * _below(z, m, s)
    return 0.5 * (b - a) * area / math.sqrt(2.0 * math.pi)


@kernel()
def _integrate(edges: Floats, m: Floats, s: Floats) -> float:
    """Halve panels until both halves together agree with the whole."""
    total = 0.0
    for i in range(edges.size - 1):
        stack = [(edges[i], edges[i + 1], _panel(edges[i], edges[i + 1], m, s), 0)]
        while len(stack) > 0:
            lo, hi, whole, depth = stack.pop()
            middle = 0.5 * (lo + hi)
            left, right = _panel(lo, middle, m, s), _panel(middle, hi, m, s)
            if abs(left + right - whole) < _TOLERANCE or depth > _DEEPEST:
                total += left + right
            else:
                stack.append((lo, middle, left, depth + 1))
                stack.append((middle, hi, right, depth + 1))
    return total
