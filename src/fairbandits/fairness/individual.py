"""Individual fairness: the gap between a user and a twin who differs only in the sensitive attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness.gaps import Gap, no_gap
from fairbandits.fairness.group_rewards import as_range
from fairbandits.fairness.moments import Moments
from fairbandits.statistics.confidence_sequence import confidence_radius
from fairbandits.views import html
from fairbandits.views.text import counted

Floats = NDArray[np.float64]

# The resolution of quantiles: the number of equal steps into which the reward range is divided.
_STEPS = 1000


class IndividualGaps:
    """The gaps between users and their twins, as a stream.

    A user's twin is the same user with another value of the sensitive attribute. The gap of a user is the absolute
    difference between two expected rewards: the user's from the arm that the user gets, and the twin's from the
    arm that the twin would get. Groups can be equal although users are not: one woman may gain what another loses.

    Gaps are stored as sums, so that records can be merged; quantiles are accurate to a thousandth of the range.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and the highest possible reward. Predictions outside this range are clipped.

    Attributes
    ----------
    count : int
        The number of users.
    largest : float
        The largest gap of a user, 0 before the first one.

    Examples
    --------
    >>> gaps = IndividualGaps()
    >>> gaps.add(0.9, 0.6)
    >>> gaps.add([0.5, 0.5, 0.8], [0.5, 0.5, 0.7])
    >>> print(gaps)
    4 users: mean gap 0.100 (95% CI 0.000 to 1.000), median 0.000, 90th percentile 0.300, largest 0.300
    """

    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        self.reward_range = as_range(reward_range)
        self.count = 0
        self.largest = 0.0
        self._moments = Moments(0.0)
        self._moments.resize(n_groups=1, n_arms=1)
        self._counts = np.zeros(_STEPS)
        self._sums = np.zeros(_STEPS)

    def add(self, own: Any, twin: Any) -> None:
        """Record the expected rewards of one user or many, and those of their twins.

        Parameters
        ----------
        own, twin : float or array-like of shape (n_users,)
            The true expected rewards if they are known, otherwise predicted ones.
        """
        low, high = self.reward_range
        ours, theirs = (np.clip(_as_rewards(name, r), low, high) for name, r in (("own", own), ("twin", twin)))
        if ours.shape != theirs.shape:
            raise ValueError(f"twin must have one entry per user, got {theirs.size} for {ours.size} user(s)")
        if not ours.size:
            return
        gaps = np.abs(ours - theirs)
        steps = np.minimum((gaps / self._span * _STEPS).astype(np.int64), _STEPS - 1)
        self._counts += np.bincount(steps, minlength=_STEPS)
        self._sums += np.bincount(steps, gaps, minlength=_STEPS)
        self._moments.merge_cell(0, 0, gaps.size, float(gaps.mean()), float(np.square(gaps - gaps.mean()).sum()))
        self.largest = max(self.largest, float(gaps.max()))
        self.count += gaps.size

    def merge(self, other: IndividualGaps) -> None:
        """Add another record."""
        if other.reward_range != self.reward_range:
            raise ValueError(
                f"records must have the same reward_range to merge, got {self.reward_range} and "
                f"{other.reward_range}"
            )
        self._counts += other._counts
        self._sums += other._sums
        self._moments.merge_cell(0, 0, *other._moments.cell(0, 0))
        self.largest = max(self.largest, other.largest)
        self.count += other.count

    def mean(self, confidence: float = 0.95) -> Gap:
        """Return the mean gap of the users, with an anytime-valid confidence interval."""
        count, mean, m2 = self._moments.cell(0, 0)
        radius = float(confidence_radius(count, m2, confidence, self._span))
        low, high = max(0.0, mean - radius), min(self._span, mean + radius)
        return no_gap(mean, low, high, confidence)

    def quantile(self, share: float) -> float:
        """Return the gap that this share of the users does not exceed."""
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share must be a number from 0 to 1, got {share!r}")
        if not self.count:
            raise ValueError("a quantile needs at least one user, got none; add some first")
        # Shares such as 0.9 are not exact in binary, but 0.9 of 10 users must be 9.
        nth = max(1.0, np.ceil(share * self.count - 1e-9))
        step = int(np.searchsorted(np.cumsum(self._counts), nth))
        # Return the mean gap within the step, which is exact if its gaps are equal, as for users without a gap.
        return float(self._sums[step] / self._counts[step])

    def __repr__(self) -> str:
        return f"<IndividualGaps of {counted(self.count, 'user')}>"

    def _repr_html_(self) -> str:
        return html.card("Individual gaps", str(self))

    def __str__(self) -> str:
        if not self.count:
            return "no users yet"
        mean = self.mean()
        return (
            f"{counted(self.count, 'user')}: "
            f"mean gap {mean:.3f} ({mean.confidence:.0%} CI {mean.low:.3f} to {mean.high:.3f}), "
            f"median {self.quantile(0.5):.3f}, 90th percentile {self.quantile(0.9):.3f}, "
            f"largest {self.largest:.3f}"
        )

    @property
    def _span(self) -> float:
        return self.reward_range[1] - self.reward_range[0]


def _as_rewards(name: str, rewards: Any) -> Floats:
    try:
        values = np.atleast_1d(np.asarray(rewards, np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or a list of numbers, one per user, got {rewards!r}") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite numbers, one per user, got {rewards!r}")
    return values
