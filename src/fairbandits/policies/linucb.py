"""LinUCB (Li et al. 2010): Algorithm 1 of the paper."""

from __future__ import annotations

from typing import Any

from fairbandits.models import Model, alpha_schedule, as_model
from fairbandits.policies.base import Predictions, Term
from fairbandits.policies.linear_policy import LinearPolicy
from fairbandits.policies.parameters import as_number


class LinUCB(LinearPolicy):
    """Pick the arm with the highest upper confidence bound: `theta.x + alpha * sqrt(x' A^-1 x)`.

    Parameters
    ----------
    alpha : float or "theory"
        How much being unsure counts. `alpha_from_delta` turns a confidence level into one; "theory" takes
        the schedule of Lemma 1, which grows with what was learned (shared model only).
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
    >>> from fairbandits import LinUCB
    >>> policy = LinUCB(alpha=0.5, random_state=0)
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 1.0]], arms=["algebra", "biology"])
    >>> policy.learn(decision, reward=0.8)
    >>> policy.rounds_learned
    1
    """

    def __init__(
        self,
        alpha: float | str = 0.5,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.theta_norm = theta_norm
        super().__init__(ridge, model, reward_range, random_state)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add alpha times the width; nothing for fairness."""
        return self.alpha_now() * predictions.width, 0.0

    def alpha_now(self) -> float:
        """Give alpha as it stands at this moment."""
        if self.alpha != "theory":
            return float(self.alpha)
        bank = self.bank
        return alpha_schedule(bank.log_det_of(0), bank.width, bank.ridge, self.delta, self.theta_norm)

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.alpha, str):
            self._check_theory()
        else:
            as_number("alpha", self.alpha, least=0.0)

    def _check_theory(self) -> None:
        if self.alpha != "theory":
            raise ValueError(f'alpha must be a number not below 0, or "theory"; got {self.alpha!r}')
        model = as_model(self.model)
        if model.kind != "shared" or model.order_dependent:
            raise ValueError(
                'alpha="theory" holds for one regression shared by all arms, linear and without forgetting; '
                f"got model={self.model!r}. "
                'Use model="shared", or alpha_from_delta'
            )
        # The formula itself knows what it takes.
        delta, norm = as_number("delta", self.delta), as_number("theta_norm", self.theta_norm, least=0.0)
        alpha_schedule(log_det=0.0, width=1, ridge=1.0, delta=delta, theta_norm=norm)
