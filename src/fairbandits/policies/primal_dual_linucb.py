"""Fairness as a constraint with a price: primal-dual LinUCB."""

from __future__ import annotations

from typing import Any

from fairbandits.fairness import dual_prices, per_user
from fairbandits.models import Model
from fairbandits.policies.base import Predictions, Term
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.parameters import as_number


class PrimalDualLinUCB(LinUCB):
    """LinUCB under the constraint that the group ahead has at most `tolerance` more than the group behind.

    The constraint has a price, a Lagrange multiplier for each attribute: while it is broken the price rises,
    while it holds the price falls. A unit of reward is then worth `1 - price` with a user of the group ahead, `1
    + price` with one of the group behind: the score is `(1 -+ price) * theta.x + alpha * width`, and the price is
    `step * n * (gap - tolerance)` (`fairbandits.fairness.dual_prices`). All other users are served as by LinUCB.

    A price above 1 means that users of the group ahead are given arms of low predicted reward on purpose:
    levelling down is what a constraint on the difference asks for where there is no other way.

    The way of bandits with knapsacks, with the difference as the resource: Badanidiyuru, Kleinberg, Slivkins:
    Bandits with Knapsacks, FOCS 2013; Agrawal, Devanur: Linear Contextual Bandits with Knapsacks, NIPS 2016.

    Parameters
    ----------
    alpha : float or "theory"
        How much being unsure counts, as in `LinUCB`.
    tolerance : float
        How large a difference between groups is tolerated, in units of reward, not below 0.
    step : float
        How fast the price rises, not below 0. With 0 it is LinUCB.
    highest_price : float
        The price rises no higher, not below 0.
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared", "hybrid"} or Model
        One regression for each arm, one for all arms, or both; a `Model` says more.
    delta : float
        With `alpha="theory"`: the probability that any interval of any round fails.
    theta_norm : float
        With `alpha="theory"`: a bound on the Euclidean norm of the true coefficients.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties comes from.

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

    def __init__(
        self,
        alpha: float | str = 0.5,
        tolerance: float = 0.01,
        step: float = 1.0,
        highest_price: float = 2.0,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.tolerance = tolerance
        self.step = step
        self.highest_price = highest_price
        super().__init__(alpha, ridge, model, delta, theta_norm, reward_range, random_state)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add alpha times the width, and the predicted reward times what the constraint says it is worth."""
        highest = float(self.highest_price)
        prices = dual_prices(self.groups, float(self.step), float(self.tolerance), highest)
        return self.alpha_now() * predictions.width, per_user(
            prices, self.groups, predictions.groups, unknown=0.0
        ) * predictions.mean

    def _check_params(self) -> None:
        super()._check_params()
        as_number("tolerance", self.tolerance, least=0.0)
        as_number("step", self.step, least=0.0)
        as_number("highest_price", self.highest_price, least=0.0)
