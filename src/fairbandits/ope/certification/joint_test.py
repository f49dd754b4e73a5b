"""The result of the joint test of one policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairbandits.categorical import Label
from fairbandits.ope.results import BoundedValue, PolicyGap
from fairbandits.views.short_repr import ShortRepr


@dataclass(frozen=True, repr=False)
class GroupChange(ShortRepr):
    """The change for a group, compared with the worst-off group under the logging policy.

    Attributes
    ----------
    attribute : str
        The attribute.
    group, reference : label
        The group, and the group that was worst off under the logging policy on the selection part.
    estimate : BoundedValue
        The group's mean reward minus that of the reference group under the logging policy.
    """

    attribute: str
    group: Label
    reference: Label
    estimate: BoundedValue

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        names = {"attribute": self.attribute, "group": self.group, "reference": self.reference}
        return names | self.estimate.to_dict() | {"confidence": self.estimate.confidence}


@dataclass(frozen=True, repr=False)
class JointTest(ShortRepr):
    """The joint test of a policy on the certification part.

    Each bound of an interval, taken by itself, has the confidence level of the test: with 95%, the two bounds are
    those of a 90% interval.

    Attributes
    ----------
    reward : BoundedValue
        The mean reward, which is not tested.
    gaps : tuple of PolicyGap
        The gaps, which must lie within the tolerance.
    changes : tuple of GroupChange
        The changes, which must not be below minus the margin.
    passes : bool
        Whether all conditions hold.
    """

    reward: BoundedValue
    gaps: tuple[PolicyGap, ...]
    changes: tuple[GroupChange, ...]
    passes: bool

    @property
    def largest_gap(self) -> PolicyGap:
        """The gap whose interval reaches furthest from zero, with the advantaged group first."""
        return max(
            (gap if gap.estimate.high >= -gap.estimate.low else gap.swapped() for gap in self.gaps),
            key=lambda gap: gap.estimate.high,
        )

    @property
    def smallest_change(self) -> GroupChange | None:
        """The change with the lowest lower bound; None if all groups keep the logging policy."""
        return min(self.changes, key=lambda change: change.estimate.low, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "reward": self.reward.to_dict(),
            "gaps": [gap.to_dict() for gap in self.gaps],
            "changes": [change.to_dict() for change in self.changes],
            "passes": self.passes,
        }
