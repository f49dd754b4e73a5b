"""Rejected variants of EvenLinUCB: each changes one thing about it, or is a predecessor.

To compare them, run in this folder
`../.venv/bin/fairbandits compare --seeds 5 --out ../results/variants --policies` followed by
`LinUCB,EvenLinUCB(model=disjoint)` and `variants:NAME(model=disjoint)` for each class below. They were compared
with the disjoint model, in which fairness terms matter most. `EveryLead` was compared by
`../.venv/bin/fairbandits fairbench --out ../results/variants --policies` followed by
`'EvenLinUCB,variants:EveryLead,variants:EveryLead(patience=30)' --worlds movielens_occupation,small_groups`.
"""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np

from fairbandits import EvenLinUCB, GroupRewards, LinUCB, Predictions
from fairbandits.fairness import GroupKey, arm_correction, tolerance
from fairbandits.parameters import number, parameter
from fairbandits.policies.even_linucb import AIM


class AheadExplores(LinUCB):
    """Only the advantaged group explores: alpha * clip(1 - 100 * lag, 0, 1), with the lag to the best group."""

    alpha: float = parameter(default=0.3, check=number(at_least=0.0), doc="Weight of the width.")

    def terms(self, seen: Predictions) -> Any:
        """Scale alpha by how far the user's group lags behind the best group."""
        means = self.groups.means
        shares = []
        for key in seen.groups:
            mine = [means[number] for number in self.groups.numbers_of(key)]
            lag = means.max() - min(mine) if mine else 0.0
            shares.append([min(max(1.0 - 100.0 * lag, 0.0), 1.0)])
        return float(self.alpha) * np.array(shares) * seen.width, 0.0


class EveryLead(EvenLinUCB):
    """All of a lead counts, including the part that chance explains."""

    def terms(self, seen: Predictions) -> Any:
        """Take rewards within groups for constant, so that no lead may be chance."""
        with patch.object(tolerance, "_totals_of", self._without_noise):
            return super().terms(seen)

    @staticmethod
    def _without_noise(groups: GroupRewards) -> Any:
        return tolerance._Totals(
            groups.means, groups.counts, np.zeros_like(groups.means), groups.attribute_of, 0.0
        )


class CeilingOnly(EvenLinUCB):
    """The advantaged group gives up its lead; no arm is favoured."""

    def terms(self, seen: Predictions) -> Any:
        """Subtract the arm correction again."""
        exploration, fairness = super().terms(seen)
        return exploration, fairness - self._pull(seen)

    def _pull(self, seen: Predictions) -> Any:
        return arm_correction(
            self.groups, seen.arms, AIM * self._scale.tolerance(self.tolerance), float(self.patience)
        )


class PullOnly(CeilingOnly):
    """Arms that give the disadvantaged group more are favoured; no group gives up its lead."""

    def terms(self, seen: Predictions) -> Any:
        """Keep only the arm correction."""
        return EvenLinUCB.terms(self, seen)[0], self._pull(seen) + np.zeros_like(seen.mean)


class OwnClock(EvenLinUCB):
    """The exploration of a group decays with its own rounds only."""

    def alpha_for(self, key: GroupKey) -> float:
        """Use the rounds of the user's smallest group."""
        rounds = min((self.groups.rounds_of(*pair) for pair in key), default=float(self.rounds_learned))
        return float(self.alpha) * math.sqrt(self.settle / (self.settle + 2.0 * rounds))


class OneClock(EvenLinUCB):
    """The exploration of every group decays with all rounds, also for groups that arrive late."""

    def alpha_for(self, key: GroupKey) -> float:
        """Use all rounds."""
        return super().alpha_for(())
