"""Nash and alpha-fair welfare over groups: alpha-fair LinUCB."""

from __future__ import annotations

from typing import ClassVar

from fairbandits.fairness import per_user, welfare_weights
from fairbandits.parameters import number, parameter
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.predictions import Predictions, Term


class AlphaFairLinUCB(LinUCB):
    """LinUCB that weighs rewards by the gradient of the groups' alpha-fair welfare.

    The welfare of groups with mean rewards `u_g` is `sum u_g^(1 - aversion) / (1 - aversion)`: the total reward
    for an aversion of 0, Nash welfare `sum log u_g` for 1, and the lowest `u_g` in the limit. Its gradient
    `u_g^-aversion`, 1 on average over the groups of an attribute (`fairbandits.fairness.welfare_weights`), is the
    weight of the group in the score `weight * theta.x + alpha * width`. Rewards are measured from the lowest one
    of `reward_range`. For users with several attributes, the weights are averaged; users of unknown group have
    weight 1, as in LinUCB.

    A user with weight w is served as by `LinUCB(alpha=alpha / w)`, so groups with low welfare bear less of the
    exploration. Weights are below the number of groups G, so with an alpha of G times the confidence radius of
    Abbasi-Yadkori, Pal, Szepesvari (Improved Algorithms for Linear Stochastic Bandits, NIPS 2011, Theorem 2) a
    choice costs at most `2 * (alpha / w) * width`, as in their Theorem 3, with the same probability. No bound on
    the welfare itself is known.

    The welfare function is that of Atkinson: On the Measurement of Inequality, JET 1970, and Mo, Walrand: Fair
    End-to-End Window-Based Congestion Control, IEEE/ACM Transactions on Networking 2000. Nash welfare over groups
    that share the cost of exploration is due to Baek, Farias: Fair Exploration via Axiomatic Bargaining, NeurIPS
    2021. This is not their policy PF-UCB. Their utility is the regret that a group saves compared with learning on
    its own; here it is the mean reward, which can be observed. In addition, their arms have no changing contexts.

    Examples
    --------
    >>> from fairbandits import AlphaFairLinUCB
    >>> policy = AlphaFairLinUCB(aversion=1.0, random_state=0)
    >>> for group, reward in (("male", 0.9), ("female", 0.3)):
    ...     policy.learn(policy.choose([[1.0]], group), reward)
    >>> scores = policy.score([[[1.0]], [[1.0]]], ["male", "female"])
    >>> (1.0 + scores.fairness / scores.mean).round(3).tolist()
    [[0.75], [1.25]]
    """

    aversion: float = parameter(
        default=1.0,
        check=number(at_least=0.0, at_most=100.0),
        doc="The aversion to inequality, the alpha of alpha-fairness. 0 gives LinUCB, 1 gives Nash welfare.",
    )

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and the term that turns the predicted reward into the weighted one."""
        weights = welfare_weights(self.groups, float(self.aversion))
        weight = predictions.like(per_user(weights, self.groups, predictions.groups, unknown=1.0))
        return self.alpha_now() * predictions.width, (weight - 1.0) * (predictions.mean - self._scale.low)
