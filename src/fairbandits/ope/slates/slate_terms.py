"""Terms of estimators that are self-normalised at each position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbandits.ope.array_validation import Floats
from fairbandits.ope.estimator_sums import EstimatorTerms
from fairbandits.ope.slates.slate_rows import SlateRows


@dataclass(frozen=True, slots=True, eq=False)
class SelfNormalisedSlateTerms(EstimatorTerms):
    """One term per slate of an estimate that is a sum of ratios, one for each position.

    The numerators and denominators linearise the sum of ratios: their ratio is the estimate, and the influence of
    a slate is its influence on all ratios. They depend on all slates, so they are recomputed for a selection.

    Attributes
    ----------
    rows : SlateRows
        The rows.
    row_weight, row_reward : arrays of shape (n_rows,)
        The importance weight and the reward of each row.
    position_weight : array of shape (n_positions,)
        The weight of each position in the reward of a slate.
    """

    rows: SlateRows
    row_weight: Floats
    row_reward: Floats
    position_weight: Floats

    def select(self, rows: Any) -> SelfNormalisedSlateTerms:
        """Return the terms of the slates selected by a mask or by indices, normalised over these slates."""
        slates, picked = self.rows.select(rows)
        return self_normalise(slates, self.row_weight[picked], self.row_reward[picked], self.position_weight)


def self_normalise(
    rows: SlateRows, w: Floats, reward: Floats, position_weight: Floats
) -> SelfNormalisedSlateTerms:
    """Return the terms of `mean over slates of (sum over positions l of a_l R_l)`.

    Here `a_l` is the weight of position l, and `R_l = sum(w_l r_l) / sum(w_l)` over the slates that have position
    l. The estimate is undefined (NaN) if all importance weights of a position are zero.
    """
    n_positions = len(position_weight)
    count, total, weighted = (
        np.bincount(rows.position, values, minlength=n_positions) for values in (np.ones_like(w), w, w * reward)
    )
    slate_weight = rows.mean(w)
    is_undefined = (count > 0.0) & (total == 0.0) & (position_weight > 0.0)
    if is_undefined.any() or not len(slate_weight):
        zeros = np.zeros_like(slate_weight)
        return SelfNormalisedSlateTerms(zeros, zeros, slate_weight, rows, w, reward, position_weight)
    has_weight = total > 0.0
    ratio = np.divide(weighted, total, out=np.zeros(n_positions), where=has_weight)
    scale = np.divide(count, total, out=np.zeros(n_positions), where=has_weight)
    # After scaling, the weights of a position have mean 1. The contribution of a slate to a ratio is the same as
    # its contribution to a doubly robust estimate whose prediction is the ratio itself.
    scaled, predicted = w * scale[rows.position], ratio[rows.position]
    term = rows.sum(position_weight[rows.position] * (predicted + scaled * (reward - predicted)))
    # Any denominator d with numerator `value d + mean(d) (term - value)` has this value and these influences. With
    # the mean weight as d, the leverage of a slate is its share of the weights, as for SNIPS.
    denominator, value = rows.mean(scaled), term.mean()
    numerator = value * denominator + denominator.mean() * (term - value)
    return SelfNormalisedSlateTerms(numerator, denominator, slate_weight, rows, w, reward, position_weight)
