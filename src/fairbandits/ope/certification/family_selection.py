"""Predictions for the members of a family from the selection part, and the order in which members are tested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import hypot, sqrt

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.certification.family_sums import FamilySums
from fairbandits.ope.certification.joint_conditions import JointConditions
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.group_index import OVERALL
from fairbandits.statistics.empirical_likelihood import WeightedUnits
from fairbandits.views.short_repr import ShortRepr

Floats = NDArray[np.float64]

# Members that are expected to fail the test by more than this number of standard errors are not tested.
_MIN_SURENESS = -1.0
# The smallest predicted gain in reward for which one more member is tested.
_MIN_GAIN = 2e-3
# The amount by which an interval is widened by a possible rewarded row of the largest weight that was not
# observed. The factor was determined empirically.
_MISSED = 0.6
_MIN_ERROR = 1e-12


@dataclass(frozen=True, repr=False)
class SelectionEstimates(ShortRepr):
    """Estimates of a mixture on the selection part.

    Attributes
    ----------
    reward : float
        The mean reward.
    gap : float
        The largest gap between two groups of an attribute.
    change : float
        The mean reward of the worst-off group minus that under the logging policy; the smallest such change of all
        attributes.
    sureness : float
        The number of standard errors by which the joint test is expected to pass.
    """

    reward: float
    gap: float
    change: float
    sureness: float

    def to_dict(self) -> dict[str, float]:
        """Return the estimates as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class _Prediction:
    """A predicted mean, and its interval on the certification part.

    Attributes
    ----------
    value, error : float
        The mean, and the standard error of the difference between both parts.
    down, up : float
        The distance by which the interval extends below and above the mean.
    missed_down, missed_up : float
        The part of this distance that allows for rows that were not observed, and that varies from log to log.
    """

    value: float
    error: float
    down: float
    up: float
    missed_down: float
    missed_up: float

    def minus(self, other: _Prediction) -> _Prediction:
        """Return the difference of independent means."""
        return _Prediction(
            self.value - other.value,
            hypot(self.error, other.error),
            hypot(self.down, other.up),
            hypot(self.up, other.down),
            hypot(self.missed_down, other.missed_up),
            hypot(self.missed_up, other.missed_down),
        )

    def sureness_below(self, limit: float) -> float:
        """Return the number of standard errors by which the interval is expected to lie below a limit."""
        return (limit - self.value - self.up) / max(hypot(self.error, self.missed_up), _MIN_ERROR)

    def sureness_above(self, limit: float) -> float:
        """Return the number of standard errors by which the interval is expected to lie above a limit."""
        return (self.value - self.down - limit) / max(hypot(self.error, self.missed_down), _MIN_ERROR)


class FamilyPredictor:
    """Predicts the outcome of the joint test for members of a family.

    Parameters
    ----------
    sums : FamilySums
        The sums of the selection part.
    conditions : JointConditions
        The conditions.
    n_rows : int
        The number of rows of the certification part.
    """

    def __init__(self, sums: FamilySums, conditions: JointConditions, n_rows: int) -> None:
        from scipy.special import ndtri  # noqa: PLC0415 - slow to import

        self._sums, self._conditions = sums, conditions
        self._quantile = float(-ndtri(conditions.error))
        # The number of rows of this part, relative to that of the certification part.
        self._ratio = sums.rows / max(n_rows, 1)
        self._logged = {group: self._predict_logged(group) for group in conditions.references}

    def estimates(self, mixture: Mixture) -> SelectionEstimates:
        """Return the estimates of a mixture."""
        conditions = self._conditions
        mixed = {number: self._sums.mixed(mixture, number) for _, _, number in conditions.groups.items()}
        values = {number: self._predict(units, units.rewards) for number, (units, _) in mixed.items()}
        gaps = [values[first].minus(values[second]) for _, first, second in conditions.pairs()]
        sureness = [gap.sureness_below(conditions.tolerance) for gap in gaps]
        sureness += [gap.sureness_above(-conditions.tolerance) for gap in gaps]
        for _, group, reference in conditions.comparisons(mixture):
            units, logged = mixed[group]
            is_paired = group == reference
            change = (
                self._predict(units, units.rewards - logged.rewards)
                if is_paired
                else values[group].minus(self._logged[reference])
            )
            sureness.append(change.sureness_above(-conditions.margin))
        units, _ = self._sums.mixed(mixture, OVERALL)
        reward = self._predict(units, units.rewards).value
        largest = max(abs(gap.value) for gap in gaps)
        return SelectionEstimates(reward, largest, self._change(values), min(sureness))

    def _change(self, values: dict[int, _Prediction]) -> float:
        groups = self._conditions.groups
        return min(
            min(values[number].value for number in groups.numbers(attribute).values())
            - self._logged[reference].value
            for attribute, reference in zip(groups.attributes, self._conditions.references, strict=True)
        )

    def _predict_logged(self, group: int) -> _Prediction:
        units = self._sums.logged(group)
        return self._predict(units, units.rewards)

    def _predict(self, units: WeightedUnits, rewards: Floats) -> _Prediction:
        """Predict the interval of a mean on the certification part."""
        n_rows = float(units.rows.sum())
        terms = rewards - units.controls.sum(axis=1)
        value = float(terms.sum()) / n_rows
        residuals = terms - value * units.rows
        error = float(np.sqrt(residuals @ residuals)) / n_rows
        width = self._quantile * error * sqrt(self._ratio)
        # Rare rewards with a large weight may not have been observed, which widens intervals upwards.
        missed = _MISSED * (units.max_weight - 1.0) / n_rows * self._ratio
        return _Prediction(value, error * sqrt(1.0 + self._ratio), width, width + missed, 0.0, missed)


def certification_sequence(predictions: Iterable[SelectionEstimates]) -> list[int]:
    """Return the members to test, from the one most likely to pass to the one with the highest reward.

    A member follows one that is more likely to pass only if its predicted reward is higher. Other members would
    never be returned by the procedure.
    """
    known = list(predictions)
    sequence: list[int] = []
    for number in sorted(range(len(known)), key=lambda i: -known[i].sureness):
        is_better = not sequence or known[number].reward > known[sequence[-1]].reward + _MIN_GAIN
        if known[number].sureness >= _MIN_SURENESS and is_better:
            sequence.append(number)
    return sequence
