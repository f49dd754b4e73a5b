"""The worst-off first: max-min LinUCB."""

from __future__ import annotations

from typing import Any

from fairbandits.fairness import hedge_weights, per_user
from fairbandits.models import Model
from fairbandits.policies.base import Predictions, Term
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.parameters import as_number


class MaxMinLinUCB(LinUCB):
    """LinUCB that weighs rewards by group, so as to raise the lowest mean reward of a group.

    The score is `weight * theta.x + alpha * width`. Weights are multiplicative, `exp(-step * n * mean)`, and 1 on
    average over the groups of an attribute (`fairbandits.fairness.hedge_weights`). So the worst-off are served
    nearly greedily, and users of groups ahead carry the exploration. Users of several attributes have the average
    of their weights; of unknown group, weight 1, as by LinUCB.

    Weights on groups against a learner: Mohri, Sivek, Suresh: Agnostic Federated Learning, ICML 2019;
    multiplicative weights: Freund, Schapire: A Decision-Theoretic Generalization of On-Line Learning, JCSS 1997.

    Parameters
    ----------
    alpha : float or "theory"
        How much being unsure counts, as in `LinUCB`.
    step : float
        How fast the weights move, not below 0. With 0 it is LinUCB.
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
    >>> from fairbandits import MaxMinLinUCB
    >>> policy = MaxMinLinUCB(random_state=0)
    >>> for group, reward in (("male", 0.9), ("female", 0.5)):
    ...     policy.learn(policy.choose([[1.0]], group), reward)
    >>> scores = policy.score([[[1.0]], [[1.0]]], ["male", "female"])
    >>> (1.0 + scores.fairness / scores.mean).round(3).tolist()
    [[0.803], [1.197]]
    """

    def __init__(
        self,
        alpha: float | str = 0.5,
        step: float = 1.0,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.step = step
        super().__init__(alpha, ridge, model, delta, theta_norm, reward_range, random_state)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add alpha times the width, and what makes the predicted reward the weighted one."""
        weights = hedge_weights(self.groups, float(self.step))
        weight = per_user(weights, self.groups, predictions.groups, unknown=1.0)
        return self.alpha_now() * predictions.width, (weight - 1.0) * predictions.mean

    def _check_params(self) -> None:
        super()._check_params()
        as_number("step", self.step, least=0.0)
