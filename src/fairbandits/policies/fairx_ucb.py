"""Fairness of exposure with optimism: FairX-UCB."""

from __future__ import annotations

from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.merit import MeritPolicy
from fairbandits.policies.predictions import Predictions, Term


class FairXUCB(MeritPolicy, LinUCB):
    """Give every arm exposure in proportion to its merit, a function of its mean reward: `f(mu_a) / sum f(mu_b)`.

    This is fairness to arms, within each context. The mean rewards mu are those within the confidence intervals
    `theta.x +- alpha * width` for which this policy earns most: the policy is optimistic about the reward of the
    fair policy, not about that of each arm. Intervals are clipped to the range of rewards, in which the true means
    lie. Merit is measured on rewards scaled to [0, 1]. For a slate, arms are picked one after the other, each in
    proportion to merit among the remaining arms.

    This is FairX-LinUCB of Wang, Bai, Sun, Joachims: Fairness of Exposure in Stochastic Bandits, ICML 2021, with
    one difference. The paper maximises over theta in a confidence ellipsoid; that problem is not convex, and is
    solved approximately. Here each arm has its own interval, as in the paper's FairX-UCB, and the maximum is exact
    (`fairbandits.policies.merit.Merit.optimistic`). With the disjoint model, whose arms have separate confidence
    regions, nothing is lost by this; with the shared model, the intervals allow more than the ellipsoid.

    Guarantee: with the shared model, `alpha="theory"`, linear rewards and a merit function that is at least gamma
    and L-Lipschitz (here gamma = 1), with high probability the fairness regret, the sum over rounds and arms of
    `|P(a) - P*(a)|`, is O(L d sqrt(T) / gamma) and the reward regret against the fair policy P* is O(d sqrt(T)),
    both up to logarithms. The paper's argument also holds for intervals: it requires that the true means are among
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
        """Return the term that turns predictions into the rewards in their intervals that suit the policy best."""
        scale, spread = self._scale, self.alpha_now() * predictions.width
        low, high = (scale.to_unit(predictions.mean + side).clip(0.0, 1.0) for side in (-spread, spread))
        return scale.low + scale.span * self.merit_function().optimistic(low, high) - predictions.mean, 0.0
