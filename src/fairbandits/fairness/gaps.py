"""Gaps between groups, with anytime-valid confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairbandits.fairness.groups import GroupValue
from fairbandits.views.text import shorten_name


class Gap(float):
    """The difference in mean reward between two groups: a float with its confidence interval and its groups.

    Attributes
    ----------
    low, high : float
        The confidence interval. It is anytime-valid: it holds at all times simultaneously, however often you look
        at it.
    confidence : float
        Its confidence level.
    attribute : str
        The attribute whose groups are compared; empty if there was nothing to compare yet.
    advantaged, disadvantaged : str, int or None
        The groups with the highest and the lowest mean reward.

    Examples
    --------
    >>> gap = Gap(
    ...     0.25, low=0.1, high=0.4, confidence=0.95, attribute="sex", advantaged="male", disadvantaged="female"
    ... )
    >>> gap > 0.2, f"{gap:.2f} [{gap.low}, {gap.high}]"
    (True, '0.25 [0.1, 0.4]')
    """

    low: float
    high: float
    confidence: float
    attribute: str
    advantaged: GroupValue | None
    disadvantaged: GroupValue | None

    _FIELDS = ("low", "high", "confidence", "attribute", "advantaged", "disadvantaged")

    def __new__(cls, value: float, **fields: Any) -> Gap:  # noqa: D102  (documented at the class)
        gap = super().__new__(cls, value)
        for name in cls._FIELDS:
            object.__setattr__(gap, name, fields[name])
        return gap

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        return (float(self),), {name: getattr(self, name) for name in self._FIELDS}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Gap is immutable; cannot set {name!r}")

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_short(getattr(self, name))}" for name in self._FIELDS)
        return f"Gap({_short(float(self))}, {fields})"

    def _repr_html_(self) -> str:
        from fairbandits.fairness.notebook import gap_html  # noqa: PLC0415 - imports this class

        return gap_html(self)


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """The rewards of one group: their number, mean and variance, and the confidence interval of the mean.

    Attributes
    ----------
    attribute, group : str, str or int
        The attribute, and its value for the group.
    count : int
        The number of rewards.
    mean, variance : float
        Their mean and variance.
    low, high : float
        The confidence interval of the mean.
    confidence : float
        The confidence level of the interval.

    Examples
    --------
    >>> from fairbandits import GroupRewards
    >>> groups = GroupRewards()
    >>> for reward in [0.4, 0.6]:
    ...     groups.add(reward, {"sex": "female"}, arm="algebra")
    >>> summary = groups.worst_off()
    >>> summary.group, summary.count, summary.mean
    ('female', 2, 0.5)
    >>> print(summary)
    sex female: mean 0.500 (95% CI 0.000 to 1.000), 2 rewards
    """

    attribute: str
    group: GroupValue
    count: int
    mean: float
    variance: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        rewards = f"{self.count:,} reward{'' if self.count == 1 else 's'}"
        interval = f"{self.confidence:.0%} CI {self.low:.3f} to {self.high:.3f}"
        return f"{self.attribute} {self.group}: mean {self.mean:.3f} ({interval}), {rewards}"

    def _repr_html_(self) -> str:
        from fairbandits.fairness.notebook import summary_html  # noqa: PLC0415 - imports this class

        return summary_html(self)


Extremes = tuple[GroupSummary, GroupSummary, list[GroupSummary]]


def extremes(summaries: Sequence[GroupSummary]) -> list[Extremes]:
    """Return the highest, the lowest and all groups of each attribute with two groups that received rewards."""
    by_attribute: dict[str, list[GroupSummary]] = {}
    for summary in summaries:
        if summary.count:
            by_attribute.setdefault(summary.attribute, []).append(summary)
    return [
        # Of groups with equal means the first is the highest and the last the lowest, so that the two differ.
        (max(peers, key=lambda s: s.mean), min(reversed(peers), key=lambda s: s.mean), peers)
        for peers in by_attribute.values()
        if len(peers) > 1
    ]


def widest_gap(found: Sequence[Extremes], span: float, confidence: float) -> Gap:
    """Return the largest difference in mean reward over attributes."""
    if not found:
        return no_gap(0.0, 0.0, span, confidence)
    gaps = []
    for best, worst, peers in found:
        # The intervals force the true gap to be at least `low`, and allow it to be at most `high`.
        low = max(0.0, max(s.low for s in peers) - min(s.high for s in peers))
        high = max(s.high for s in peers) - min(s.low for s in peers)
        gaps.append(gap_between(best.mean - worst.mean, low, high, best, worst))
    return max(gaps)


def lowest_ratio(found: Sequence[Extremes], confidence: float) -> Gap:
    """Return the smallest ratio of the lowest to the highest mean reward over attributes."""
    if not found:
        return no_gap(1.0, 0.0, 1.0, confidence)
    ratios = []
    for best, worst, peers in found:
        low = _divide(min(s.low for s in peers), max(s.high for s in peers))
        high = min(1.0, _divide(min(s.high for s in peers), max(s.low for s in peers)))
        ratios.append(gap_between(_divide(worst.mean, best.mean), low, high, best, worst))
    return min(ratios)


def gap_between(value: float, low: float, high: float, best: GroupSummary, worst: GroupSummary) -> Gap:
    """Return the gap between two groups."""
    return Gap(
        value,
        low=low,
        high=high,
        confidence=best.confidence,
        attribute=best.attribute,
        advantaged=best.group,
        disadvantaged=worst.group,
    )


def no_gap(value: float, low: float, high: float, confidence: float) -> Gap:
    """Return the gap of a record with nothing to compare."""
    return Gap(value, low=low, high=high, confidence=confidence, attribute="", advantaged=None, disadvantaged=None)


def _divide(part: float, whole: float) -> float:
    # Two groups that both received nothing count as equal.
    return part / whole if whole > 0.0 else 1.0


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(shorten_name(value, 40) if isinstance(value, str) else value)
