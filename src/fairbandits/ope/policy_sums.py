"""The sums of all estimators for one policy, and the results computed from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts.table_encoder import Features
from fairbandits.ope import estimators
from fairbandits.ope.candidates.candidate import ArmProbabilities
from fairbandits.ope.checks import drift_check
from fairbandits.ope.checks.drift_check import Drift, find_drift
from fairbandits.ope.cross_fitting import CrossFittedRidge, rows_by_value
from fairbandits.ope.estimator_sums import EstimatorSums, EstimatorTerms
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.group_index import OVERALL, GroupIndex, distinct_rows
from fairbandits.ope.headline import Headline
from fairbandits.ope.headline_estimates import HeadlineEstimates
from fairbandits.ope.log_rows import LogRows
from fairbandits.ope.log_summary import LogSummary
from fairbandits.ope.log_units import Codes, LogUnits, UnitColumns
from fairbandits.ope.results import EstimatorResult, GroupedValue, PolicyEvaluation, PolicyGap
from fairbandits.ope.sequential_headline import SequentialHeadline, SequentialSums
from fairbandits.ope.unit_tables import (
    COLUMNS,
    CONTROL,
    LOGGED,
    REWARDS,
    ROWS,
    UNSUPPORTED,
    WEIGHTS,
    UnitTables,
)
from fairbandits.ope.value_estimate import ValueEstimate

Floats = NDArray[np.float64]
# Returns the extra variance of a group's value or, given a second group, of the gap between the two.
ExtraVariance = Callable[[int, int | None], float]

#: Below this effective sample size, no estimate is computed.
MIN_EFFECTIVE_ROWS = 30
# If probabilities add up to 1 within this tolerance, other arms are taken to have probability 0.
_ROUNDING = 1e-6


class PolicySums:
    """The sums of all estimators for one policy.

    Parameters
    ----------
    setup : EvaluationSetup
        The log and the settings.
    summary : LogSummary
        Counts over the evaluation rows.
    model : CrossFittedRidge or None
        The reward model.
    units : LogUnits
        The units of the log.
    knows_all_arms : bool
        Whether the policy's probabilities are known for all arms, rather than only for the logged ones.
    """

    def __init__(
        self,
        setup: EvaluationSetup,
        summary: LogSummary,
        model: CrossFittedRidge | None,
        units: LogUnits,
        knows_all_arms: bool,
    ) -> None:
        clip = setup.settings.clip
        self._mean_reward = setup.mean_reward
        self._units, self._columns = units, UnitColumns(len(COLUMNS))
        self._drift = UnitColumns(len(drift_check.COLUMNS))
        first_row = setup.survey.split.row if setup.survey.split.train_share else 0
        self._middle = (first_row + setup.survey.rows) // 2
        self._summary, self._groups, self._model = summary, summary.survey.groups, model
        self._clip = np.inf if clip is None else clip
        n_groups, n_arms = summary.arm_counts.shape
        self._sums: dict[str, EstimatorSums] = {}
        self._sequential = SequentialSums(n_groups) if setup.settings.sequential else None
        #: The sum of the policy's probabilities of each arm, by group.
        self.arm_probabilities: Floats = np.zeros((n_groups, n_arms))
        # The sums of features weighted by these probabilities, for the variance of the reward model.
        self._feature_sums: Floats = np.zeros((n_groups, n_arms, model.width if model else 0))
        #: The sum of the policy's probabilities of arms that are not in the log, by group.
        self.elsewhere: Floats = np.zeros(n_groups)
        self.knows_all_arms = knows_all_arms
        self.max_weight = self._max_probability = 0.0
        # The largest weight of any arm, if the propensities of all arms are known.
        self._max_ratio: float | None = None
        self.n_clipped = 0
        self.clipped_weight = 0.0

    def add(
        self,
        rows: LogRows,
        probabilities: ArmProbabilities,
        shown: Floats | None,
        predictions: Floats | None,
        features: Features | None,
        unit: Codes,
    ) -> None:
        """Add evaluation rows.

        Parameters
        ----------
        rows : LogRows
            The rows.
        probabilities : ArmProbabilities
            The probabilities with which the policy would choose arms.
        shown : array of shape (n_rows, n_arms) or None
            The propensities of all arms.
        predictions : array of shape (n_rows, n_arms) or None
            The predictions of the reward model.
        features : array or scipy sparse of shape (n_rows, width), or None
            The features of the reward model.
        unit : array of int
            The unit of each row.
        """
        weight = None
        if rows.propensity is not None:
            weight = estimators.importance_weights(probabilities.logged, rows.propensity)
        columns = self._unit_columns(rows, weight, probabilities, shown, predictions)
        self._columns.add(unit, columns, len(self._units))
        if weight is not None:
            if self._sequential is not None:
                self._sequential.add(weight, rows.reward, rows.groups)
            self._drift.add(unit, self._drift_columns(rows, columns), len(self._units))
        for name, terms in self._terms(rows, weight, probabilities, predictions).items():
            self._sums_of(name).add(terms, rows.reward, rows.groups)
        if probabilities.all_arms is not None:
            self._add_arms(rows, probabilities.all_arms, features)

    def merge(self, other: PolicySums, units: Codes, n_units: int) -> None:
        """Add the sums of other rows, given the indices of their units in this object."""
        self._columns.merge(other._columns, units, n_units)
        self._drift.merge(other._drift, units, n_units)
        if self._sequential is not None and other._sequential is not None:
            self._sequential.merge(other._sequential)
        for name, sums in other._sums.items():
            self._sums_of(name).merge(sums)
        self.arm_probabilities += other.arm_probabilities
        self._feature_sums += other._feature_sums
        self.elsewhere += other.elsewhere
        self.max_weight = max(self.max_weight, other.max_weight)
        self._max_probability = max(self._max_probability, other._max_probability)
        if self._max_ratio is not None or other._max_ratio is not None:
            self._max_ratio = max(self._max_ratio or 0.0, other._max_ratio or 0.0)
        self.n_clipped += other.n_clipped
        self.clipped_weight += other.clipped_weight

    def __getstate__(self) -> dict[str, Any]:
        # Only the sums are pickled: the rest is large, and the same for all parts of a log.
        return {**self.__dict__, "_units": None, "_summary": None, "_model": None}

    def restore(self, summary: LogSummary, model: CrossFittedRidge | None, units: LogUnits) -> None:
        """Set the inputs that are not pickled."""
        self._summary, self._model, self._units = summary, model, units

    def _sums_of(self, name: str) -> EstimatorSums:
        """Return the sums of an estimator, which are created when first needed."""
        if name not in self._sums:
            self._sums[name] = EstimatorSums(len(self._groups), self._mean_reward)
        return self._sums[name]

    def _add_arms(self, rows: LogRows, probabilities: Floats, features: Features | None) -> None:
        self._max_probability = max(self._max_probability, float(probabilities.max(initial=0.0)))
        elsewhere = _remainder(probabilities)
        for column in rows.groups.T:
            for group, members in rows_by_value(column):
                if group >= 0:
                    self.arm_probabilities[group] += probabilities[members].sum(axis=0)
                    self.elsewhere[group] += elsewhere[members].sum()
                    if features is not None:
                        self._feature_sums[group] += probabilities[members].T @ features[members]

    def _terms(
        self,
        rows: LogRows,
        weight: Floats | None,
        probabilities: ArmProbabilities,
        predictions: Floats | None,
    ) -> dict[str, EstimatorTerms]:
        w = None if weight is None else self._clipped(weight)
        terms = {"replay": estimators.replay(probabilities.logged, rows.reward)}
        if w is not None:
            terms["ips"] = estimators.ips_terms(w, rows.reward)
            terms["snips"] = estimators.snips_terms(w, rows.reward)
        if predictions is not None and probabilities.all_arms is not None:
            direct = terms["direct_method"] = estimators.direct_method(probabilities.all_arms, predictions)
            if w is not None:
                residual = rows.reward - predictions[np.arange(len(rows)), rows.arm]
                terms["doubly_robust"] = estimators.doubly_robust_terms(direct, w, residual)
        return terms

    def _unit_columns(
        self,
        rows: LogRows,
        weight: Floats | None,
        probabilities: ArmProbabilities,
        shown: Floats | None,
        predictions: Floats | None,
    ) -> Floats:
        """Return the headline estimates' variables for each row; if propensities are unknown, weights are zero."""
        columns = np.zeros((len(rows), len(COLUMNS)))
        columns[:, ROWS], columns[:, LOGGED] = 1.0, rows.reward
        # Not clipped, because only unclipped weights have a mean of 1 in expectation.
        weight = columns[:, WEIGHTS] = np.zeros(len(rows)) if weight is None else weight
        columns[:, REWARDS] = weight * rows.reward
        if (matrix := probabilities.all_arms) is not None:
            supported = np.where(self._is_shown(rows, shown), matrix, 0.0)
            columns[:, UNSUPPORTED] = _remainder(supported)
            if shown is not None:
                ratio = float((supported / np.where(supported > 0.0, shown, 1.0)).max(initial=0.0))
                self._max_ratio = max(self._max_ratio or 0.0, ratio)
            if predictions is not None:
                # The control variate of the doubly robust estimator, which is zero in expectation.
                chosen = predictions[np.arange(len(rows)), rows.arm]
                columns[:, CONTROL] = weight * chosen - np.einsum("ij,ij->i", supported, predictions)
        return columns

    def _is_shown(self, rows: LogRows, shown: Floats | None) -> NDArray[np.bool_]:
        """Return whether the log supports each arm in each row.

        An arm is judged by its propensity if that is known, and otherwise by whether the user's groups were shown
        the arm.
        """
        if shown is not None:
            return np.asarray((shown > 0.0) & (self.arm_counts[OVERALL] > 0))
        distinct, inverse = distinct_rows(rows.groups)
        masks = [self._summary.is_shown[row[row >= 0]].all(axis=0) for row in distinct]
        return np.asarray(masks, bool).reshape(len(distinct), -1)[inverse]

    def _drift_columns(self, rows: LogRows, columns: Floats) -> Floats:
        """Return the variables by which the halves of the log are compared."""
        both = np.column_stack([columns[:, ROWS], columns[:, REWARDS] - columns[:, CONTROL]])
        return np.hstack([both, both * (rows.numbers >= self._middle)[:, None]])

    def _clipped(self, full: Floats) -> Floats:
        """Return clipped importance weights, and record the largest weight and the amount clipped."""
        self.max_weight = max(self.max_weight, float(full.max(initial=0.0)))
        w = np.minimum(full, self._clip)
        self.n_clipped += int((full > w).sum())
        self.clipped_weight += float((full - w).sum())
        return w

    def evaluation(
        self, title: str, training: str, confidence: float, headline: HeadlineEstimates | None
    ) -> PolicyEvaluation:
        """Return the results for the policy, given the headline estimates."""
        weighted = self._sums.get("ips", self._sums["replay"])
        results = {name: self._result(name, confidence) for name in self._sums}
        if headline is not None:
            name = "likelihood" if self._sequential is None else "confidence_sequence"
            results[name] = headline.result(self._groups)
        return PolicyEvaluation(
            title,
            training,
            results,
            GroupedValue.from_index(self._groups, weighted.effective_rows),
            GroupedValue.from_index(self._groups, weighted.mean_weight) if self.has_propensities else None,
            GroupedValue.from_index(self._groups, self.unsupported),
        )

    @property
    def arm_counts(self) -> NDArray[np.int64]:
        """The number of times each arm was logged, by group."""
        return self._summary.arm_counts

    def drift(self) -> Drift | None:
        """Return the change in the policy's value from the earlier to the later half of the log."""
        return find_drift(self._drift.totals(*self._units.members(OVERALL)))

    def largest_share(self) -> float:
        """Return the largest share of rows that belongs to a single unit."""
        rows = self.tables.observed(OVERALL)[:, ROWS]
        return float(rows.max() / rows.sum()) if rows.size else 0.0

    @cached_property
    def tables(self) -> UnitTables:
        """The sums of the units, by group; to be read only after all rows have been added."""
        return UnitTables(self._units, self._columns, self._largest_weight)

    def unsupported(self, group: int = OVERALL) -> float:
        """Return the probability that the policy makes a choice that the log does not support for the group."""
        tables = self.tables
        return tables.unsupported(group) if self.has_propensities else 1.0 - tables.expected_weight(group)

    def never_shown(self, group: int = OVERALL) -> float:
        """Return the probability that the policy chooses an arm for which the group has no rows."""
        counts = self.arm_counts[group]
        missing = self.arm_probabilities[group][counts == 0].sum() + self.elsewhere[group]
        return float(missing / max(counts.sum(), 1))

    @property
    def has_propensities(self) -> bool:
        """Whether the propensities are known."""
        return "ips" in self._sums

    @property
    def _largest_weight(self) -> float:
        if self._max_ratio is not None:
            return max(self._max_ratio, self.max_weight)
        probability = self._max_probability if self.knows_all_arms else 1.0
        return max(probability / self._summary.min_propensity, self.max_weight)

    def headline(self, confidence: float) -> HeadlineEstimates | None:
        """Return the headline estimates, or None if propensities are unknown."""
        if not self.has_propensities:
            return None
        if self._sequential is not None:
            return SequentialHeadline(self._sequential, confidence)
        return Headline(self.tables, confidence, self.max_weight)

    def _result(self, name: str, confidence: float) -> EstimatorResult:
        extra = self._model_variance(self._model) if name == "direct_method" and self._model is not None else None
        return estimator_result(self._sums[name], self._groups, confidence, extra)

    def _model_variance(self, model: CrossFittedRidge) -> ExtraVariance:
        """Return a function that computes the variance that the reward model adds to a value or a gap."""
        means = self._feature_sums / np.maximum(self.arm_counts.sum(axis=1), 1)[:, None, None]

        def variance(first: int, second: int | None) -> float:
            return model.variance(means[first] if second is None else means[first] - means[second])

        return variance


