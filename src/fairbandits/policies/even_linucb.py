"""LinUCB that holds a tolerated difference between groups, at the least cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairbandits.fairness import GroupKey, arm_correction, group_debt
from fairbandits.models import Model
from fairbandits.policies.base import Predictions, Term
from fairbandits.policies.linear_policy import LinearPolicy
from fairbandits.policies.parameters import as_number

# A lead is paid back only when there is one, so that a little less than what is tolerated is aimed at.
AIM = 0.75
# A group has hardly been served while it had less than one in so many of the rounds of an equal share.
_HARDLY = 4.0


class EvenLinUCB(LinearPolicy):
    """Hold the difference that you tolerate: the group ahead carries the exploration, and gives up its lead.

    Three things are added to LinUCB, all of which follow from who got what so far:

    - exploration ends: alpha falls as `alpha * sqrt(settle / (settle + n))` with the rounds n so far. For a group
      that has hardly been served they are counted by its own rounds, so that one that comes late is explored for;
    - a user of a group that is ahead by more than is tolerated owes what `group_debt` says: no arm counts for more
      than the best one less the debt. Among those above that line the least known is taken, so that the group
      ahead explores for all;
    - arms that gave more to the disadvantaged group are favoured, as far as there is a debt (`arm_correction`).

    A lead is paid back within `patience` rounds of the group. Where the best for everybody is itself unfair, the
    group ahead is levelled down to what is tolerated, and no further; otherwise nobody gets less than before.

    Parameters
    ----------
    alpha : float
        How much being unsure counts at first.
    tolerance : float
        The difference between the mean rewards of groups that is tolerated, >= 0.
    settle : float
        After how many rounds exploration has fallen to 70 %, > 0.
    patience : float
        In how many of its rounds a group pays back a lead, > 0.
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared", "hybrid"} or Model
        One regression for each arm, one for all arms, or both; a `Model` says more.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties comes from.

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

    def __init__(
        self,
        alpha: float = 0.3,
        tolerance: float = 0.01,
        settle: float = 1000.0,
        patience: float = 30.0,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.tolerance = tolerance
        self.settle = settle
        self.patience = patience
        super().__init__(ridge, model, reward_range, random_state)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Explore less and less; let the group ahead give up its debt; draw all to fairer arms."""
        aim, patience = AIM * self.tolerance, float(self.patience)
        # Of many users most are of few groups.
        alpha = {key: self.alpha_for(key) for key in set(predictions.groups)}
        debt = {key: group_debt(self.groups, key, aim, patience) for key in alpha}
        alphas, debts = (np.array([[of[key]] for key in predictions.groups]) for of in (alpha, debt))
        ceiling = predictions.mean.max(axis=1, keepdims=True) - debts
        given_up = np.minimum(0.0, ceiling - predictions.mean)
        return alphas * predictions.width, arm_correction(self.groups, predictions.rows, aim, patience) + given_up

    def alpha_for(self, key: GroupKey) -> float:
        """Give alpha for a user, by all rounds so far, or by those of a group of theirs that had hardly any."""
        rounds = float(self.rounds_learned)
        for attribute, value in key:
            groups = self.groups.attributes.get(attribute, ())
            rounds = min(rounds, _HARDLY * len(groups) * self.groups.rounds_of(attribute, value))
        return float(self.alpha) * math.sqrt(self.settle / (self.settle + rounds))

    def _check_params(self) -> None:
        super()._check_params()
        as_number("alpha", self.alpha, least=0.0)
        as_number("tolerance", self.tolerance, least=0.0)
        as_number("settle", self.settle, above=0.0)
        as_number("patience", self.patience, above=0.0)
