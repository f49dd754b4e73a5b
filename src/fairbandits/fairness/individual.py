"""Individual fairness: does a user fare as a twin who differs in the sensitive attribute alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.gaps import Gap
from fairbandits.fairness.group_rewards import as_range
from fairbandits.fairness.moments import Moments
from fairbandits.statistics.confidence_sequence import confidence_radius

Floats = NDArray[np.float64]

# How finely quantiles are told apart: they are off by less than this part of the range of rewards.
_STEPS = 1000


class IndividualGaps:
    """How far users and their twins are apart, over the users seen, as a stream.

    A user's twin is the same user with another value of the sensitive attribute. The gap of a user is the
    absolute difference of the two rewards that are to be expected: of the arm that the user gets, and of the arm
    that the twin would get. Groups can be level while users are not: what one woman loses another may gain.

    Gaps are kept as sums, so that records merge; quantiles are exact to a thousandth of the range.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and the highest possible reward. A model may predict beyond them; that counts as the
        nearest reward there is.

    Attributes
    ----------
    count : int
        How many users were seen.
    largest : float
        The largest gap of a user, 0 before the first one.

    Examples
    --------
    >>> gaps = IndividualGaps()
    >>> gaps.add(0.9, 0.6)
    >>> gaps.add([0.5, 0.5, 0.8], [0.5, 0.5, 0.7])
    >>> print(gaps)
    4 users: mean gap 0.100 (95%: 0.000 to 1.000), half at most 0.000, nine in ten at most 0.300, largest 0.300
    """

    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        self.reward_range = as_range(reward_range)
        self.count = 0
        self.largest = 0.0
        self._moments = Moments(0.0)
        self._moments.lengthen(1)
        self._moments.widen(1)
        self._counts = np.zeros(_STEPS)
        self._sums = np.zeros(_STEPS)

    def add(self, own: Any, twin: Any) -> None:
        """Record one user, or many: the reward to expect for each, and for each one's twin.

        Parameters
        ----------
        own, twin : float or array-like of shape (n_users,)
            True expected rewards where they are known, or predicted ones.
        """
        low, high = self.reward_range
        ours, theirs = (np.clip(_as_rewards(name, r), low, high) for name, r in (("own", own), ("twin", twin)))
        if ours.shape != theirs.shape:
            raise ValueError(f"got {ours.size} user(s) and {theirs.size} twin(s); give one twin for each user")
        if not ours.size:
            return
        gaps = np.abs(ours - theirs)
        steps = np.minimum((gaps / self._span * _STEPS).astype(np.int64), _STEPS - 1)
        self._counts += np.bincount(steps, minlength=_STEPS)
        self._sums += np.bincount(steps, gaps, minlength=_STEPS)
        self._moments.absorb(0, 0, gaps.size, float(gaps.mean()), float(np.square(gaps - gaps.mean()).sum()))
        self.largest = max(self.largest, float(gaps.max()))
        self.count += gaps.size

    def merge(self, other: IndividualGaps) -> None:
        """Add all that another record holds."""
        if other.reward_range != self.reward_range:
            raise ValueError(
                f"records of different reward ranges do not add up: {self.reward_range} and {other.reward_range}"
            )
        self._counts += other._counts
        self._sums += other._sums
        self._moments.absorb(0, 0, *other._moments.cell(0, 0))
        self.largest = max(self.largest, other.largest)
        self.count += other.count

    def mean(self, confidence: float = 0.95) -> Gap:
        """Give the mean gap of the users seen, with an interval that holds at all times at once."""
        count, mean, m2 = self._moments.cell(0, 0)
        radius = float(confidence_radius(count, m2, confidence, self._span))
        low, high = max(0.0, mean - radius), min(self._span, mean + radius)
        return Gap(mean, low=low, high=high, confidence=confidence, attribute="", ahead=None, behind=None)

    def quantile(self, share: float) -> float:
        """Give the gap that this share of the users seen do not exceed."""
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share is a part of the users, from 0 to 1; got {share!r}")
        if not self.count:
            raise ValueError("no users have been seen yet; add some first")
        # Shares such as 0.9 are no binary fractions: 0.9 of 10 users are 9.
        nth = max(1.0, np.ceil(share * self.count - 1e-9))
        step = int(np.searchsorted(np.cumsum(self._counts), nth))
        # The mean of the step: exact where the gaps in it are equal, as those of users without a gap are.
        return float(self._sums[step] / self._counts[step])

    def __str__(self) -> str:
        if not self.count:
            return "no users yet"
        mean = self.mean()
        return (
            f"{self.count:,} user{'' if self.count == 1 else 's'}: "
            f"mean gap {mean:.3f} ({mean.confidence:.0%}: {mean.low:.3f} to {mean.high:.3f}), "
            f"half at most {self.quantile(0.5):.3f}, nine in ten at most {self.quantile(0.9):.3f}, "
            f"largest {self.largest:.3f}"
        )

    @property
    def _span(self) -> float:
        return self.reward_range[1] - self.reward_range[0]


def _as_rewards(name: str, rewards: Any) -> Floats:
    try:
        values = np.atleast_1d(np.asarray(rewards, np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or a list of numbers, one per user; got {rewards!r}") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite numbers, one per user; got {rewards!r}")
    return values
