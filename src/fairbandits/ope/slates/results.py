"""The results of an off-policy evaluation of slates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbandits.ope.results import EstimatorResult, GroupedValue, find_policy
from fairbandits.report.number_formats import nan_to_none
from fairbandits.report.page import write_report
from fairbandits.views.short_repr import ShortRepr

#: The names of the estimators in reports, starting with the weakest assumption about users.
SLATE_ESTIMATOR_NAMES: dict[str, str] = {
    "standard": "whole slate",
    "reward_interaction": "reward interaction",
    "independent": "independent",
}
#: With fewer effective slates than this, an estimator with a stronger assumption is preferred.
MIN_EFFECTIVE_SLATES = 100


@dataclass(frozen=True, repr=False)
class SlateEstimate(ShortRepr):
    """The results of one estimator for one policy.

    Attributes
    ----------
    result : EstimatorResult
        The mean reward of a slate, its difference from the log, and the gaps between groups, with intervals.
    ips, snips : GroupedValue of float
        The plain and the self-normalised inverse propensity scoring estimate, without intervals; NaN if undefined.
    effective_slates : GroupedValue of float
        The effective sample size.
    mean_weight : GroupedValue of float
        The mean importance weight, 1 in expectation if the probabilities are correct; NaN without slates.
    """

    result: EstimatorResult
    ips: GroupedValue[float]
    snips: GroupedValue[float]
    effective_slates: GroupedValue[float]
    mean_weight: GroupedValue[float]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        return self.result.to_dict() | {
            "ips": self.ips.to_dict(nan_to_none),
            "snips": self.snips.to_dict(nan_to_none),
            "effective_slates": self.effective_slates.to_dict(float),
            "mean_weight": self.mean_weight.to_dict(nan_to_none),
        }


@dataclass(frozen=True, repr=False)
class SlatePolicyEvaluation(ShortRepr):
    """The results for one policy.

    Attributes
    ----------
    title : str
        The name of the policy.
    estimates : mapping of str to SlateEstimate
        The results by estimator ("standard", "reward_interaction", "independent"), except estimators whose
        probabilities are not in the log.
    """

    title: str
    estimates: Mapping[str, SlateEstimate]

    @property
    def preferred_estimator(self) -> str:
        """The estimator with the weakest assumption among those with at least 100 effective slates.

        If there is none, the estimator with the most effective slates is preferred.
        """
        sizes = {
            name: self.estimates[name].effective_slates.overall
            for name in SLATE_ESTIMATOR_NAMES
            if name in self.estimates
        }
        enough = [name for name, size in sizes.items() if size >= MIN_EFFECTIVE_SLATES]
        return enough[0] if enough else max(sizes, key=lambda name: sizes[name])

    @property
    def preferred(self) -> EstimatorResult:
        """The results of the preferred estimator."""
        return self.estimates[self.preferred_estimator].result

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        return {
            "preferred_estimator": self.preferred_estimator,
            "estimates": {name: estimate.to_dict() for name, estimate in self.estimates.items()},
        }


@dataclass(frozen=True, repr=False)
class SlateEvaluation(ShortRepr):
    """The results of an off-policy evaluation of slates.

    Attributes
    ----------
    log : str
        The name of the log.
    confidence : float
        The confidence level of all intervals.
    unit : {"user", "slate"}
        The unit within which rewards may depend on each other.
    rows_read, slates_read : int
        The number of rows and the number of slates in the log.
    slates : GroupedValue of int
        The number of slates with a reward at every position. Only these are evaluated.
    missing_rewards : GroupedValue of float
        The share of slates with a missing reward, which are left out.
    logged : EstimatorResult
        The mean reward of a logged slate.
    policies : tuple of SlatePolicyEvaluation
        The results of the policies, in the given order.
    warnings : tuple of str
        Reasons to doubt the results.
    """

    log: str
    confidence: float
    unit: str
    rows_read: int
    slates_read: int
    slates: GroupedValue[int]
    missing_rewards: GroupedValue[float]
    logged: EstimatorResult
    policies: tuple[SlatePolicyEvaluation, ...]
    warnings: tuple[str, ...]

    def __getitem__(self, title: str) -> SlatePolicyEvaluation:
        return find_policy(self.policies, title)

    def _repr_html_(self) -> str:
        from fairbandits.ope.report.notebook import slates_html  # noqa: PLC0415 - imports this class

        return slates_html(self)

    def write(self, folder: str | Path) -> Path:
        """Write `slates.html` and `slates.json` into a folder, atomically; return the path of the page."""
        from fairbandits.ope.report.slate_page import slate_page  # noqa: PLC0415 - imports this module

        return write_report(Path(folder), "slates", slate_page(self), self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON values, as stored in `slates.json`."""
        return {
            "log": self.log,
            "confidence": self.confidence,
            "unit": self.unit,
            "rows_read": self.rows_read,
            "slates_read": self.slates_read,
            "slates": self.slates.to_dict(int),
            "missing_rewards": self.missing_rewards.to_dict(float),
            "logged": self.logged.to_dict(),
            "policies": {policy.title: policy.to_dict() for policy in self.policies},
            "warnings": list(self.warnings),
        }
