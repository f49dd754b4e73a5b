"""Fairness of exposure with Thompson sampling: FairX-TS."""

from __future__ import annotations

from fairbandits.policies.lints import LinTS
from fairbandits.policies.merit import MeritPicker, MeritPolicy
from fairbandits.policies.picker import Picker
from fairbandits.policies.predictions import Predictions, Term


class FairXTS(MeritPolicy, LinTS):
    """Give every arm exposure in proportion to its merit, `f(mu_a) / sum f(mu_b)`, for randomly drawn rewards mu.

    Coefficients are drawn from the belief about them, `N(theta, alpha^2 A^-1)`, as in LinTS. Then an arm is picked
    in proportion to the merit of its drawn reward, which is clipped to the range of rewards. With the shared
    model, this is FairX-LinTS of Wang, Bai, Sun, Joachims: Fairness of Exposure in Stochastic Bandits, ICML 2021;
    with the disjoint model, each arm draws its own coefficients. Merit and slates are as in `FairXUCB`.

    Guarantee: if the belief is the posterior of a normal prior with normal noise (the shared model with the
    matching alpha), the expected fairness and reward regrets over that prior are of the order of those of
    `FairXUCB`.

    `decision.scores.total` contains the drawn rewards; applied to them, `merit_function().shares` returns the
    exposure in that round. The probability of a pick over all draws has no closed form: decisions have
    `probability=None`.

    Examples
    --------
    >>> from fairbandits import FairXTS
    >>> policy = FairXTS(merit="power", steepness=2.0, alpha=0.1, random_state=0)
    >>> for arm, reward in [("good", 1.0), ("bad", 0.0)] * 500:
    ...     policy.learn(policy.choose([[1.0]], arms=[arm]), reward)
    >>> policy.probabilities([[[1.0], [1.0]]], arms=["good", "bad"], draws=10_000).round(1).tolist()
    [[0.7, 0.3]]
    """

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return the deviation of the drawn reward from the predicted one, and nothing for fairness."""
        exploration, _ = super().terms(predictions)
        low, mean = self._scale.low, predictions.mean
        return (mean + exploration).clip(low, low + self._scale.span) - mean, 0.0

    @property
    def picker(self) -> Picker:
        """The rule that picks in proportion to the merit of drawn rewards."""
        return MeritPicker(self.merit_function(), is_random=self.alpha > 0.0)
