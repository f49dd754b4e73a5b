"""The streaming record of who got what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, ArmIndex, as_arm
from fairbandits.categorical import Categorical
from fairbandits.fairness.gaps import Gap, GroupSummary
from fairbandits.fairness.groups import Group, GroupKey, GroupValue, as_group
from fairbandits.fairness.moments import Moments
from fairbandits.statistics.confidence_sequence import confidence_radius

Floats = NDArray[np.float64]

# Squares of larger rewards leave the range of a float64 soon.
_LARGEST = 1e50


class GroupRewards:
    """Counts, means and variances of the rewards of each group, and of each group from each arm.

    Any number of attributes with any number of values each; a reward costs the same however many came
    before. Users without a group are simply not in it.

    Every gap comes with an anytime-valid interval (see `fairbandits.statistics.confidence_sequence`),
    for all groups that are compared together.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and the highest possible reward. A group without rewards has the lowest as its mean.
    arms : ArmIndex, optional
        Where the rows of the arms are looked up, when somebody else keeps it.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for reward in (0.5, 0.7):
    ...     groups.add(reward, group="female", arm="algebra")
    >>> groups.add(0.9, group="male", arm="algebra")
    >>> round(groups.gap(), 3), groups.worst_off().group
    (0.3, 'female')
    >>> print(groups)
    group female: mean 0.600 (95%: 0.000 to 1.000), 2 rewards
    group male: mean 0.900 (95%: 0.000 to 1.000), 1 reward
    """

    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0), arms: ArmIndex | None = None) -> None:
        self.reward_range = as_range(reward_range)
        self._arms = ArmIndex() if arms is None else arms
        self._number: dict[str, dict[GroupValue, int]] = {}
        self._names: list[tuple[str, GroupValue]] = []
        # The attribute of each group, by number.
        self.attribute_of: NDArray[np.int64] = np.empty(0, np.int64)
        # Both tables always have a line for every group and a column for every row that was given out.
        self._totals = Moments(self.reward_range[0])
        self._totals.widen(1)
        self._by_arm = Moments(self.reward_range[0])
        # How many rewards each group had before the last restart.
        self._before: Floats = np.empty(0)

    # -- recording -------------------------------------------------------------------------------------

    def add(self, reward: float, group: Group, arm: ArmId | None = None) -> None:
        """Record one reward."""
        value, key = as_reward(reward, self.reward_range), as_group(group)
        self.record(value, key, -1 if arm is None else self._arms.claim(as_arm(arm)))

    def record(self, reward: float, key: GroupKey, row: int) -> None:
        """Record one reward that has been checked; row -1 stands for no arm."""
        self._by_arm.widen(row + 1)
        for attribute, value in key:
            self._totals.add_in_all(self._by_arm, self._claim(attribute, value), row, reward)

    def record_slate(self, gain: float, key: GroupKey, items: Sequence[tuple[int, float]]) -> None:
        """Record what a user gained from several arms at once, checked before.

        The user's groups count one gain, however many arms there were; each arm counts its own reward.

        Parameters
        ----------
        gain : float
            What the user gained in all.
        key : tuple
            The user's groups.
        items : sequence of (row, reward)
            The rewards of the arms; row -1 stands for no arm.
        """
        self._by_arm.widen(1 + max((row for row, _ in items), default=-1))
        for attribute, value in key:
            number = self._claim(attribute, value)
            self._totals.add(number, 0, gain)
            for row, reward in items:
                if row >= 0:
                    self._by_arm.add(number, row, reward)

    def record_many(self, rewards: Floats, groups: Mapping[str, Categorical], rows: NDArray[np.int64]) -> None:
        """Record many rewards that have been checked: the users' groups by attribute, and the rows of the arms."""
        self._by_arm.widen(1 + int(rows.max(initial=-1)))
        # Groups are numbered in the order in which they appear, as if rewards had come one by one.
        first = [(row, name, value) for name, coded in groups.items() for row, value in coded.first_rows()]
        for _, attribute, value in sorted(first, key=lambda found: found[0]):
            self._claim(attribute, value)
        for attribute, coded in groups.items():
            lines = coded.renumbered(self._number.get(attribute, {}))
            self._totals.add_many(lines, np.zeros_like(lines), rewards)
            self._by_arm.add_many(lines, rows, rewards)

    def restart(self) -> None:
        """Start the means of the groups anew; what each arm gave each group stays.

        Intervals start anew as well: each stretch between two restarts may fail with its own 5%.
        """
        self._before = self._before + self.counts
        self._totals.blank(...)

    def forget_row(self, row: int) -> None:
        """Drop what an arm gave each group; what the groups received in all stays."""
        self._by_arm.blank((slice(None), row))

    def merge(self, other: GroupRewards) -> None:
        """Add all that another record holds."""
        if other.reward_range != self.reward_range:
            raise ValueError(
                f"records of different reward ranges do not add up: {self.reward_range} and {other.reward_range}"
            )
        theirs = np.fromiter(other._arms.rows.values(), np.int64, len(other._arms))
        ours = np.fromiter((self._arms.claim(arm) for arm in other._arms.rows), np.int64, len(other._arms))
        self._by_arm.widen(1 + int(ours.max(initial=-1)))
        for line, (attribute, value) in enumerate(other._names):
            number = self._claim(attribute, value)
            self._totals.absorb(number, 0, *other._totals.cell(line, 0))
            self._by_arm.absorb_line(number, ours, *other._by_arm.line(line, theirs))
            self._before[number] += other._before[line]

    # -- asking ----------------------------------------------------------------------------------------

    @property
    def attributes(self) -> dict[str, tuple[GroupValue, ...]]:
        """The groups seen so far, by attribute, in the order of their first reward."""
        return {attribute: tuple(values) for attribute, values in self._number.items()}

    def summaries(self, attribute: str | None = None, confidence: float = 0.95) -> list[GroupSummary]:
        """Give every group's count, mean, variance and interval; all intervals hold together."""
        numbers = self._numbers(attribute)
        radius = self._radius(self._totals, numbers, 0, confidence)
        low, high = self.reward_range
        summaries = []
        for number, r in zip(numbers, radius, strict=True):
            count, mean, m2 = self._totals.cell(number, 0)
            variance = m2 / (count - 1.0) if count > 1.0 else math.nan
            bounds = (max(low, mean - float(r)), min(high, mean + float(r))) if count else (low, high)
            summaries.append(GroupSummary(*self._names[number], int(count), mean, variance, *bounds, confidence))
        return summaries

    def __str__(self) -> str:
        """Write who stands where, a line for each group, the worst off of each attribute first."""
        summaries = sorted(self.summaries(), key=lambda s: (s.attribute, s.mean))
        return "\n".join(map(str, summaries)) or "no rewards yet"

    def worst_off(self, attribute: str | None = None, confidence: float = 0.95) -> GroupSummary | None:
        """Give the standing of the group with the lowest mean reward; None before the first reward."""
        served = [s for s in self.summaries(attribute, confidence) if s.count]
        return min(served, key=lambda s: s.mean, default=None)

    def gap(self, attribute: str | None = None, confidence: float = 0.95) -> Gap:
        """Say how far apart the groups are: highest mean reward minus lowest.

        Parameters
        ----------
        attribute : str, optional
            The attribute whose groups to compare; left out, the one with the widest difference.
        confidence : float
            The probability with which the interval holds at all times.
        """
        pairs = self._extremes(attribute, confidence)
        if not pairs:
            return _no_gap(0.0, 0.0, self._span, confidence)
        gaps = []
        for best, worst, peers in pairs:
            # The true range is at least what the intervals force and at most what they allow.
            low = max(0.0, max(s.low for s in peers) - min(s.high for s in peers))
            high = max(s.high for s in peers) - min(s.low for s in peers)
            gaps.append(_gap(best.mean - worst.mean, low, high, best, worst))
        return max(gaps)

    def ratio(self, attribute: str | None = None, confidence: float = 0.95) -> Gap:
        """Give the lowest mean reward of a group divided by the highest; 1 is equal."""
        if self.reward_range[0] < 0.0:
            raise ValueError(
                f"a ratio needs rewards that are not negative; the range is {self.reward_range}. Use gap()"
            )
        pairs = self._extremes(attribute, confidence)
        if not pairs:
            return _no_gap(1.0, 0.0, 1.0, confidence)
        ratios = []
        for best, worst, peers in pairs:
            low = _divide(min(s.low for s in peers), max(s.high for s in peers))
            high = min(1.0, _divide(min(s.high for s in peers), max(s.low for s in peers)))
            ratios.append(_gap(_divide(worst.mean, best.mean), low, high, best, worst))
        return min(ratios)

    def arm_bias(self, arm: ArmId, attribute: str | None = None, confidence: float = 0.95) -> Gap:
        """Say how much more an arm gave the group that is ahead than the group that is behind.

        The interval is for this one arm: of a hundred arms, five may be wrong.
        Negative where the arm favours the group behind. A group that never received the arm counts with
        the lowest possible reward, as in the paper; the interval then shows that nothing is known.
        """
        if arm not in self._arms:
            raise ValueError(f"no reward of arm {arm!r} has been recorded; arms with rewards: {len(self._arms)}")
        low, high = self.reward_range
        pairs = self._extremes(attribute, confidence)
        if not pairs:
            return _no_gap(0.0, low - high, high - low, confidence)
        best, worst, _ = max(pairs, key=lambda pair: pair[0].mean - pair[1].mean)
        row = self._arms.rows[arm]
        # Any two groups of the attribute might have been the ones ahead and behind, so all of them count.
        numbers = self._numbers(best.attribute)
        radius = dict(zip(numbers, self._radius(self._by_arm, numbers, row, confidence).tolist(), strict=True))
        pair = [self._number[s.attribute][s.group] for s in (best, worst)]
        (n_best, mean_best, _), (n_worst, mean_worst, _) = (self._by_arm.cell(n, row) for n in pair)
        bias = mean_best - mean_worst
        reach = sum(radius[n] for n in pair) if n_best and n_worst else 2.0 * (high - low)
        return _gap(bias, max(low - high, bias - reach), min(high - low, bias + reach), best, worst)

    # -- for the terms that fairness adds to a score ---------------------------------------------------

    @property
    def means(self) -> Floats:
        """The mean reward of each group, in the order of `attribute_of`."""
        return self._totals.mean[:, 0]

    @property
    def counts(self) -> Floats:
        """The number of rewards of each group since the last restart, in the order of `attribute_of`."""
        return self._totals.count[:, 0]

    @property
    def arm_counts(self) -> Floats:
        """The number of rewards of each group (down) from each arm's row (across); the last column is no arm."""
        return self._by_arm.count

    def rounds_of(self, attribute: str, value: GroupValue) -> float:
        """Give in how many rounds a group received something, restarts or not."""
        number = self._number.get(attribute, {}).get(value)
        return 0.0 if number is None else float(self._before[number] + self._totals.count[number, 0])

    def numbers_of(self, key: GroupKey) -> list[int]:
        """Find the numbers of a user's groups, of those that have received something."""
        found = (self._number.get(attribute, {}).get(value) for attribute, value in key)
        return [number for number in found if number is not None]

    @property
    def arm_means(self) -> Floats:
        """The mean reward of each group (down) from each arm's row (across); the last column is no arm."""
        return self._by_arm.mean

    # -- keeping ---------------------------------------------------------------------------------------

    def to_json(self) -> list[list[Any]]:
        """Give the names of the groups as plain lists."""
        return [list(name) for name in self._names]

    def arrays(self) -> dict[str, Floats]:
        """Give the numbers as arrays."""
        tables = {
            f"{name}.{part}": array
            for name, table in (("totals", self._totals), ("by_arm", self._by_arm))
            for part, array in table.arrays().items()
        }
        return {"before": self._before, **tables}

    def restore(self, names: list[list[Any]], arrays: dict[str, Any]) -> None:
        """Take the state from what `to_json` and `arrays` gave."""
        for attribute, value in names:
            self._claim(attribute, value)
        for table, name, n_arms in ((self._totals, "totals", 1), (self._by_arm, "by_arm", self._arms.n_rows)):
            parts = {part: arrays[f"{name}.{part}"] for part in Moments.PARTS}
            table.restore(parts, len(self._names), n_arms)
        if arrays["before"].shape != self._before.shape:
            raise ValueError(f"before of the group rewards has shape {arrays['before'].shape}")
        self._before = np.array(arrays["before"], float)

    @property
    def _span(self) -> float:
        return self.reward_range[1] - self.reward_range[0]

    # -- inside ----------------------------------------------------------------------------------------

    def _claim(self, attribute: str, value: GroupValue) -> int:
        values = self._number.setdefault(attribute, {})
        number = values.get(value)
        if number is None:
            number = values[value] = len(self._names)
            self._names.append((attribute, value))
            self.attribute_of = np.append(self.attribute_of, list(self._number).index(attribute))
            self._before = np.append(self._before, 0.0)
            self._totals.lengthen(number + 1)
            self._by_arm.lengthen(number + 1)
        return number

    def _numbers(self, attribute: str | None) -> list[int]:
        if attribute is None:
            return list(range(len(self._names)))
        if attribute not in self._number:
            raise ValueError(f"no rewards by {attribute!r} have been recorded; attributes: {list(self._number)}")
        return list(self._number[attribute].values())

    def _radius(self, table: Moments, numbers: list[int], column: int, confidence: float) -> Floats:
        """Half-widths for several cells such that all intervals together hold with the confidence.

        The k-th group to appear may fail with 1 / (k (k + 1)) of what may fail in all: that sums to at most the
        whole however many groups there will be, and no interval changes when another group comes.
        """
        return np.array(
            [
                confidence_radius(count, m2, 1.0 - (1.0 - confidence) / (k * (k + 1)), self._span)
                for k, (count, _, m2) in enumerate((table.cell(number, column) for number in numbers), start=1)
            ]
        )

    def _extremes(
        self, attribute: str | None, confidence: float
    ) -> list[tuple[GroupSummary, GroupSummary, list[GroupSummary]]]:
        """For each attribute with two groups that received something: the best, the worst, and all of them."""
        by_attribute: dict[str, list[GroupSummary]] = {}
        for standing in self.summaries(attribute, confidence):
            if standing.count:
                by_attribute.setdefault(standing.attribute, []).append(standing)
        return [
            (max(peers, key=lambda s: s.mean), min(peers, key=lambda s: s.mean), peers)
            for peers in by_attribute.values()
            if len(peers) > 1
        ]


