"""What judging a log found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from fairbandits.categorical import Label
from fairbandits.ope.group_index import ALL, GroupIndex
from fairbandits.ope.value_estimate import ValueEstimate
from fairbandits.report.number_formats import nan_to_none
from fairbandits.report.page import write_report

T = TypeVar("T")

#: The estimators, the one to trust first: by name, as a person reads it.
TITLES: dict[str, str] = {
    "doubly_robust": "doubly robust",
    "snips": "SNIPS",
    "ips": "IPS",
    "direct": "direct method",
    "replay": "replay",
}


@dataclass(frozen=True)
class PerGroup(Generic[T]):
    """Something for everybody, and for each group.

    Attributes
    ----------
    everybody : any
        That of all rows.
    groups : mapping
        By attribute and group, that of its rows.
    """

    everybody: T
    groups: Mapping[str, Mapping[Label, T]]

    @classmethod
    def of(cls, cells: GroupIndex, what: Callable[[int], T]) -> PerGroup[T]:
        """Ask for every cell."""
        groups = {
            attribute: {label: what(cell) for label, cell in cells.groups(attribute).items()}
            for attribute in cells.attributes
        }
        return PerGroup(what(ALL), groups)

    def to_dict(self, plain: Callable[[T], Any]) -> dict[str, Any]:
        """Give what JSON holds of it."""
        groups = {
            attribute: {str(label): plain(one) for label, one in of.items()}
            for attribute, of in self.groups.items()
        }
        return {"all": plain(self.everybody), "groups": groups}


@dataclass(frozen=True)
class PolicyGap:
    """How much more one group gets than another.

    Attributes
    ----------
    attribute : str
        What the groups differ in.
    first, second : label
        The groups.
    estimate : ValueEstimate
        The mean reward of the first less that of the second. With more than two groups, the intervals of all pairs
        hold together: each is wide enough for that.
    """

    attribute: str
    first: Label
    second: Label
    estimate: ValueEstimate

    def turned(self) -> PolicyGap:
        """Give it the other way round."""
        other = replace(self.estimate, value=-self.estimate.value, skew=-self.estimate.skew)
        return PolicyGap(self.attribute, self.second, self.first, other)

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON holds of it."""
        names = {"attribute": self.attribute, "first": self.first, "second": self.second}
        return names | self.estimate.to_dict() | {"confidence": self.estimate.confidence}


@dataclass(frozen=True)
class EstimatorResult:
    """What one estimator says of a policy.

    Attributes
    ----------
    value : PerGroup of ValueEstimate or None
        The mean reward; None where the rows cannot say.
    gain : PerGroup of ValueEstimate or None
        By how much that is above what the log got on the same rows; None also where the estimator cannot say.
    differences : tuple of PolicyGap
        Between the groups of each attribute, all pairs.
    """

    value: PerGroup[ValueEstimate | None]
    gain: PerGroup[ValueEstimate | None]
    differences: tuple[PolicyGap, ...]

    def widest(self, attribute: str) -> PolicyGap | None:
        """Give the largest difference between groups of an attribute, the group ahead first."""
        mine = [
            one if one.estimate.value >= 0.0 else one.turned()
            for one in self.differences
            if one.attribute == attribute
        ]
        return max(mine, key=lambda one: one.estimate.value, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON holds of it."""
        return {
            "value": self.value.to_dict(_plain),
            "gain": self.gain.to_dict(_plain),
            "differences": [difference.to_dict() for difference in self.differences],
        }


@dataclass(frozen=True)
class PolicyEvaluation:
    """What was found of one policy.

    Attributes
    ----------
    title : str
        What it is called.
    how : str
        What it had learned when it was judged, in words.
    verdicts : mapping of str to EstimatorResult
        By estimator; those that the log does not allow are left out.
    effective : PerGroup of float
        The effective number of rows: how many of equal weight would say as much.
    mean_weight : PerGroup of float, or None
        The mean weight of the rows, 1 but for chance where propensities are right, NaN in a group without rows.
        None where there are no propensities.
    unsupported : PerGroup of float
        How often it would show an arm that the log never shows to that group: a share from 0 to 1.
    """

    title: str
    how: str
    verdicts: Mapping[str, EstimatorResult]
    effective: PerGroup[float]
    mean_weight: PerGroup[float] | None
    unsupported: PerGroup[float]

    @property
    def trusted(self) -> str:
        """The estimator to look at first, of those that there are."""
        return next(name for name in TITLES if name in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON holds of it."""
        return {
            "how": self.how,
            "trusted": self.trusted,
            "estimates": {name: verdict.to_dict() for name, verdict in self.verdicts.items()},
            "effective_rows": self.effective.to_dict(float),
            "mean_weight": None if self.mean_weight is None else self.mean_weight.to_dict(nan_to_none),
            "unsupported": self.unsupported.to_dict(float),
        }


@dataclass(frozen=True)
class Evaluation:
    """What judging a log found.

    Attributes
    ----------
    log : str
        The log's name.
    confidence : float
        The confidence of all intervals.
    read : int
        How many rows the log has.
    rows : PerGroup of int
        How many rows judged: those with a reward.
    trained : int
        How many rows trained policies, and did not evaluate.
    missing : PerGroup of float
        The share of rows that had no reward, and were left out.
    logged : EstimatorResult
        What the log itself got, on the same rows.
    policies : tuple of PolicyEvaluation
        The policies, in the order in which they were given.
    cautions : tuple of str
        What to know before any of it is believed.
    """

    log: str
    confidence: float
    read: int
    rows: PerGroup[int]
    trained: int
    missing: PerGroup[float]
    logged: EstimatorResult
    policies: tuple[PolicyEvaluation, ...]
    cautions: tuple[str, ...]

    def __getitem__(self, title: str) -> PolicyEvaluation:
        for policy in self.policies:
            if policy.title == title:
                return policy
        raise KeyError(f"{title!r} was not judged; these were: {', '.join(one.title for one in self.policies)}")

    def write(self, folder: str | Path) -> Path:
        """Write `evaluate.html` and `evaluate.json` into a folder, each whole; give the path of the page."""
        from fairbandits.ope.report.page import as_page  # noqa: PLC0415 - it draws, which needs an extra

        return write_report(Path(folder), "evaluate", as_page(self), self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON holds of it."""
        return {
            "log": self.log,
            "confidence": self.confidence,
            "read": self.read,
            "rows": self.rows.to_dict(int),
            "trained_on": self.trained,
            "missing_rewards": self.missing.to_dict(float),
            "logged": self.logged.to_dict(),
            "policies": {policy.title: policy.to_dict() for policy in self.policies},
            "cautions": list(self.cautions),
        }


def _plain(estimate: ValueEstimate | None) -> dict[str, float] | None:
    return None if estimate is None else estimate.to_dict()
