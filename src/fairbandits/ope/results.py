"""The results of an off-policy evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from fairbandits.categorical import Label
from fairbandits.ope.group_index import OVERALL, GroupIndex
from fairbandits.ope.value_estimate import ValueEstimate
from fairbandits.report.number_formats import nan_to_none
from fairbandits.report.page import write_report
from fairbandits.views.short_repr import ShortRepr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

S = TypeVar("S")
T = TypeVar("T")

#: The name of the logging policy in comparisons.
LOGGING_POLICY = "the log"

#: The names of the estimators in reports, in order of preference.
ESTIMATOR_NAMES: dict[str, str] = {
    "likelihood": "empirical likelihood",
    "confidence_sequence": "confidence sequence",
    "doubly_robust": "doubly robust",
    "snips": "SNIPS",
    "ips": "IPS",
    "direct_method": "direct method",
    "replay": "replay",
}
#: The estimators whose intervals hold regardless of the effective sample size.
HEADLINES = ("likelihood", "confidence_sequence")


@dataclass(frozen=True)
class BoundedValue:
    """An estimate and its confidence interval, both within the range of possible values.

    Attributes
    ----------
    value, low, high : float
        The estimate and the bounds of its interval.
    confidence : float
        The confidence level of the interval.
    """

    value: float
    low: float
    high: float
    confidence: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0.0 or self.high < 0.0

    def minus(self, other: BoundedValue) -> BoundedValue:
        """Return this estimate minus an independent one, with a MOVER interval."""
        difference = self.value - other.value
        down = math.hypot(self.value - self.low, other.high - other.value)
        up = math.hypot(self.high - self.value, other.value - other.low)
        return BoundedValue(difference, difference - down, difference + up, self.confidence)

    def negated(self) -> BoundedValue:
        """Return the estimate with its sign reversed."""
        return BoundedValue(-self.value, -self.high, -self.low, self.confidence)

    def rescaled(self, factor: float, offset: float = 0.0) -> BoundedValue:
        """Return the estimate in other units: `offset + factor * value`."""
        value, low, high = (offset + factor * each for each in (self.value, self.low, self.high))
        return BoundedValue(value, low, high, self.confidence)

    def to_dict(self) -> dict[str, float]:
        """Return the estimate as JSON values."""
        return {"value": self.value, "low": self.low, "high": self.high}


Estimate = ValueEstimate | BoundedValue


@dataclass(frozen=True, repr=False)
class GroupedValue(ShortRepr, Generic[T]):
    """A quantity, overall and for each group; the fields are named as in Fairlearn's MetricFrame.

    Attributes
    ----------
    overall : any
        The value over all rows.
    by_group : mapping
        The values by attribute and group.
    """

    overall: T
    by_group: Mapping[str, Mapping[Label, T]]

    @classmethod
    def from_index(cls, groups: GroupIndex, value: Callable[[int], T]) -> GroupedValue[T]:
        """Evaluate a function of the group number, overall and for each group."""
        by_group = {
            attribute: {label: value(number) for label, number in groups.numbers(attribute).items()}
            for attribute in groups.attributes
        }
        return GroupedValue(value(OVERALL), by_group)

    def map(self, function: Callable[[T], S]) -> GroupedValue[S]:
        """Apply a function to each value."""
        by_group = {
            attribute: {label: function(value) for label, value in values.items()}
            for attribute, values in self.by_group.items()
        }
        return GroupedValue(function(self.overall), by_group)

    def to_dict(self, convert: Callable[[T], Any]) -> dict[str, Any]:
        """Return the results as JSON values."""
        by_group = {
            attribute: {str(label): convert(value) for label, value in values.items()}
            for attribute, values in self.by_group.items()
        }
        return {"overall": convert(self.overall), "by_group": by_group}


@dataclass(frozen=True, repr=False)
class PolicyGap(ShortRepr):
    """The gap between two groups under a policy.

    Attributes
    ----------
    attribute : str
        The attribute.
    first, second : label
        The groups.
    estimate : ValueEstimate or BoundedValue
        The mean reward of the first group minus that of the second. With more than two groups, the intervals for
        all pairs hold jointly.
    """

    attribute: str
    first: Label
    second: Label
    estimate: Estimate

    def swapped(self) -> PolicyGap:
        """Return the gap with the groups swapped."""
        return PolicyGap(self.attribute, self.second, self.first, self.estimate.negated())

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        names = {"attribute": self.attribute, "first": self.first, "second": self.second}
        return names | self.estimate.to_dict() | {"confidence": self.estimate.confidence}


@dataclass(frozen=True, repr=False)
class PolicyDifference(ShortRepr):
    """The difference between the values of two policies, estimated from paired terms.

    Attributes
    ----------
    first, second : str
        The names of the policies; `LOGGING_POLICY` for the logging policy.
    estimate : BoundedValue
        The mean reward of the first policy minus that of the second. The intervals for all pairs hold jointly.
    """

    first: str
    second: str
    estimate: BoundedValue

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        names = {"first": self.first, "second": self.second}
        return names | self.estimate.to_dict() | {"confidence": self.estimate.confidence}


@dataclass(frozen=True, repr=False)
class EstimatorResult(ShortRepr):
    """The results of one estimator for one policy.

    Attributes
    ----------
    value : GroupedValue of ValueEstimate or None
        The mean reward; None if there are too few effective rows.
    improvement : GroupedValue of ValueEstimate or None
        The mean reward minus that of the logging policy on the same rows; None if there are too few effective
        rows, or if the estimator does not provide it.
    gaps : tuple of PolicyGap
        The gaps between all pairs of groups, for each attribute.
    """

    value: GroupedValue[Estimate | None]
    improvement: GroupedValue[Estimate | None]
    gaps: tuple[PolicyGap, ...]

    def largest_gap(self, attribute: str) -> PolicyGap | None:
        """Return the largest gap between groups of an attribute, with the advantaged group first."""
        gaps = [
            gap if gap.estimate.value >= 0.0 else gap.swapped() for gap in self.gaps if gap.attribute == attribute
        ]
        return max(gaps, key=lambda gap: gap.estimate.value, default=None)

    def rescaled(self, reward_range: tuple[float, float]) -> EstimatorResult:
        """Convert the results, computed from rewards scaled to [0, 1], to the original units of reward."""
        low, high = reward_range
        span = high - low
        gaps = (PolicyGap(gap.attribute, gap.first, gap.second, gap.estimate.rescaled(span)) for gap in self.gaps)
        return EstimatorResult(
            self.value.map(lambda value: None if value is None else value.rescaled(span, low)),
            self.improvement.map(lambda value: None if value is None else value.rescaled(span)),
            tuple(gaps),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        return {
            "value": self.value.to_dict(_estimate_to_dict),
            "improvement": self.improvement.to_dict(_estimate_to_dict),
            "gaps": [gap.to_dict() for gap in self.gaps],
        }


@dataclass(frozen=True, repr=False)
class PolicyEvaluation(ShortRepr):
    """The results for one policy.

    Attributes
    ----------
    title : str
        The name of the policy.
    training : str
        A description of the policy's training before the evaluation.
    estimates : mapping of str to EstimatorResult
        The results by estimator; estimators that the log does not support are left out.
    effective_rows : GroupedValue of float
        The effective sample size.
    mean_weight : GroupedValue of float, or None
        The mean importance weight, whose expectation is 1 if the propensities are correct; NaN for a group without
        rows. None if the propensities are unknown.
    unsupported : GroupedValue of float
        The probability that the policy chooses an arm that the group is never shown in the log.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbandits.ope import evaluate
    >>> frame = pd.DataFrame({"arm": ["a", "b"] * 200, "reward": [1, 0] * 200, "propensity": 0.5})
    >>> policy = evaluate(frame, "Uniform")["Uniform"]
    >>> policy.preferred_estimator, round(policy.preferred.value.overall.value, 2), policy.effective_rows.overall
    ('likelihood', 0.5, 200.0)
    """

    title: str
    training: str
    estimates: Mapping[str, EstimatorResult]
    effective_rows: GroupedValue[float]
    mean_weight: GroupedValue[float] | None
    unsupported: GroupedValue[float]

    def rescaled(self, reward_range: tuple[float, float]) -> PolicyEvaluation:
        """Return the results in the original units of reward."""
        estimates = {name: result.rescaled(reward_range) for name, result in self.estimates.items()}
        return replace(self, estimates=estimates)

    @property
    def preferred_estimator(self) -> str:
        """The first estimator in `ESTIMATOR_NAMES` that is available."""
        return next(name for name in ESTIMATOR_NAMES if name in self.estimates)

    @property
    def preferred(self) -> EstimatorResult:
        """The results of the preferred estimator."""
        return self.estimates[self.preferred_estimator]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        return {
            "training": self.training,
            "preferred_estimator": self.preferred_estimator,
            "estimates": {name: result.to_dict() for name, result in self.estimates.items()},
            "effective_rows": self.effective_rows.to_dict(float),
            "mean_weight": None if self.mean_weight is None else self.mean_weight.to_dict(nan_to_none),
            "unsupported": self.unsupported.to_dict(float),
        }


@dataclass(frozen=True, repr=False)
class Evaluation(ShortRepr):
    """The results of an off-policy evaluation.

    Attributes
    ----------
    log : str
        The name of the log.
    confidence : float
        The confidence level of all intervals.
    rows_read : int
        The number of rows in the log.
    rows : GroupedValue of int
        The number of evaluation rows with a reward.
    training_rows : int
        The number of rows used to train policies.
    missing_rewards : GroupedValue of float
        The share of evaluation rows without a reward; these rows are left out.
    logged : EstimatorResult
        The results of the logging policy on the same rows.
    policies : tuple of PolicyEvaluation
        The results of the policies, in the given order.
    differences : tuple of PolicyDifference
        The differences between the values of all pairs of policies, including the logging policy.
    warnings : tuple of str
        Reasons to doubt the results.
    require_gap : float or None
        The largest gap that is tolerated.
    sequential : bool
        Whether the intervals are anytime-valid.
    has_users : bool
        Whether the log identifies users.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbandits.ope import evaluate
    >>> frame = pd.DataFrame({"arm": ["a", "b"] * 200, "reward": [1, 0] * 200, "propensity": 0.5})
    >>> evaluation = evaluate(frame, "Uniform")
    >>> evaluation.rows_read, evaluation.rows.overall, [policy.title for policy in evaluation.policies]
    (400, 200, ['Uniform'])
    >>> round(evaluation.logged.value.overall.value, 2), evaluation.status
    (0.5, 0)
    """

    log: str
    confidence: float
    rows_read: int
    rows: GroupedValue[int]
    training_rows: int
    missing_rewards: GroupedValue[float]
    logged: EstimatorResult
    policies: tuple[PolicyEvaluation, ...]
    differences: tuple[PolicyDifference, ...]
    warnings: tuple[str, ...]
    require_gap: float | None
    sequential: bool
    has_users: bool

    def in_units(self, reward_range: tuple[float, float]) -> Evaluation:
        """Convert the results, computed from rewards scaled to [0, 1], to the original units of reward."""
        return replace(
            self,
            logged=self.logged.rescaled(reward_range),
            policies=tuple(policy.rescaled(reward_range) for policy in self.policies),
            differences=tuple(
                replace(each, estimate=each.estimate.rescaled(reward_range[1] - reward_range[0]))
                for each in self.differences
            ),
        )

    def improvement(self, title: str) -> Estimate | None:
        """Return the mean reward of a policy minus that of the logging policy.

        The intervals for all policies hold jointly.
        """
        for each in self.differences:
            if (each.first, each.second) == (title, LOGGING_POLICY):
                return each.estimate
        return self[title].preferred.improvement.overall

    @property
    def status(self) -> int:
        """Whether all gaps are within `require_gap`, as an exit status: 0 for yes, 1 for no, 3 for undecided."""
        from fairbandits.ope.gap_verdict import exit_status  # noqa: PLC0415 - imports this class

        return exit_status(self)

    def __getitem__(self, title: str) -> PolicyEvaluation:
        return find_policy(self.policies, title)

    def _repr_html_(self) -> str:
        from fairbandits.ope.report.notebook import evaluation_html  # noqa: PLC0415 - imports this class

        return evaluation_html(self)

    def __str__(self) -> str:
        from fairbandits.ope.report.plain_text import evaluation_text  # noqa: PLC0415 - imports this class

        return evaluation_text(self)

    def plot(self, ax: Axes | None = None, *, attribute: str | None = None) -> Axes:
        """Plot the mean reward of the log and of each policy with its confidence interval; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; by default those of a new figure.
        attribute : str, optional
            An attribute whose groups are also plotted; by default, only the overall means are plotted.
        """
        from fairbandits.ope.report.notebook import plot_evaluation  # noqa: PLC0415 - imports this class

        return plot_evaluation(self, ax, attribute)

    def write(self, folder: str | Path) -> Path:
        """Write `evaluation.html` and `evaluation.json` into a folder, atomically; return the path of the page."""
        from fairbandits.ope.report.page import evaluation_page  # noqa: PLC0415 - needs an extra

        return write_report(Path(folder), "evaluation", evaluation_page(self), self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values, as stored in `evaluation.json`; `report/schema.json` describes them.

        Within one version of the format, existing keys keep their meaning, but new keys may be added.
        """
        return {
            "format": "fairbandits evaluation",
            "version": 1,
            "log": self.log,
            "confidence": self.confidence,
            "sequential": self.sequential,
            "require_gap": self.require_gap,
            "status": self.status,
            "has_users": self.has_users,
            "rows_read": self.rows_read,
            "rows": self.rows.to_dict(int),
            "training_rows": self.training_rows,
            "missing_rewards": self.missing_rewards.to_dict(float),
            "logged": self.logged.to_dict(),
            "policies": {policy.title: policy.to_dict() for policy in self.policies},
            "differences": [difference.to_dict() for difference in self.differences],
            "warnings": list(self.warnings),
        }


class _Titled(Protocol):
    @property
    def title(self) -> str: ...


Titled = TypeVar("Titled", bound=_Titled)


def find_policy(policies: Iterable[Titled], title: str) -> Titled:
    """Return the results of the policy with the given title."""
    by_title = {policy.title: policy for policy in policies}
    if title not in by_title:
        raise KeyError(f"there is no policy {title!r}; the policies are {', '.join(by_title)}")
    return by_title[title]


def _estimate_to_dict(estimate: Estimate | None) -> dict[str, float] | None:
    return None if estimate is None else estimate.to_dict()
