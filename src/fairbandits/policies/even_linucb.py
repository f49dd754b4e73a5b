"""LinUCB that keeps the reward gap within a tolerance, at the least cost."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from fairbandits.fairness import GroupKey, arm_correction, group_debt
from fairbandits.models import Model, RewardModel, as_model
from fairbandits.parameters import number, parameter
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term

# A lead is paid back only after it has arisen, so the aim is a little less than the tolerance.
AIM = 0.75
# A group has hardly been served if it has had less than 1 / _HARDLY, that is a quarter, of its equal share of the
# rounds.
_HARDLY = 4.0


class EvenLinUCB(Policy):
    """Keep the gap within a tolerance: the advantaged group bears the exploration, and gives up its lead.

    Three things are added to LinUCB, all of which follow from the group record:

    - Exploration fades out: alpha falls as `alpha * sqrt(settle / (settle + n))`, where n is the number of rounds
      so far. For a group that has hardly been served, n is based on the group's own rounds, so that the policy
      also explores for a group that arrives late.
    - If the lead of a group exceeds the tolerance by more than chance explains, its users owe a debt
      (`group_debt`): their scores are capped at the best score minus the debt. Among the arms at the cap, the most
      uncertain one is chosen, so the advantaged group bears the exploration.
    - Among arms whose scores differ by at most the debt, those that gave more to the disadvantaged group are
      favoured (`arm_correction`).

    If groups are of equal size, about two thirds of a small lead that chance does not explain are paid back within
    `patience` rounds of the leading group; a large lead falls as fast as the arms allow. If the best choice for
    everybody is itself unfair, the advantaged group is levelled down until the gap is within the tolerance, or as
    far as its arms allow. Apart from exploration, nobody gives up more than twice their debt in predicted reward,
    and a user who owes nothing gives up nothing.

    Examples
    --------
    >>> from fairbandits import EvenLinUCB
    >>> policy = EvenLinUCB(tolerance=0.01, random_state=0)
    >>> for group, reward in [("male", 0.9), ("female", 0.4)] * 3:
    ...     policy.learn(policy.choose([[1.0, 0.0], [0.0, 1.0]], group), reward)
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 1.0]], "male")
    >>> bool(decision.scores.fairness.min() < decision.scores.fairness.max())
    True
    """

    alpha: float = parameter(default=0.3, check=number(at_least=0.0), doc="The initial weight of the width.")
    tolerance: float | None = parameter(
        default=None,
        check=number(at_least=0.0, or_none=True),
        doc="The tolerated gap between the mean rewards of groups, in units of reward. "
        "None is 1% of the reward range.",
    )
    settle: float = parameter(
        default=1000.0,
        check=number(above=0.0),
        doc="The number of rounds after which exploration has fallen to 70%.",
    )
    patience: float = parameter(
        default=10.0,
        check=number(above=0.0),
        doc="The number of rounds of a group in which it pays back about two thirds of a small lead over a group "
        "of equal size, apart from what chance may explain.",
    )
    model: str | Model | type[RewardModel] | None = parameter(
        default="auto",
        check=lambda _, value: as_model(value),
        doc="As for every policy; by default all models, weighted by how well each predicts: a fairness term "
        "cannot make up for a model that predicts the rewards of a group badly.",
        fixed=True,
    )

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return the width times a decreasing alpha, and the debt given up plus the arm correction."""
        aim, patience = AIM * self._scale.tolerance(self.tolerance), float(self.patience)
        # Many users share few combinations of groups, so alpha and debt are computed once for each combination.
        alpha = {key: self.alpha_for(key) for key in set(predictions.groups)}
        debt = {key: group_debt(self.groups, key, aim, patience) for key in alpha}
        alphas, debts = (np.array([[of[key]] for key in predictions.groups]) for of in (alpha, debt))
        mean, like, xp = predictions.mean, predictions.like, predictions.xp
        below_ceiling = xp.max(mean, axis=1, keepdims=True) - like(debts) - mean
        given_up = xp.where(below_ceiling < 0.0, below_ceiling, 0.0)
        correction = like(arm_correction(self.groups, predictions.arms, aim, patience))[None, :]
        # No user gives up more for the correction than they owe: a user who owes nothing gives up nothing.
        return like(alphas) * predictions.width, xp.minimum(correction, like(debts)) + given_up

    def alpha_for(self, key: GroupKey) -> float:
        """Return alpha for a user: from all rounds, or from those of a group that has hardly been served."""
        rounds = float(self.rounds_learned)
        for attribute, value in key:
            groups = self.groups.attributes.get(attribute, ())
            rounds = min(rounds, _HARDLY * len(groups) * self.groups.rounds_of(attribute, value))
        return float(self.alpha) * math.sqrt(self.settle / (self.settle + rounds))
