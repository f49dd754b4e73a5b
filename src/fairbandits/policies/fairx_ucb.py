"""Fairness of exposure with optimism: FairX-UCB."""

from __future__ import annotations

from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.merit import MeritPolicy
from fairbandits.policies.predictions import Predictions, Term


class FairXUCB(MeritPolicy, LinUCB):
    """Give every arm exposure in proportion to its merit, a function of its mean reward: `f(mu_a) / sum f(mu_b)`.

    Fairness to arms, within each context. The mean rewards mu are those within the confidence intervals
    `theta.x +- alpha * width` for which this policy earns most: optimism about what the fair policy earns, not
    about each arm. Intervals are cut to the range of rewards, where the true means lie. Merit is measured on
    rewards scaled to [0, 1]. A slate picks one arm after the other, each in proportion to merit among those left.

    FairX-LinUCB of Wang, Bai, Sun, Joachims: Fairness of Exposure in Stochastic Bandits, ICML 2021, but for one
    thing. The paper maximises over theta in a confidence ellipsoid; that problem is not convex, and is solved
    approximately. Here each arm has its own interval, as in the paper's FairX-UCB, and the maximum is exact
    (`fairbandits.policies.merit.Merit.optimistic`). With the disjoint model, whose arms have confidence regions of
    their own, nothing is lost by that; with the shared one, the intervals allow more than the ellipsoid.

    Guarantee: with the shared model, `alpha="theory"`, linear rewards and a merit function that is at least gamma
    and L-Lipschitz (here gamma = 1), with high probability the fairness regret, the sum over rounds and arms of
    `|P(a) - P*(a)|`, is O(L d sqrt(T) / gamma) and the reward regret against the fair policy P* is O(d sqrt(T)),
    both up to logarithms. The paper's argument holds for intervals as well: it needs that the true means are among
    those considered, and that all of these are within two half-widths of the truth.

    Examples
    --------
    >>> from fairbandits import FairXUCB
    >>> policy = FairXUCB(merit="power", steepness=2.0, alpha=0.0, random_state=0)
    >>> for arm, reward in [("good", 1.0), ("bad", 0.0)] * 500:
    ...     policy.learn(policy.choose([[1.0]], arms=[arm]), reward)
    >>> policy.probabilities([[[1.0], [1.0]]], arms=["good", "bad"]).round(2).tolist()
    [[0.67, 0.33]]
    """

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return what turns predicted rewards into those that are best for the fair policy, within intervals."""
        scale, spread = self._scale, self.alpha_now() * predictions.width
        low, high = (scale.to_unit(predictions.mean + side).clip(0.0, 1.0) for side in (-spread, spread))
        return scale.low + scale.span * self.merit_function().optimistic(low, high) - predictions.mean, 0.0
