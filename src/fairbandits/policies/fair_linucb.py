"""Fair-LinUCB (Huang et al. 2020): Algorithm 2 of the paper."""

from __future__ import annotations

from typing import Any

from fairbandits.fairness import arm_penalty, mapped_penalty
from fairbandits.linear import Model
from fairbandits.policies.base import Seen, Term
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.params import as_number


class FairLinUCB(LinUCB):
    """LinUCB with a penalty on arms that give more to the group that is ahead.

    The score is `theta.x + alpha * w_a + alpha * w_min / 2 * (F_a + 1) * gamma`, where `w_a` is the width of an
    arm, `w_min` the smallest of the round, and `F_a` the arm's penalty (`fairbandits.fairness.arm_penalty`). The
    penalty is the same for every user of a round, whatever the user's group. With `gamma=0` it is LinUCB.

    Huang, Labille, Wu, Lee, Heffernan: Achieving User-Side Fairness in Contextual Bandits, arXiv 2010.12102.

    Parameters
    ----------
    alpha : float or "theory"
        How much being unsure counts, as in `LinUCB`.
    gamma : float
        How much fairness counts, not below 0.
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
        gamma: float = 3.0,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        super().__init__(alpha, ridge, model, delta, theta_norm, reward_range, random_state)

    def terms(self, seen: Seen) -> tuple[Term, Term]:
        """Add alpha times the width, and the penalty mapped to the smallest width."""
        alpha = self.alpha_now()
        penalty = arm_penalty(self.groups, seen.rows)
        return alpha * seen.width, mapped_penalty(penalty, alpha, seen.width, float(self.gamma))

    def _check_params(self) -> None:
        super()._check_params()
        as_number("gamma", self.gamma, least=0.0)
