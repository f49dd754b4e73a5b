"""The conditions that a certified policy satisfies: small gaps, and no loss for the worst-off group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairbandits.ope.certification.family_sums import FamilySums
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.group_index import GroupIndex


@dataclass(frozen=True)
class JointConditions:
    """The conditions, for all attributes of a log.

    Attributes
    ----------
    groups : GroupIndex
        The groups.
    tolerance : float
        The largest gap between two groups of an attribute.
    margin : float
        The amount by which the worst-off group may receive less than the worst-off group under the logging policy.
    error : float
        The error probability of the joint test, and of each of its one-sided tests.
    references : tuple of int
        For each attribute, the worst-off group under the logging policy, chosen on the selection part. If all
        groups of a policy receive at least the value of any one group under the logging policy, minus the margin,
        the policy satisfies the second condition. The choice of that group therefore affects only how easily this
        can be shown.
    """

    groups: GroupIndex
    tolerance: float
    margin: float
    error: float
    references: tuple[int, ...]

    @classmethod
    def from_selection(
        cls, sums: FamilySums, groups: GroupIndex, tolerance: float, margin: float, error: float
    ) -> JointConditions:
        """Return the conditions, with reference groups chosen on the selection part."""
        references = []
        for attribute in groups.attributes:
            numbers = list(groups.numbers(attribute).values())
            logged = [float(units.rewards.sum() / units.rows.sum()) for units in map(sums.logged, numbers)]
            references.append(numbers[int(np.argmin(logged))])
        return cls(groups, tolerance, margin, error, tuple(references))

    def pairs(self) -> Iterator[tuple[str, int, int]]:
        """Yield the pairs of groups whose gap must be within the tolerance, with their attribute."""
        for attribute in self.groups.attributes:
            for first, second in combinations(self.groups.numbers(attribute).values(), 2):
                yield attribute, first, second

    def comparisons(self, mixture: Mixture) -> Iterator[tuple[str, int, int]]:
        """Yield the groups that must not lose, each with its attribute and its reference group.

        Groups that keep the logging policy cannot fall below its worst-off group, so they are left out.
        """
        for attribute, reference in zip(self.groups.attributes, self.references, strict=True):
            for group in self.groups.numbers(attribute).values():
                if mixture.is_logging_policy or (
                    attribute == mixture.attribute and mixture.is_logging_policy_of(group)
                ):
                    continue
                yield attribute, group, reference