def _remainder(probabilities: Floats) -> Floats:
    """Return 1 minus the sum of each row's probabilities, with differences due to rounding set to 0."""
    missing: Floats = 1.0 - probabilities.sum(axis=1)
    return np.where(missing > _ROUNDING, missing, 0.0)


def estimator_result(
    sums: EstimatorSums, groups: GroupIndex, confidence: float, extra_variance: ExtraVariance | None = None
) -> EstimatorResult:
    """Return the results of an estimator: overall, by group, and for pairs of groups with enough effective rows.

    Parameters
    ----------
    sums : EstimatorSums
        The sums.
    groups : GroupIndex
        The groups.
    confidence : float
        The confidence level of the intervals.
    extra_variance : callable, optional
        A function that returns the extra variance of a group's value, or of the gap between two groups.
    """

    def plain(group: int, level: float = confidence) -> ValueEstimate | None:
        return sums.estimate(group, level) if sums.effective_rows(group) >= MIN_EFFECTIVE_ROWS else None

    def widened(estimate: ValueEstimate, first: int, second: int | None = None) -> ValueEstimate:
        return estimate if extra_variance is None else estimate.with_added_variance(extra_variance(first, second))

    def value(group: int) -> ValueEstimate | None:
        return None if (estimate := plain(group)) is None else widened(estimate, group)

    def improvement(group: int) -> ValueEstimate | None:
        # The covariance of the model's error with the logged rewards is unknown.
        return None if extra_variance is not None or plain(group) is None else sums.improvement(group, confidence)

    gaps: list[PolicyGap] = []
    for attribute in groups.attributes:
        numbers = {label: group for label, group in groups.numbers(attribute).items() if plain(group) is not None}
        pairs = list(combinations(numbers, 2))
        # Bonferroni over all pairs
        level = 1.0 - (1.0 - confidence) / max(len(pairs), 1)
        for first, second in pairs:
            one, two = plain(numbers[first], level), plain(numbers[second], level)
            if one is not None and two is not None:
                estimate = widened(one.minus(two), numbers[first], numbers[second])
                gaps.append(PolicyGap(attribute, first, second, estimate))
    return EstimatorResult(
        GroupedValue.from_index(groups, value), GroupedValue.from_index(groups, improvement), tuple(gaps)
    )
