"""Fairness as a constraint with a price: primal-dual LinUCB."""

from __future__ import annotations

from typing import ClassVar

from fairbandits.fairness import dual_prices, per_user
from fairbandits.parameters import number, parameter
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.predictions import Predictions, Term


class PrimalDualLinUCB(LinUCB):
    """LinUCB under the constraint that the reward gap is at most `tolerance`.

    The constraint has a price, a Lagrange multiplier for each attribute: it rises while the constraint is
    violated, and falls while it holds. A unit of reward is then worth `1 - price` for a user of the advantaged
    group, and `1 + price` for a user in the disadvantaged group. The score is `(1 -+ price) * theta.x + alpha *
    width`, and the price is `step * n * (gap - tolerance)` (`fairbandits.fairness.dual_prices`). All other users
    are served as by LinUCB. Rewards are measured from the lowest one of `reward_range`, and steps as shares of the
    range.

    A price above 1 means that users in the advantaged group are given arms of low predicted reward on purpose: if
    there is no other way, a constraint on the gap demands levelling down.

    The approach follows bandits with knapsacks, with the gap as the resource: Badanidiyuru, Kleinberg, Slivkins:
    Bandits with Knapsacks, FOCS 2013; Agrawal, Devanur: Linear Contextual Bandits with Knapsacks, NIPS 2016.

    Examples
    --------
    >>> from fairbandits import PrimalDualLinUCB
    >>> policy = PrimalDualLinUCB(tolerance=0.1, random_state=0)
    >>> for group, reward in (("male", 0.9), ("female", 0.5)):
    ...     policy.learn(policy.choose([[1.0]], group), reward)
    >>> scores = policy.score([[[1.0]], [[1.0]]], ["male", "female"])
    >>> (scores.fairness / scores.mean).round(9).tolist()
    [[-0.3], [0.3]]
    """

    tolerance: float | None = parameter(
        default=None,
        check=number(at_least=0.0, or_none=True),
        doc="The tolerated gap, in units of reward. None means 1% of the reward range.",
    )
    step: float = parameter(
        default=1.0, check=number(at_least=0.0), doc="The step size of the price; 0 gives LinUCB."
    )
    highest_price: float = parameter(default=2.0, check=number(at_least=0.0), doc="The highest price.")

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and the term that multiplies the predicted reward by its worth."""
        tolerance = self._scale.tolerance(self.tolerance)
        prices = dual_prices(self.groups, float(self.step), tolerance, float(self.highest_price))
        worth = predictions.like(per_user(prices, self.groups, predictions.groups, unknown=0.0))
        return self.alpha_now() * predictions.width, worth * (predictions.mean - self._scale.low)
