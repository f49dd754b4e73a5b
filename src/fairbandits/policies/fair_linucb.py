"""Fair-LinUCB (Huang et al. 2020): Algorithm 2 of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.fairness import arm_correction, arm_penalty, scaled_penalty
from fairbandits.models import Model
from fairbandits.policies.base import Predictions, Term
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.parameters import as_number

# With gamma="auto", in how many rounds of a group its lead is to be paid back.
_PATIENCE = 10.0


class FairLinUCB(LinUCB):
    """LinUCB with a penalty on arms that give more to the group that is ahead.

    The score is `theta.x + alpha * w_a + alpha * w_min / 2 * (F_a + 1) * gamma`, where `w_a` is the width of an
    arm, `w_min` the smallest of the round, and `F_a` the arm's penalty (`fairbandits.fairness.arm_penalty`). The
    penalty is the same for every user of a round, whatever the user's group. With `gamma=0` it is LinUCB.

    With `gamma="auto"` the penalty is as large as it takes to hold a tolerated difference, and does not fade with
    the widths (`fairbandits.fairness.arm_correction`). `EvenLinUCB` holds it at less cost.

    Huang, Labille, Wu, Lee, Heffernan: Achieving User-Side Fairness in Contextual Bandits, arXiv 2010.12102.

    Parameters
    ----------
    alpha : float or "theory"
        How much being unsure counts, as in `LinUCB`.
    gamma : float or "auto"
        How much fairness counts, not below 0; "auto" for as much as the tolerance takes.
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared", "hybrid"} or Model
        One regression for each arm, one for all arms, or both; a `Model` says more.
    tolerance : float
        With `gamma="auto"`: the difference between the mean rewards of groups that is tolerated, >= 0.
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
    >>> from fairbandits import FairLinUCB
    >>> policy = FairLinUCB(alpha=0.5, gamma=3.0, random_state=0)
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 1.0]], group="female")
    >>> policy.learn(decision, reward=0.8)
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 1.0]], group="male")
    >>> decision.scores.fairness.round(4)
    array([0.5303, 0.1061])
    """

    def __init__(
        self,
        alpha: float | str = 0.5,
        gamma: float | str = 3.0,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        tolerance: float = 0.01,
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.tolerance = tolerance
        super().__init__(alpha, ridge, model, delta, theta_norm, reward_range, random_state)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add alpha times the width, and the penalty mapped to the smallest width, or to what is owed."""
        alpha = self.alpha_now()
        if self.gamma == "auto":
            # Half the tolerance is aimed at: a lead is paid back only when there is one.
            pull = arm_correction(self.groups, predictions.rows, self.tolerance / 2.0, _PATIENCE)
            return alpha * predictions.width, pull + np.zeros_like(predictions.mean)
        penalty = arm_penalty(self.groups, predictions.rows)
        return alpha * predictions.width, scaled_penalty(penalty, alpha, predictions.width, float(self.gamma))

    def _check_params(self) -> None:
        super()._check_params()
        as_number("tolerance", self.tolerance, least=0.0)
        if isinstance(self.gamma, str) and self.gamma != "auto":
            raise ValueError(f'gamma must be a number not below 0, or "auto"; got {self.gamma!r}')
        if self.gamma != "auto":
            as_number("gamma", self.gamma, least=0.0)
