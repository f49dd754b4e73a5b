"""Numbers that say how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairbandits.fairness.groups import GroupValue


class Gap(float):
    """How far two groups are apart: a plain number that carries its interval and its groups.

    Attributes
    ----------
    low, high : float
        The interval. It holds at all times at once with the given confidence, however often one looks.
    confidence : float
        The probability with which it does.
    attribute : str
        The attribute whose groups are compared; empty where there was nothing to compare yet.
    ahead, behind : str, int or None
        The groups with the highest and the lowest mean reward.

    Examples
    --------
    >>> gap = Gap(0.25, low=0.1, high=0.4, confidence=0.95, attribute="sex", ahead="male", behind="female")
    >>> gap > 0.2, f"{gap:.2f} in [{gap.low}, {gap.high}]"
    (True, '0.25 in [0.1, 0.4]')
    """

    low: float
    high: float
    confidence: float
    attribute: str
    ahead: GroupValue | None
    behind: GroupValue | None

    _FIELDS = ("low", "high", "confidence", "attribute", "ahead", "behind")

    def __new__(cls, value: float, **fields: Any) -> Gap:  # noqa: D102  (documented at the class)
        gap = super().__new__(cls, value)
        for name in cls._FIELDS:
            object.__setattr__(gap, name, fields[name])
        return gap

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        return (float(self),), {name: getattr(self, name) for name in self._FIELDS}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Gap does not change; cannot set {name!r}")

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_short(getattr(self, name))}" for name in self._FIELDS)
        return f"Gap({_short(float(self))}, {fields})"


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """What one group has received: how often, how much on average, and how sure that is."""

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
        interval = f"{self.confidence:.0%}: {self.low:.3f} to {self.high:.3f}"
        return f"{self.attribute} {self.group}: mean {self.mean:.3f} ({interval}), {rewards}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
