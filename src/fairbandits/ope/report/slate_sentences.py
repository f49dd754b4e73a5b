"""The results of an evaluation of slates in sentences, and as the cells of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairbandits.ope.report.sentences import worst_off
from fairbandits.ope.results import Estimate, EstimatorResult
from fairbandits.ope.slates.results import SLATE_ESTIMATOR_NAMES, SlateEvaluation, SlatePolicyEvaluation
from fairbandits.report.phrases import describe_users
from fairbandits.views.text import confidence_label, decimals, number_formatter

_ASSUMPTIONS = {
    "standard": "It assumes nothing about users.",
    "reward_interaction": "It assumes that a reward depends at most on the arms at its position and above.",
    "independent": "It assumes that a reward depends on the arm at its position alone.",
}


class SlateSentences:
    """Sentences about one evaluation of slates.

    Parameters
    ----------
    evaluation : SlateEvaluation
        The results.
    """

    def __init__(self, evaluation: SlateEvaluation) -> None:
        self._evaluation = evaluation
        self.interval_name = confidence_label(evaluation.confidence)
        logged = evaluation.logged.value.overall
        size = max(abs(logged.value), logged.high - logged.low) if logged is not None else 1.0
        self.number = number_formatter(decimals(size, 0.0) if size > 0.0 else 3)

    @property
    def data(self) -> str:
        """A description of the log, with the number of slates."""
        evaluation = self._evaluation
        unit = "users" if evaluation.unit == "user" else "slates"
        return (
            f"{evaluation.log}: {evaluation.slates.overall:,} slates with a reward at every position, in "
            f"{evaluation.rows_read:,} rows. Intervals treat {unit} as independent."
        )

    def summary(self, policy: SlatePolicyEvaluation) -> Iterator[str]:
        """Yield sentences on the value of a policy and of the log, the gaps between groups, and the method."""
        name, result = policy.preferred_estimator, policy.preferred
        if result.value.overall is not None:
            logged = self.estimate(self._evaluation.logged.value.overall)
            value = f"estimated reward per slate {self.estimate(result.value.overall)}"
            yield f"{policy.title}: {value}; in the log, {logged}.{self._change(result)}"
        for attribute in result.value.by_group:
            gap, worst = result.largest_gap(attribute), worst_off(result, attribute)
            if gap is not None and worst is not None:
                first, second = describe_users([attribute], [gap.first], [gap.second])
                chance = "" if gap.estimate.excludes_zero else ", which may be chance"
                more = f"{self.estimate(gap.estimate)} more than {second}"
                lowest = f"The worst-off group, {worst[0]}, would receive {self.estimate(worst[1])}."
                yield f"By {attribute}, {first} would receive {more}{chance}. {lowest}"
        effective = policy.estimates[name].effective_slates.overall
        method = f"{SLATE_ESTIMATOR_NAMES[name]}, with {effective:,.0f} effective slates"
        yield f"Estimator: {method}. {_ASSUMPTIONS[name]} Interval: empirical likelihood."

    def estimate(self, estimate: Estimate | None) -> str:
        """Format an estimate with its interval."""
        if estimate is None:
            return "no estimate"
        return f"{self.number(estimate.value)} ({self.interval_name}: {self.interval(estimate)})"

    def interval(self, estimate: Estimate) -> str:
        """Format the confidence interval of an estimate."""
        return f"{self.number(estimate.low)} to {self.number(estimate.high)}"

    def plain(self, value: float) -> str:
        """Format a number without an interval."""
        return "undefined" if math.isnan(value) else self.number(value)

    def _change(self, result: EstimatorResult) -> str:
        change = result.improvement.overall
        if change is None:
            return ""
        chance = "" if change.excludes_zero else ", which may be chance"
        return f" The difference is {self.estimate(change)}{chance}."