def as_range(reward_range: Any) -> tuple[float, float]:
    """Check a range of rewards."""
    try:
        low, high = (float(bound) for bound in reward_range if not isinstance(bound, str))
    except (TypeError, ValueError):
        raise ValueError(f"reward_range is a pair (lowest, highest); got {reward_range!r}") from None
    if not -_LARGEST < low < high < _LARGEST:
        raise ValueError(
            f"reward_range needs two numbers below {_LARGEST:g} in size, the lower one first; got {reward_range!r}"
        )
    return low, high


def as_reward(reward: Any, reward_range: tuple[float, float]) -> float:
    """Check a reward."""
    low, high = reward_range
    try:
        value = float(reward)
    except (TypeError, ValueError):
        raise ValueError(f"reward must be a number; got {reward!r} of type {type(reward).__name__}") from None
    if not low <= value <= high:
        raise ValueError(
            f"reward must lie in [{low:g}, {high:g}]; got {reward!r}. "
            "Rescale it, or declare the range: reward_range=(lowest, highest)"
        )
    return value


def _gap(value: float, low: float, high: float, best: GroupSummary, worst: GroupSummary) -> Gap:
    return Gap(
        value,
        low=low,
        high=high,
        confidence=best.confidence,
        attribute=best.attribute,
        ahead=best.group,
        behind=worst.group,
    )


def _no_gap(value: float, low: float, high: float, confidence: float) -> Gap:
    return Gap(value, low=low, high=high, confidence=confidence, attribute="", ahead=None, behind=None)


def _divide(part: float, whole: float) -> float:
    # Two groups that both received nothing are equal.
    return part / whole if whole > 0.0 else 1.0
