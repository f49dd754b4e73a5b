"""Estimates of the mean reward of a slate, with valid intervals.

The reward of a slate is a weighted mean of its positions' rewards, times a constant. Each position has its own
importance weights, whose mean is 1. Their mean over the positions, with the same position weights, is a weight of
the slate: it also has mean 1, and bounds the slate's weighted reward, just as a single weight bounds that of a
single arm. The intervals of `headline.py`, over users, therefore apply to slates as well.
`benchmarks/ope_slate_coverage.py` measures their coverage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairbandits.ope.array_validation import Floats, Ints
from fairbandits.ope.headline import Headline
from fairbandits.ope.log_units import LogUnits, UnitColumns
from fairbandits.ope.results import Estimate, EstimatorResult, GroupedValue
from fairbandits.ope.slates.reading import LoggedSlates
from fairbandits.ope.slates.slate_log import SlateLog
from fairbandits.ope.unit_tables import COLUMNS, CONTROL, LOGGED, REWARDS, ROWS, WEIGHTS, UnitTables


@dataclass(frozen=True, eq=False)
class SlateWeights:
    """The importance weights of slates, and their weighted rewards between 0 and the weight.

    Attributes
    ----------
    weight, reward, control : arrays of shape (n_slates,)
        The weight, the weighted reward, and a variable whose expectation is zero.
    max_weight : float
        The largest weight.
    """

    weight: Floats
    reward: Floats
    control: Floats
    max_weight: float


class RewardScale:
    """The rewards of slates in units of the possible range, from 0 to 1.

    Parameters
    ----------
    log : SlateLog
        The slates.
    reward_range : tuple of two floats
        The lowest and the highest possible reward of a position. A position that a slate lacks counts as having
        reward 0, so the range must include 0 if slates have different lengths.
    """

    def __init__(self, log: SlateLog, reward_range: tuple[float, float]) -> None:
        self._rows, self._low = log.rows, reward_range[0]
        self._span = reward_range[1] - reward_range[0]
        weights = log.position_weight[: int(log.rows.length.max())]
        self._total = float(weights.sum())
        if not self._total:
            raise ValueError("position_weight must be positive at some position, got only zeros")
        if log.rows.length.min() < len(weights) and not reward_range[0] <= 0.0 <= reward_range[1]:
            low, high = reward_range
            raise ValueError(
                f"reward_range must include 0 if slates have different lengths, got {low:g} to {high:g}; "
                "evaluate the slates of each length separately"
            )
        self._share = (weights / self._total)[log.rows.position]
        # The share of the positions that a slate lacks.
        self._absent = np.maximum(1.0 - log.rows.sum(self._share), 0.0)
        self._reward = (log.reward - self._low) / self._span

    def slate_rewards(self) -> Floats:
        """Return the reward of each slate."""
        return self._rows.sum(self._share * self._reward) + self._absent * self._zero

    def whole(self, weight: Floats) -> SlateWeights:
        """Return weights of whole slates."""
        return SlateWeights(weight, weight * self.slate_rewards(), np.zeros_like(weight), _largest(weight))

    def by_position(self, weight: Floats) -> SlateWeights:
        """Return the means over positions of weights that are given for every row, in the order of the rows."""
        rows, position = self._rows, self._rows.position
        total, weighted = (np.bincount(position, values) for values in (weight, weight * self._reward))
        mean = np.divide(weighted, total, out=np.zeros_like(total), where=total > 0.0)
        slate_weight = rows.sum(self._share * weight) + self._absent
        return SlateWeights(
            slate_weight,
            rows.sum(self._share * weight * self._reward) + self._absent * self._zero,
            # With this, the estimate is that of SNIPS at each position, instead of one ratio over all positions.
            rows.sum(self._share * mean[position] * (weight - 1.0)),
            _largest(slate_weight),
        )

    def largest_reward(self, weights: SlateWeights) -> float:
        """Return the largest slate reward, logged or relative to its weight, but at least that of one position."""
        is_positive = weights.weight > 0.0
        relative = weights.reward[is_positive] / weights.weight[is_positive]
        return float(max(relative.max(initial=0.0), self.slate_rewards().max(), self._share.max()))

    def restore(self, result: EstimatorResult, unit: float) -> EstimatorResult:
        """Convert results in a unit of this scale to the original units of reward."""
        lowest = self._total * self._low
        return result.rescaled((lowest, lowest + self._total * self._span * unit))

    @property
    def _zero(self) -> float:
        return -self._low / self._span


class SlateHeadline:
    """Estimates from weighted slates; the units are users or, where the user is unknown, slates.

    Parameters
    ----------
    slates : LoggedSlates
        The slates.
    scale : RewardScale
        Their rewards.
    confidence : float
        The confidence level of each interval; the intervals of the gaps of an attribute hold jointly.
    """

    def __init__(self, slates: LoggedSlates, scale: RewardScale, confidence: float) -> None:
        self._index, self._scale, self._confidence = slates.index, scale, confidence
        n = len(slates.groups)
        self._units = LogUnits(n)
        self._unit = self._units.numbers(slates.user, np.arange(n), slates.groups)
        self._logged = scale.slate_rewards()

    def result(self, weights: SlateWeights) -> EstimatorResult:
        """Return the values overall and by group, the differences from the log, and the gaps."""
        # Slates that were not observed count as having the largest reward that was observed. A slate could be
        # rewarded at all positions, but where rewards are rare, allowing for this would make intervals two to
        # three times as wide as is needed for coverage.
        unit = self._scale.largest_reward(weights)
        table = np.zeros((len(weights.weight), len(COLUMNS)))
        table[:, ROWS], table[:, WEIGHTS] = 1.0, weights.weight
        table[:, REWARDS], table[:, LOGGED] = weights.reward / unit, self._logged / unit
        table[:, CONTROL] = weights.control / unit
        columns = UnitColumns(len(COLUMNS))
        columns.add(self._unit, table, len(self._units))
        headline = Headline(UnitTables(self._units, columns, weights.max_weight), self._confidence)
        return self._scale.restore(headline.result(self._index), unit)

    def logged(self) -> EstimatorResult:
        """Return the values of the logging policy, which needs no weights."""
        one = np.ones_like(self._logged)
        result = self.result(SlateWeights(one, self._logged, np.zeros_like(one), 1.0))
        nothing: GroupedValue[Estimate | None] = result.improvement.map(lambda _: None)
        return replace(result, improvement=nothing)

    def mean_weight_z(self, weights: SlateWeights) -> float:
        """Return the number of standard errors by which the mean weight differs from 1."""
        residual = np.bincount(self._unit, weights.weight - 1.0)
        error = float(np.sqrt(residual @ residual))
        return float(residual.sum()) / error if error else 0.0


def last_in_slate(log: SlateLog, values: Floats) -> Floats:
    """Return the value at the last position of each row's slate; rows are in the order they were passed in."""
    rows, order = log.rows, log.order
    found: Floats = np.empty_like(values)
    last: Ints = order[rows.start + rows.length - 1]
    found[order] = np.repeat(values[last], rows.length)
    return found


def _largest(weight: Floats) -> float:
    # It is not known which slates the policy would show besides the logged ones. The inverse of the smallest
    # propensity would bound all weights, but would make intervals up to five times as wide as is needed for
    # coverage.
    return max(float(weight.max()), 1.0)
