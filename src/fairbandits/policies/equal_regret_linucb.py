"""Every group bears its share of the exploration: equal-regret LinUCB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fairbandits.fairness import GroupRewards, hedge_weights, per_user
from fairbandits.parameters import number, parameter
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.predictions import Predictions, Term
from fairbandits.policies.records import Decision, Slate


class EqualRegretLinUCB(LinUCB):
    """LinUCB in which groups that have given up less for exploration so far explore more.

    The regret of a round is estimated as the highest predicted reward minus that of the chosen arm, as predicted
    when it was chosen; `regrets` records its mean for each group. The score is `theta.x + weight * alpha * width`
    with multiplicative weights `exp(-step * n * mean regret)`, 1 on average over the groups of an attribute
    (`fairbandits.fairness.hedge_weights`): groups with smaller regrets explore more, until the regrets are equal.
    For users with several attributes, the weights are averaged; users of unknown group have weight 1, as in
    LinUCB.

    Equal regret does not mean equal reward: if the best arms give one group more, that group still receives more.

    On how exploration is shared among groups, see Raghavan, Slivkins, Vaughan, Wu: The Externalities of
    Exploration and How Data Diversity Helps Exploitation, COLT 2018; Baek, Farias: Fair Exploration via Axiomatic
    Bargaining, NeurIPS 2021.

    Attributes
    ----------
    regrets : GroupRewards
        The estimated regrets of each group, in units of reward.

    Examples
    --------
    >>> from fairbandits import EqualRegretLinUCB
    >>> policy = EqualRegretLinUCB(alpha=2.0, step=1.0, random_state=0)
    >>> policy.learn(policy.choose([[1.0]], "female", arms=["known"]), 0.8)
    >>> decision = policy.choose([[1.0], [1.0]], "male", arms=["known", "new"])
    >>> policy.learn(decision, 0.1)
    >>> decision.arm, [(regret.group, regret.mean) for regret in policy.regrets.summaries()]
    ('new', [('female', 0.0), ('male', 0.4)])
    >>> scores = policy.score([[[1.0]], [[1.0]]], ["female", "male"], arms=["known"])
    >>> (scores.exploration / scores.width).round(3).tolist()
    [[2.395], [1.605]]
    """

    step: float = parameter(
        default=0.1, check=number(at_least=0.0), doc="The step size of the weights; 0 gives LinUCB."
    )

    def _begin(self) -> None:
        super()._begin()
        self._reset_regrets()

    def _changed(self, names: set[str]) -> None:
        super()._changed(names)
        if "reward_range" in names:
            self._reset_regrets()

    def _reset_regrets(self) -> None:
        low, high = self.reward_range
        self.regrets = self._new_record((0.0, float(high) - float(low)))

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, times the group's share of the exploration."""
        weights = hedge_weights(self.regrets, float(self.step))
        weight = predictions.like(per_user(weights, self.regrets, predictions.groups, unknown=1.0))
        return self.alpha_now() * weight * predictions.width, 0.0

    def records(self) -> Mapping[str, GroupRewards]:
        """Return the regrets."""
        return {"regrets": self.regrets}

    def observe(self, decision: Decision | Slate) -> None:
        """Record the regret of a decision."""
        # A prediction can leave the range of rewards, but a regret cannot.
        self.regrets.record(min(decision.regret, self.regrets.reward_range[1]), decision.group, -1)
