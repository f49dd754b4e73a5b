"""Fair-LinUCB (Huang et al. 2020): Algorithm 2 of the paper."""

from __future__ import annotations

from typing import ClassVar

from fairbandits.fairness import arm_correction, arm_penalty, scaled_penalty
from fairbandits.parameters import number, parameter
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.predictions import Predictions, Term

# With gamma="auto", the number of a group's rounds in which its lead is paid back.
_PATIENCE = 10.0


class FairLinUCB(LinUCB):
    """LinUCB with a penalty on arms that give more to the advantaged group.

    The score is `theta.x + alpha * w_a + alpha * w_min / 2 * (F_a + 1) * gamma`, where `w_a` is the width of an
    arm, `w_min` the smallest width of the round, and `F_a` the arm's penalty (`fairbandits.fairness.arm_penalty`).
    The penalty is the same for every user of a round, whatever the user's group. With `gamma=0`, the policy is
    LinUCB.

    With `gamma="auto"`, the penalty is as large as necessary to keep the reward gap within the tolerance, and does
    not fade with the widths (`fairbandits.fairness.arm_correction`). `EvenLinUCB` achieves this at a lower cost.

    Huang, Labille, Wu, Lee, Heffernan: Achieving User-Side Fairness in Contextual Bandits, arXiv 2010.12102.

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

    gamma: float | str = parameter(
        default=3.0,
        check=number(at_least=0.0, or_word="auto"),
        doc='The weight of fairness; "auto" for as much as the tolerance requires.',
    )
    tolerance: float | None = parameter(
        default=None,
        check=number(at_least=0.0, or_none=True),
        doc='With `gamma="auto"`: the tolerated gap between the mean rewards of groups, in units of reward. '
        "None means 1% of the reward range.",
    )

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and the penalty scaled to the smallest width, or to the debt."""
        alpha = self.alpha_now()
        if self.gamma == "auto":
            # Half the tolerance is the aim: a lead is paid back only once there is one.
            aim = self._scale.tolerance(self.tolerance) / 2.0
            correction = arm_correction(self.groups, predictions.arms, aim, _PATIENCE)
            return alpha * predictions.width, predictions.like(correction)[None, :]
        penalty, width = arm_penalty(self.groups, predictions.arms), predictions.width
        if predictions.backend is None:
            return alpha * width, scaled_penalty(penalty, alpha, width, float(self.gamma))
        # The same formula on a device, which cannot use the compiled loop.
        smallest = predictions.xp.min(width, axis=1, keepdims=True)
        return alpha * width, alpha * smallest / 2.0 * predictions.like((penalty + 1.0)[None]) * float(self.gamma)
