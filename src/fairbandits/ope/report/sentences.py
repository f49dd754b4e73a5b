"""The results of an evaluation in sentences for readers without statistical training."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairbandits.ope.gap_verdict import Conclusion, gap_conclusion
from fairbandits.ope.results import (
    ESTIMATOR_NAMES,
    HEADLINES,
    LOGGING_POLICY,
    Estimate,
    EstimatorResult,
    Evaluation,
    PolicyEvaluation,
    PolicyGap,
)
from fairbandits.report.phrases import describe_users
from fairbandits.views.text import confidence_label, number_formatter, percent

# If at least this share of the rows is unsupported, bounds are given instead of an estimate.
_UNSUPPORTED_SHARE = 0.01


class EvaluationSentences:
    """Sentences about one evaluation.

    Parameters
    ----------
    evaluation : Evaluation
        The results.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self.interval_name = confidence_label(evaluation.confidence)
        logged = evaluation.logged.value.overall
        size = abs(logged.value) if logged is not None else 1.0
        # Enough decimals for three significant digits of the logged value.
        digits = min(max(2 - math.floor(math.log10(size)), 0), 6) if size else 3
        self.number = number_formatter(digits)

    def interval(self, estimate: Estimate) -> str:
        """Return the confidence interval of an estimate."""
        return f"{self.number(estimate.low)} to {self.number(estimate.high)}"

    def ranking(self) -> Iterator[str]:
        """Yield sentences on which policies are better than others, as far as the log shows."""
        policies = self._evaluation.policies
        known = [policy for policy in policies if policy.preferred.value.overall is not None]
        if not known:
            yield "The log does not support an estimate for these policies: they hardly ever agree with it."
            return
        if len(policies) == 1:
            yield f"{known[0].title} has {self._value(known[0])}"
            return
        best = max(known, key=_value)
        yield f"Of {len(policies)} policies, {best.title} ranks highest, with {self._value(best)}"
        yield from self._comparisons()

    def _comparisons(self) -> Iterator[str]:
        """Yield sentences on what is known about the differences between policies."""
        between = [each for each in self._evaluation.differences if each.second != LOGGING_POLICY]
        better = [each for each in between if each.estimate.excludes_zero]
        for each in better:
            first, second, gain = each.first, each.second, each.estimate
            if gain.value < 0.0:
                first, second, gain = second, first, gain.negated()
            yield (
                f"{first} is better than {second}, by {self.number(gain.value)} "
                f"({self.interval_name}: {self.interval(gain)})."
            )
        open_pairs = [f"{each.first} or {each.second}" for each in between if each not in better]
        if open_pairs:
            yield f"The log does not show which is better: {'; '.join(open_pairs)}."

    def summary(self, policy: PolicyEvaluation) -> Iterator[str]:
        """Yield sentences on the value of a policy, the gaps between groups, and the verdict on these gaps."""
        if policy.preferred.value.overall is None:
            yield f"{policy.title} hardly ever agrees with the log, so its value cannot be estimated."
            return
        yield f"{policy.title} has {self._value(policy)}"
        yield from self._gaps(policy)

    def method(self, policy: PolicyEvaluation) -> str:
        """Describe the state in which a policy was evaluated, and the estimators."""
        preferred = policy.preferred_estimator
        others = [
            ESTIMATOR_NAMES[name] for name in ESTIMATOR_NAMES if name in policy.estimates and name != preferred
        ]
        also = f" Other estimators: {', '.join(others)}." if others else ""
        assumption = "treat users as independent"
        if self._evaluation.sequential:
            assumption = "hold at any time"
        elif not self._evaluation.has_users:
            assumption = "treat rows as independent, because the log has no user column"
        interval = f" Intervals {assumption}." if preferred in HEADLINES else ""
        return f"Evaluated {policy.training}. Estimator: {ESTIMATOR_NAMES[preferred]}.{interval}{also}"

    def _gaps(self, policy: PolicyEvaluation) -> Iterator[str]:
        result, required = policy.preferred, self._evaluation.require_gap
        for attribute in result.value.by_group:
            gap, worst = result.largest_gap(attribute), worst_off(result, attribute)
            logged = self._evaluation.logged.largest_gap(attribute)
            if gap is not None and logged is not None:
                yield f"{self._policy_gap(gap)}; in the log, {self._logged_gap(logged)}."
            if gap is not None and worst is not None:
                value = f"{self.number(worst[1].value)} ({self.interval_name}: {self.interval(worst[1])})"
                yield f"The worst-off group by {attribute} would be {worst[0]}, with {value}."
            if required is not None:
                yield self._verdict(gap_conclusion(result, attribute, required), attribute, required)

    @staticmethod
    def _verdict(conclusion: Conclusion, attribute: str, required: float) -> str:
        if conclusion == "within":
            return f"The gap by {attribute} is within the required {required:g}."
        if conclusion == "beyond":
            return f"The gap by {attribute} exceeds the required {required:g}."
        return f"The log does not show whether the gap by {attribute} is within the required {required:g}."

    def _value(self, policy: PolicyEvaluation) -> str:
        value, logged = policy.preferred.value.overall, self._evaluation.logged.value.overall
        if value is None or logged is None:
            return "a value of unknown size."
        log = f"the log's {self.number(logged.value)}"
        if policy.unsupported.overall >= _UNSUPPORTED_SHARE:
            text = (
                f"a value of {self.interval(value)} ({self.interval_name}): the log says nothing about the arms "
                f"that the policy would choose in {percent(policy.unsupported.overall)} of the rows"
            )
        else:
            interval = f"({self.interval_name}: {self.interval(value)})"
            text = f"an estimated value of {self.number(value.value)} reward per decision {interval}"
        change = self._evaluation.improvement(policy.title)
        if change is None:
            return f"{text}, compared with {log}."
        if not change.excludes_zero:
            return (
                f"{text}, not detectably different from {log} ({self.interval_name} for the difference: "
                f"{self.interval(change)})."
            )
        comparison = "more" if change.value > 0.0 else "less"
        low, high = sorted((abs(change.low), abs(change.high)))
        difference = f"{self.number(abs(change.value))} {comparison} than {log}"
        return f"{text}, {difference} ({self.interval_name}: {self.number(low)} to {self.number(high)})."

    def _policy_gap(self, gap: PolicyGap) -> str:
        first, second = _users(gap)
        reward = f"{self.number(gap.estimate.value)} more reward than {second}"
        interval = f"{self.interval_name}: {self.interval(gap.estimate)}"
        text = f"By {gap.attribute}, {first} would receive {reward} ({interval})"
        return text if gap.estimate.excludes_zero else f"{text}, which may be chance"

    def _logged_gap(self, gap: PolicyGap) -> str:
        first, second = _users(gap)
        return f"{first} received {self.number(gap.estimate.value)} more reward than {second}"


def worst_off(result: EstimatorResult, attribute: str) -> tuple[str, Estimate] | None:
    """Return the group of an attribute with the lowest mean reward, and its estimate."""
    known = [(str(label), value) for label, value in result.value.by_group[attribute].items() if value is not None]
    return min(known, key=lambda pair: pair[1].value, default=None)


def _users(gap: PolicyGap) -> list[str]:
    return describe_users([gap.attribute], [gap.first], [gap.second])


def _value(policy: PolicyEvaluation) -> float:
    estimate = policy.preferred.value.overall
    return -math.inf if estimate is None else estimate.value
