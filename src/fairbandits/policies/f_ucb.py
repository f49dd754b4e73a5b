"""Arms that are known to treat a user and the user's twin alike: F-UCB."""

from __future__ import annotations

import numpy as np

from fairbandits.parameters import number, parameter
from fairbandits.policies.counterfactual_policy import CounterfactualPolicy
from fairbandits.policies.d_ucb import DUCB
from fairbandits.policies.predictions import Predictions, Term

# The default tolerance, as a share of the reward range; intervals must fit into it.
_DEFAULT_TOLERANCE = 0.1


class FUCB(CounterfactualPolicy, DUCB):
    """D-UCB on the arms that give a user and the user's twin the same reward, up to a tolerance, with confidence.

    The twin is the same user with another value of the sensitive attribute (`swap`, `flip`). An arm is kept if the
    largest difference that the confidence intervals of both allow, the greater of `UCB - LCB of the twin` and `UCB
    of the twin - LCB`, is at most `tolerance`. If none is kept, the arm whose difference has the smallest lower
    confidence bound is chosen, which explores until fair arms are known. Users of unknown group are served as by
    D-UCB.

    F-UCB (Algorithm 2) of Huang, Zhang, Wu: Achieving Counterfactual Fairness for Causal Bandit, AAAI 2022, with
    two differences. First, the paper searches among policies, but here the search is among single arms: mixtures
    of arms whose differences cancel on average are left out, so that every decision is fair, not only the
    expectation over decisions. Second, the paper starts from policies that are known to be fair, which are seldom
    available. Exploring for fair arms, as described above, is our addition, and decisions made while exploring may
    be unfair.

    Guarantee: with rewards that depend only on the separating columns and the assumptions of `DUCB`, with
    probability at least `1 - 2 delta T |W|` no arm that was kept gives twins rewards that differ by more than the
    tolerance. The paper's bound on the regret needs its initial set of fair policies, and is not claimed here.

    Examples
    --------
    >>> from fairbandits import FUCB
    >>> policy = FUCB(flip=["is male"], columns=["is male", "music"], delta=0.5, tolerance=0.2, random_state=0)
    >>> for arm, music, rewards in (("football", 0.0, (0.9, 0.3)), ("concert", 1.0, (0.5, 0.5))):
    ...     for is_male in (0, 1):
    ...         for _ in range(400):
    ...             policy.learn(policy.choose([[is_male, music]], arms=[arm]), rewards[1 - is_male])
    >>> policy.choose([[1.0, 0.0], [1.0, 1.0]], "male", arms=["football", "concert"]).arm
    'concert'
    """

    needed_params = (*CounterfactualPolicy.needed_params, *DUCB.needed_params)

    tolerance: float | None = parameter(
        default=None,
        check=number(at_least=0.0, or_none=True),
        doc="The largest difference between the expected rewards of a user and the twin, in units of reward. None "
        "means 10% of the reward range.",
    )

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return the half-width of the interval, and a term that ranks possibly unfair arms last."""
        exploration = self.alpha_now() * predictions.width
        twins = self._predict_twins(predictions)
        if twins is None:
            return exploration, 0.0
        twin_mean, twin_width = twins
        difference = np.abs(predictions.mean - twin_mean)
        uncertainty = exploration + self.alpha_now() * twin_width
        tolerance = _DEFAULT_TOLERANCE * self._scale.span if self.tolerance is None else float(self.tolerance)
        lowest = difference - uncertainty
        return exploration, self._ranked_behind(
            predictions,
            predictions.mean + exploration,
            is_unfair=difference + uncertainty > tolerance,
            order=lowest - lowest.min(axis=1, keepdims=True),
        )
