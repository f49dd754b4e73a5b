"""The worst-off group first: max-min LinUCB."""

from __future__ import annotations

from typing import ClassVar

from fairbandits.fairness import hedge_weights, per_user
from fairbandits.parameters import number, parameter
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.predictions import Predictions, Term


class MaxMinLinUCB(LinUCB):
    """LinUCB that weighs rewards by group, to raise the lowest mean reward of a group.

    The score is `weight * theta.x + alpha * width`, with rewards measured from the lowest one of `reward_range`.
    Weights are multiplicative, `exp(-step * n * mean)`, and 1 on average over the groups of an attribute
    (`fairbandits.fairness.hedge_weights`). So the worst-off group is served nearly greedily, and users of the
    other groups bear the exploration. For users with several attributes, the weights are averaged; users of
    unknown group have weight 1, as in LinUCB.

    On weights of groups chosen against a learner, see Mohri, Sivek, Suresh: Agnostic Federated Learning, ICML
    2019. On multiplicative weights, see Freund, Schapire: A Decision-Theoretic Generalization of On-Line Learning,
    JCSS 1997.

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

    step: float = parameter(
        default=1.0, check=number(at_least=0.0), doc="The step size of the weights; 0 gives LinUCB."
    )

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and the term that turns the predicted reward into the weighted one."""
        weights = hedge_weights(self.groups, float(self.step))
        weight = predictions.like(per_user(weights, self.groups, predictions.groups, unknown=1.0))
        return self.alpha_now() * predictions.width, (weight - 1.0) * (predictions.mean - self._scale.low)
