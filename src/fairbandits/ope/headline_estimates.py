"""The base class of all kinds of headline estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations
from typing import Self

from fairbandits.ope.group_index import OVERALL, GroupIndex
from fairbandits.ope.results import BoundedValue, EstimatorResult, GroupedValue, PolicyGap


class HeadlineEstimates(ABC):
    """The headline estimates of one policy, for rewards from 0 to 1.

    Parameters
    ----------
    confidence : float
        The confidence level of each interval; the intervals of the gaps of an attribute hold jointly.
    """

    def __init__(self, confidence: float) -> None:
        self._confidence = confidence

    def result(self, groups: GroupIndex) -> EstimatorResult:
        """Return the values overall and by group, the improvements, and the gaps."""
        gaps: list[PolicyGap] = []
        for attribute in groups.attributes:
            pairs = list(combinations(groups.numbers(attribute).items(), 2))
            # Bonferroni over all pairs
            error = (1.0 - self._confidence) / max(len(pairs), 1)
            for (first, one), (second, two) in pairs:
                if (estimate := self.gap(one, two, error)) is not None:
                    gaps.append(PolicyGap(attribute, first, second, estimate))
        return EstimatorResult(
            GroupedValue.from_index(groups, lambda group: self.value(group, 1.0 - self._confidence)),
            GroupedValue.from_index(groups, lambda group: self.minus(None, 1.0 - self._confidence, group)),
            tuple(gaps),
        )

    @abstractmethod
    def value(self, group: int, error: float) -> BoundedValue | None:
        """Return the mean reward in a group, or None if it has no rows.

        Where the policy chooses arms that the log never shows, nothing is known about their rewards: they count as
        0 in the lower bound, and as 1 in the upper bound.
        """

    @abstractmethod
    def gap(self, first: int, second: int, error: float) -> BoundedValue | None:
        """Return the mean reward of one group minus that of another, or None if one has no rows."""

    @abstractmethod
    def minus(self, other: Self | None, error: float, group: int = OVERALL) -> BoundedValue | None:
        """Return the mean reward minus that of another policy on the same rows, or None if there are no rows.

        Parameters
        ----------
        other : HeadlineEstimates or None
            The other policy; None for the logging policy.
        error : float
            The error probability of the interval.
        group : int
            The group.
        """
