"""The results of an evaluation in sentences for readers without statistical training."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairbandits.ope.results import (
    ESTIMATOR_NAMES,
    Estimate,
    EstimatorResult,
    Evaluation,
    PolicyEvaluation,
    PolicyGap,
)
from fairbandits.report.phrases import confidence_label, describe_users, number_formatter


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
        # Three significant digits of the logged value.
        digits = min(max(2 - math.floor(math.log10(size)), 0), 6) if size else 3
        self.number = number_formatter(digits)

    def interval(self, estimate: Estimate) -> str:
        """Return the confidence interval of an estimate."""
        return f"{self.number(estimate.low)} to {self.number(estimate.high)}"

    def headline(self) -> str:
        """Return the best policy, its value and its first gap."""
        policies = self._evaluation.policies
        known = [policy for policy in policies if policy.preferred.value.overall is not None]
        if not known:
            return "The log does not support an estimate for these policies: they hardly ever agree with it."
        best = max(known, key=_value)
        if len(policies) == 1:
            value = f"{best.title} has an estimated value of {self._value(best)}"
        else:
            value = (
                f"Of {len(policies)} policies, {best.title} has the highest estimated value: {self._value(best)}"
            )
        return " ".join([value, *list(self._gaps(best))[:1]])

    def summary(self, policy: PolicyEvaluation) -> Iterator[str]:
        """Yield the value of a policy, and the gaps between groups."""
        if policy.preferred.value.overall is None:
            yield f"{policy.title} hardly ever agrees with the log, which supports no estimate of its value."
            return
        yield f"{policy.title} has an estimated value of {self._value(policy)}"
        yield from self._gaps(policy)

    def method(self, policy: PolicyEvaluation) -> str:
        """Return the state in which a policy was evaluated, and the estimators."""
        preferred = policy.preferred_estimator
        others = [
            ESTIMATOR_NAMES[name] for name in ESTIMATOR_NAMES if name in policy.estimates and name != preferred
        ]
        also = f" Other estimators: {', '.join(others)}." if others else ""
        return f"Evaluated {policy.training}. Estimator: {ESTIMATOR_NAMES[preferred]}.{also}"

    def _gaps(self, policy: PolicyEvaluation) -> Iterator[str]:
        for attribute in policy.preferred.value.by_group:
            gap = policy.preferred.largest_gap(attribute)
            logged = self._evaluation.logged.largest_gap(attribute)
            if gap is not None and logged is not None:
                yield f"{self._policy_gap(gap)}; in the log, {self._logged_gap(logged)}."

    def _value(self, policy: PolicyEvaluation) -> str:
        result = policy.preferred
        value, improvement = result.value.overall, result.improvement.overall
        logged = self._evaluation.logged.value.overall
        if value is None or logged is None:
            return "unknown size."
        text = f"{self.number(value.value)} reward per decision ({self.interval_name}: {self.interval(value)})"
        log = f"the log's {self.number(logged.value)}"
        if improvement is None:
            return f"{text}, compared with {log}."
        if not improvement.excludes_zero:
            return (
                f"{text}, not detectably different from {log} ({self.interval_name} for the difference: "
                f"{self.interval(improvement)})."
            )
        comparison = "more" if improvement.value > 0.0 else "less"
        low, high = sorted((abs(improvement.low), abs(improvement.high)))
        difference = f"{self.number(abs(improvement.value))} {comparison} than {log}"
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
