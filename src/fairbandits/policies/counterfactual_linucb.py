"""Arms that treat a user and the user's twin alike: counterfactual LinUCB."""

from __future__ import annotations

import numpy as np

from fairbandits.parameters import number, parameter
from fairbandits.policies.counterfactual_policy import CounterfactualPolicy
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.predictions import Predictions, Term


class CounterfactualLinUCB(CounterfactualPolicy, LinUCB):
    """LinUCB on the arms that are predicted to give a user and the user's twin the same reward.

    The twin is the same user with another value of the sensitive attribute: the columns of `swap` are exchanged,
    those of `flip` negated. An arm is kept if the two predicted rewards differ by at most `tolerance`; the other
    arms rank behind all that are kept, those with smaller differences first. If none is kept, the arm with the
    smallest difference is chosen. Users of unknown group are served as by LinUCB.

    This is a filter on individual, not group fairness: Kusner, Loftus, Russell, Silva: Counterfactual Fairness,
    NIPS 2017. `FUCB` is the filter of Huang, Zhang, Wu: Achieving Counterfactual Fairness for Causal Bandit, AAAI
    2022, which also counts the uncertainty of the predictions. As with all twins in this library, the effects of
    the sensitive attribute on other columns remain.

    Examples
    --------
    >>> from fairbandits import CounterfactualLinUCB
    >>> policy = CounterfactualLinUCB(flip=["is male"], columns=["is male", "one"], alpha=0.0, random_state=0)
    >>> for arm, contexts, reward in (("football", [[1.0, 1.0]], 0.9), ("music", [[0.0, 1.0]], 0.4)):
    ...     policy.learn(policy.choose(contexts, "male", arms=[arm]), reward)
    >>> policy.choose([[1.0, 1.0], [1.0, 1.0]], "male", arms=["football", "music"]).arm
    'music'
    """

    tolerance: float | None = parameter(
        default=None,
        check=number(at_least=0.0, or_none=True),
        doc="The largest difference between the predicted rewards of a user and the twin, in units of reward. "
        "None means 1% of the reward range.",
    )

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and a term that ranks arms last if they treat twins differently."""
        exploration = self.alpha_now() * predictions.width
        twins = self._predict_twins(predictions)
        if twins is None:
            return exploration, 0.0
        twin_mean, _ = twins
        difference = np.abs(predictions.mean - twin_mean)
        is_unfair = difference > self._scale.tolerance(self.tolerance)
        return exploration, self._ranked_behind(predictions, predictions.mean + exploration, is_unfair, difference)
