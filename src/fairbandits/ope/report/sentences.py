"""What judging found, in sentences for a person who is no statistician."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairbandits.ope.results import TITLES, EstimatorResult, Evaluation, PolicyEvaluation, PolicyGap
from fairbandits.ope.value_estimate import ValueEstimate


class EvaluationSentences:
    """Sentences about one judgement.

    Parameters
    ----------
    found : Evaluation
        What was found.
    """

    def __init__(self, found: Evaluation) -> None:
        self._found = found
        logged = found.logged.value.everybody
        size = abs(logged.value) if logged is not None else 1.0
        # Three digits of what the log got, however large rewards are.
        self._digits = min(max(2 - math.floor(math.log10(size)), 0), 6) if size else 3

    def number(self, value: float) -> str:
        """Write a reward."""
        text = f"{value:.{self._digits}f}"
        return text.lstrip("-") if float(text) == 0.0 else text

    def interval(self, estimate: ValueEstimate) -> str:
        """Write an interval."""
        return f"{self.number(estimate.low)} to {self.number(estimate.high)}"

    @property
    def sure(self) -> str:
        """Write how sure intervals are."""
        return f"{self._found.confidence * 100:g}% sure"

    def lead(self) -> str:
        """Say the most important thing: what the best policy would have earned, beside the log."""
        policies = self._found.policies
        known = [policy for policy in policies if _value(policy) is not None]
        if not known:
            return "The log cannot say what these policies would have earned: they hardly ever agree with it."
        best = max(known, key=lambda policy: _value(policy) or 0.0)
        most = f"Of {len(policies)} policies, {best.title}" if len(policies) > 1 else best.title
        earned = f"{most} would have earned {'most, ' if len(policies) > 1 else ''}{self._earned(best)}"
        return " ".join([earned, *list(self._gaps(best))[:1]])

    def about(self, policy: PolicyEvaluation) -> Iterator[str]:
        """Say what a policy would have earned, and how far apart groups would have been."""
        if _value(policy) is None:
            yield f"{policy.title} hardly ever agrees with the log, which cannot say what it would have earned."
            return
        yield f"{policy.title} would have earned {self._earned(policy)}"
        yield from self._gaps(policy)

    def _gaps(self, policy: PolicyEvaluation) -> Iterator[str]:
        for attribute in policy.verdicts[policy.trusted].value.groups:
            mine, logs = policy.verdicts[policy.trusted].widest(attribute), self._found.logged.widest(attribute)
            if mine is not None and logs is not None:
                yield f"By {attribute}, {self._apart(mine)}; in the log {self._got(logs)}."

    def how(self, policy: PolicyEvaluation) -> str:
        """Say how it was judged."""
        others = ", ".join(TITLES[name] for name in TITLES if name in policy.verdicts and name != policy.trusted)
        beside = f"; beside it: {others}" if others else ""
        return f"PolicyEvaluation {policy.how}. The numbers above are by {TITLES[policy.trusted]}{beside}."

    def _earned(self, policy: PolicyEvaluation) -> str:
        verdict = policy.verdicts[policy.trusted]
        value, gain, logged = verdict.value.everybody, verdict.gain.everybody, self._found.logged.value.everybody
        if value is None or logged is None:
            return "nothing that could be told."
        text = f"{self.number(value.value)} per decision ({self.sure}: {self.interval(value)})"
        logs = f"the log's {self.number(logged.value)}"
        if gain is None:
            return f"{text}, beside {logs}."
        if not gain.excludes_zero:
            return f"{text}; whether that is more than {logs} cannot be told ({self.interval(gain)})."
        more = "more" if gain.value > 0.0 else "less"
        low, high = sorted((abs(gain.low), abs(gain.high)))
        apart = f"{self.number(abs(gain.value))} {more} than {logs}"
        return f"{text}, {apart} ({self.number(low)} to {self.number(high)})."

    def _apart(self, difference: PolicyGap) -> str:
        estimate = difference.estimate
        text = (
            f"{difference.first} would get {self.number(estimate.value)} more than {difference.second} "
            f"({self.interval(estimate)})"
        )
        return text if estimate.excludes_zero else f"{text}, which may be chance"

    def _got(self, difference: PolicyGap) -> str:
        return f"{difference.first} got {self.number(difference.estimate.value)} more than {difference.second}"


def worst_off(verdict: EstimatorResult, attribute: str) -> tuple[str, ValueEstimate] | None:
    """Give the group of an attribute that gets least, and what it gets."""
    known = [(str(label), one) for label, one in verdict.value.groups[attribute].items() if one is not None]
    return min(known, key=lambda pair: pair[1].value, default=None)


def _value(policy: PolicyEvaluation) -> float | None:
    estimate = policy.verdicts[policy.trusted].value.everybody
    return None if estimate is None else estimate.value
