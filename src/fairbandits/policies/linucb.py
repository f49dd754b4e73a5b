"""LinUCB (Li et al. 2010): Algorithm 1 of the paper."""

from __future__ import annotations

from typing import ClassVar

from fairbandits.models import Model, alpha_schedule, as_model
from fairbandits.parameters import number, parameter
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term


class LinUCB(Policy):
    """Choose the arm with the highest upper confidence bound: `theta.x + alpha * sqrt(x' A^-1 x)`.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> policy = LinUCB(alpha=0.5, random_state=0)
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 1.0]], arms=["algebra", "biology"])
    >>> policy.learn(decision, reward=0.8)
    >>> policy.rounds_learned
    1
    """

    alpha: float | str = parameter(
        default=0.5,
        check=number(at_least=0.0, or_word="theory"),
        doc='The weight of the width. `alpha_from_delta` computes one from a confidence level; "theory" is the '
        "schedule of Lemma 1, which grows as the model learns (shared model only).",
    )
    delta: float = parameter(
        default=0.05,
        check=number(),
        doc='With `alpha="theory"`: the probability that any interval of any round fails.',
    )
    theta_norm: float = parameter(
        default=1.0,
        check=number(at_least=0.0),
        doc='With `alpha="theory"`: a bound on the Euclidean norm of the true coefficients, those of rewards '
        "scaled to [0, 1].",
    )

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and nothing for fairness."""
        return self.alpha_now() * predictions.width, 0.0

    def alpha_now(self) -> float:
        """Return the current value of alpha."""
        if self.alpha != "theory":
            return float(self.alpha)
        model = self.reward_model
        return alpha_schedule(model.log_det_of(0), model.width, model.ridge, self.delta, self.theta_norm)

    def _check_together(self) -> None:
        super()._check_together()
        if self.alpha != "theory":
            return
        model = as_model(self.model)
        if not isinstance(model, Model) or model.kind != "shared" or model.order_dependent:
            raise ValueError(
                'model must be shared, linear and without forgetting for alpha="theory", '
                f'got {self.model!r}; use model="shared", or alpha_from_delta'
            )
        alpha_schedule(log_det=0.0, width=1, ridge=1.0, delta=self.delta, theta_norm=self.theta_norm)
