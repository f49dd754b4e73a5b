"""What was tried before EvenLinUCB, and lost: each is EvenLinUCB with one thing changed, or what it began with.

In this folder, `../.venv/bin/fairbandits compare --seeds 5 --out ../results/variants --policies` followed by
`LinUCB,EvenLinUCB,variants:AheadExplores,variants:CeilingOnly,variants:PullOnly,variants:OwnClock,variants:OneClock`
shows them side by side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairbandits import EvenLinUCB, LinUCB, Predictions
from fairbandits.fairness import GroupKey, arm_correction
from fairbandits.policies.even_linucb import AIM


class AheadExplores(LinUCB):
    """The group ahead explores, the group behind is served greedily: alpha * clip(1 - 100 * lag, 0, 1)."""

    def __init__(self, alpha: float = 0.3, random_state: Any = None) -> None:
        super().__init__(alpha=alpha, random_state=random_state)

    def terms(self, seen: Predictions) -> Any:
        """Scale alpha by how far the user's group lags behind the one that is best off."""
        means = self.groups.means
        shares = []
        for key in seen.groups:
            mine = [means[number] for number in self.groups.numbers_of(key)]
            lag = means.max() - min(mine) if mine else 0.0
            shares.append([min(max(1.0 - 100.0 * lag, 0.0), 1.0)])
        return float(self.alpha) * np.array(shares) * seen.width, 0.0


class CeilingOnly(EvenLinUCB):
    """The group ahead gives up its lead, and nobody is drawn to any arm."""

    def terms(self, seen: Predictions) -> Any:
        """Take the pull out again."""
        exploration, fairness = super().terms(seen)
        return exploration, fairness - self._pull(seen)

    def _pull(self, seen: Predictions) -> Any:
        return arm_correction(self.groups, seen.arms, AIM * self.tolerance, float(self.patience))


class PullOnly(CeilingOnly):
    """All are drawn to arms that gave more to the group behind, and nobody gives anything up."""

    def terms(self, seen: Predictions) -> Any:
        """Keep the pull alone."""
        return EvenLinUCB.terms(self, seen)[0], self._pull(seen) + np.zeros_like(seen.mean)


class OwnClock(EvenLinUCB):
    """Every group explores by its own rounds alone."""

    def alpha_for(self, key: GroupKey) -> float:
        """Count the rounds of the user's group that has had the fewest."""
        rounds = min((self.groups.rounds_of(*pair) for pair in key), default=float(self.rounds_learned))
        return float(self.alpha) * math.sqrt(self.settle / (self.settle + 2.0 * rounds))


class OneClock(EvenLinUCB):
    """All groups explore by all rounds, one that comes late as well."""

    def alpha_for(self, key: GroupKey) -> float:
        """Count all rounds."""
        return super().alpha_for(())
