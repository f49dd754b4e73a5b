"""Streaming statistics of the rewards of each group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, ArmIndex, as_arm
from fairbandits.categorical import Categorical
from fairbandits.fairness.gaps import Gap, GroupSummary, extremes, gap_between, lowest_ratio, no_gap, widest_gap
from fairbandits.fairness.groups import Group, GroupKey, GroupValue, as_group
from fairbandits.fairness.moments import Moments, add_reward
from fairbandits.fairness.notebook import groups_html, plot_groups
from fairbandits.locks import SharedLock, hold
from fairbandits.parameters import LARGEST
from fairbandits.statistics.confidence_sequence import confidence_radius
from fairbandits.views.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


class GroupRewards:
    """Counts, means and variances of the rewards of each group, overall and by arm.

    There may be any number of attributes and values; recording a reward takes constant time. Users whose group is
    unknown are left out.

    Gaps have anytime-valid confidence intervals (see `fairbandits.statistics.confidence_sequence`), which are
    simultaneous over the groups being compared. Computing an interval takes several times as long as choosing an
    arm. The arrays listed below cost nothing to read, `mean_of` is a lookup in one of them, and
    `gap(confidence=None)` computes no interval. While other threads learn, the entries of the arrays may date from
    different moments.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and the highest possible reward. The mean of a group without rewards is the lowest possible
        reward.
    arms : ArmIndex, optional
        A policy's mapping from arm ids to numbers; by default, a new mapping.
    lock : SharedLock, optional
        The lock of the policy that the record belongs to; by default, a new lock. Several threads may add to a
        record and read it; callers of `record`, `record_slate` and `record_many` must hold the lock.

    Attributes
    ----------
    means, counts, squared_deviations : arrays of shape (n_groups,)
        For each group, the mean reward, the number of rewards, and the sum of the squared deviations of rewards
        from the mean, all since the last restart.
    arm_means, arm_counts : arrays of shape (n_groups, n_arms + 1)
        For each group, the mean reward and the number of rewards by arm; the last column is for arms without
        rewards.
    attribute_of : array of int, shape (n_groups,)
        The index of the attribute of each group.

    Examples
    --------
    >>> groups = GroupRewards()
    >>> for reward in (0.5, 0.7):
    ...     groups.add(reward, group="female", arm="algebra")
    >>> groups.add(0.9, group="male", arm="algebra")
    >>> round(groups.gap(), 3), groups.worst_off().group
    (0.3, 'female')
    >>> print(groups)
    group female: mean 0.600 (95% CI 0.000 to 1.000), 2 rewards
    group male: mean 0.900 (95% CI 0.000 to 1.000), 1 reward
    """

    def __init__(
        self,
        reward_range: tuple[float, float] = (0.0, 1.0),
        arms: ArmIndex | None = None,
        lock: SharedLock | None = None,
    ) -> None:
        self._lock = SharedLock() if lock is None else lock
        self.reward_range = as_range(reward_range)
        self._arms = ArmIndex() if arms is None else arms
        self._number: dict[str, dict[GroupValue, int]] = {}
        self._names: list[tuple[str, GroupValue]] = []
        self.attribute_of: NDArray[np.int64] = np.empty(0, np.int64)
        # Both tables always have a row for every group, and the second table has a column for every arm that has a
        # number.
        self._totals = Moments(self.reward_range[0])
        self._totals.resize(n_arms=1)
        self._by_arm = Moments(self.reward_range[0])
        # The number of rewards of each group before the last restart.
        self._before: Floats = np.empty(0)
        self._collect()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._collect()  # copying and pickling turn views of the tables into separate arrays

    def _collect(self) -> None:
        """Refresh the references to the arrays of both tables; must be called whenever these are replaced."""
        totals, by_arm = self._totals, self._by_arm
        self._tables = totals.count, totals.mean, totals.m2, by_arm.count, by_arm.mean, by_arm.m2
        self._n_arms = by_arm.n_arms
        self.means, self.counts = totals.mean[:, 0], totals.count[:, 0]
        self.squared_deviations = totals.m2[:, 0]
        self.arm_means, self.arm_counts = by_arm.mean, by_arm.count

    # -- recording -------------------------------------------------------------------------------------

    def add(self, reward: float, group: Group, arm: ArmId | None = None) -> None:
        """Record one reward."""
        with self._lock:
            value, key = as_reward(reward, self.reward_range), as_group(group)
            self.record(value, key, -1 if arm is None else self._arms.claim(as_arm(arm)))

    def record(self, reward: float, key: GroupKey, arm: int) -> None:
        """Record one validated reward, given the number of its arm; -1 means no arm."""
        if arm >= self._n_arms:
            self._add_arms(arm + 1)
        for attribute, value in key:
            group = self._claim(attribute, value)  # may replace the tables
            add_reward(*self._tables, group, arm, reward)

    def record_slate(self, reward: float, key: GroupKey, items: Sequence[tuple[int, float]]) -> None:
        """Record the validated rewards that a user received from several arms at once.

        One reward in total is recorded for each of the user's groups, no matter how many arms there were; each
        arm's own reward is recorded separately.

        Parameters
        ----------
        reward : float
            The user's overall reward.
        key : tuple
            The user's groups.
        items : sequence of (arm, reward)
            The number of each arm, or -1 for no arm, with the reward of that arm.
        """
        self._add_arms(1 + max((arm for arm, _ in items), default=-1))
        for attribute, value in key:
            number = self._claim(attribute, value)
            self._totals.add(number, 0, reward)
            for arm, each in items:
                if arm >= 0:
                    self._by_arm.add(number, arm, each)

    def record_many(self, rewards: Floats, groups: Mapping[str, Categorical], arms: NDArray[np.int64]) -> None:
        """Record many validated rewards, given the groups by attribute and the arm numbers (-1 for no arm)."""
        self._add_arms(1 + int(arms.max(initial=-1)))
        # Groups are numbered in the order in which they appear, as if rewards had arrived one by one.
        first = [(row, name, value) for name, column in groups.items() for row, value in column.first_rows()]
        for _, attribute, value in sorted(first, key=lambda found: found[0]):
            self._claim(attribute, value)
        for attribute, column in groups.items():
            numbers = column.recoded(self._number.get(attribute, {}))
            self._totals.add_many(numbers, np.zeros_like(numbers), rewards)
            self._by_arm.add_many(np.where(arms < 0, -1, numbers), arms, rewards)

    def number_groups(self, keys: Iterable[GroupKey]) -> None:
        """Assign numbers to groups that have none, in the order of the users' keys."""
        for key in keys:
            for attribute, value in key:
                self._claim(attribute, value)

    def restart(self) -> None:
        """Restart the group means; each group's statistics by arm are kept.

        Intervals also restart: each period between two restarts has its own error probability of 5%.
        """
        with self._lock:
            self._before = self._before + self.counts
            self._totals.clear(...)

    def forget_arm(self, arm: int) -> None:
        """Drop the rewards that each group received from an arm; the groups' totals are kept."""
        with self._lock:
            self._by_arm.clear((slice(None), arm))

    def merge(self, other: GroupRewards) -> None:
        """Add the rewards of another record."""
        if other.reward_range != self.reward_range:
            raise ValueError(
                f"records must have the same reward_range to merge, got {self.reward_range} and "
                f"{other.reward_range}"
            )
        with hold(self._lock, other._lock):
            theirs = np.fromiter(other._arms.rows.values(), np.int64, len(other._arms))
            ours = np.fromiter((self._arms.claim(arm) for arm in other._arms.rows), np.int64, len(other._arms))
            self._add_arms(1 + int(ours.max(initial=-1)))
            for row, (attribute, value) in enumerate(other._names):
                number = self._claim(attribute, value)
                self._totals.merge_cell(number, 0, *other._totals.cell(row, 0))
                self._by_arm.merge_row(number, ours, *other._by_arm.row(row, theirs))
                self._before[number] += other._before[row]

    # -- reading ---------------------------------------------------------------------------------------

    @property
    def lock(self) -> SharedLock:
        """The lock to hold while reading several arrays that must reflect the same moment."""
        return self._lock

    @property
    def attributes(self) -> dict[str, tuple[GroupValue, ...]]:
        """The groups seen so far, by attribute, in the order of their first reward."""
        with self._lock:
            return {attribute: tuple(values) for attribute, values in self._number.items()}

    def summaries(self, attribute: str | None = None, confidence: float = 0.95) -> list[GroupSummary]:
        """Return every group's count, mean, variance and confidence interval; the intervals are simultaneous."""
        with self._lock:
            named = [(self._names[number], self._totals.cell(number, 0)) for number in self._numbers(attribute)]
        # Computing intervals is slow; with the lock released, other threads can learn in the meantime.
        radius = self._radius([cell for _, cell in named], confidence)
        low, high = self.reward_range
        summaries = []
        for (name, (count, mean, m2)), r in zip(named, radius, strict=True):
            variance = m2 / (count - 1.0) if count > 1.0 else math.nan
            bounds = (max(low, mean - float(r)), min(high, mean + float(r))) if count else (low, high)
            summaries.append(GroupSummary(*name, int(count), mean, variance, *bounds, confidence))
        return summaries

    def __repr__(self) -> str:
        n_groups, n_attributes = len(self._names), len(self._number)
        return f"<GroupRewards: {counted(n_groups, 'group')}, {counted(n_attributes, 'attribute')}>"

    def _repr_html_(self) -> str:
        return groups_html(self)

    def plot(self, ax: Axes | None = None, *, attribute: str | None = None, confidence: float = 0.95) -> Axes:
        """Plot the mean reward of each group with its confidence interval, and the gap; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            The axes to draw on; by default those of a new figure.
        attribute : str, optional
            The attribute whose groups are plotted; by default all attributes.
        confidence : float
            The confidence level of the intervals, which are anytime-valid.
        """
        return plot_groups(self, ax, attribute, confidence)

    def __str__(self) -> str:
        """Return one line per group, with the worst-off group of each attribute first."""
        summaries = sorted(self.summaries(), key=lambda s: (s.attribute, s.mean))
        return "\n".join(map(str, summaries)) or "no rewards yet"

    def worst_off(self, attribute: str | None = None, confidence: float = 0.95) -> GroupSummary | None:
        """Return the summary of the group with the lowest mean reward; None before the first reward."""
        served = [s for s in self.summaries(attribute, confidence) if s.count]
        return min(served, key=lambda s: s.mean, default=None)

    def mean_of(self, attribute: str, value: GroupValue) -> float:
        """Return the mean reward of a group (its entry in `means`); this is fast enough for use in every round.

        The mean of a group without rewards is the lowest possible reward.

        Examples
        --------
        >>> groups = GroupRewards()
        >>> groups.add(0.5, {"sex": "female"})
        >>> groups.mean_of("sex", "female"), groups.mean_of("sex", "male")
        (0.5, 0.0)
        """
        with self._lock:
            number = self._number.get(attribute, {}).get(value)
            return self.reward_range[0] if number is None else self.means.item(number)

    def gap(self, attribute: str | None = None, confidence: float | None = 0.95) -> Gap:
        """Return the reward gap: the highest mean reward of a group minus the lowest.

        This is the difference in mean reward, i.e. demographic parity of rewards.

        Parameters
        ----------
        attribute : str, optional
            The attribute whose groups are compared; by default the one with the widest gap.
        confidence : float or None
            The confidence level of the interval, which is anytime-valid. With None, no interval is computed, which
            is much faster; `low`, `high` and `confidence` of the gap are then NaN.

        Examples
        --------
        >>> groups = GroupRewards()
        >>> groups.add(0.5, "female")
        >>> groups.add(0.75, "male")
        >>> groups.gap(confidence=None)
        Gap(0.25, low=nan, high=nan, confidence=nan, attribute='group', advantaged='male', disadvantaged='female')
        """
        if confidence is None:
            with self._lock:
                return self._gap_alone(attribute)
        return widest_gap(extremes(self.summaries(attribute, confidence)), self._span, confidence)

    def _gap_alone(self, attribute: str | None) -> Gap:
        """Return the widest gap without its interval."""
        if attribute is not None:
            self._numbers(attribute)  # raises ValueError for an unknown attribute
        means, counts = self.means.tolist(), self.counts.tolist()
        widest = -1.0
        extreme: tuple[str, GroupValue | None, GroupValue | None] = ("", None, None)
        for name, numbers in self._number.items():
            served = [(means[n], -n, value) for value, n in numbers.items() if counts[n]]
            if len(served) < 2 or attribute not in {None, name}:
                continue
            # Among groups with equal means, the first is taken to have the highest mean, and the last to have
            # the lowest (see `extremes`).
            best, worst = max(served), min(served)
            if best[0] - worst[0] > widest:
                widest, extreme = best[0] - worst[0], (name, best[2], worst[2])
        found, advantaged, disadvantaged = extreme
        return Gap(
            max(widest, 0.0),
            low=math.nan,
            high=math.nan,
            confidence=math.nan,
            attribute=found,
            advantaged=advantaged,
            disadvantaged=disadvantaged,
        )

    def ratio(self, attribute: str | None = None, confidence: float = 0.95) -> Gap:
        """Return the lowest mean reward of a group divided by the highest; 1 means equality."""
        if self.reward_range[0] < 0.0:
            raise ValueError(f"reward_range must be non-negative for a ratio, got {self.reward_range}; use gap()")
        return lowest_ratio(extremes(self.summaries(attribute, confidence)), confidence)

    def arm_bias(self, arm: ArmId, attribute: str | None = None, confidence: float = 0.95) -> Gap:
        """Return how much more reward, on average, an arm gave the advantaged group than the disadvantaged one.

        The result is negative if the arm favours the disadvantaged group. The mean of a group that never received
        the arm is taken to be the lowest possible reward, as in Fair-LinUCB (Huang et al. 2020); the interval
        then spans all possible values. The interval holds for this arm alone: of the 95% intervals for a hundred
        arms, about five are expected to miss the true value.
        """
        with self._lock:
            if arm not in self._arms:
                raise ValueError(f"arm must be one of the {len(self._arms)} arms with rewards, got {arm!r}")
            low, high = self.reward_range
            found = extremes(self.summaries(attribute, confidence))
            if not found:
                return no_gap(0.0, low - high, high - low, confidence)
            best, worst, _ = max(found, key=lambda pair: pair[0].mean - pair[1].mean)
            at = self._arms.rows[arm]
            # Any two groups of the attribute might be the extremes, so the intervals are simultaneous over all
            # groups.
            numbers = self._numbers(best.attribute)
            cells = {number: self._by_arm.cell(number, at) for number in numbers}
            radius = dict(zip(cells, self._radius(list(cells.values()), confidence).tolist(), strict=True))
            pair = [self._number[s.attribute][s.group] for s in (best, worst)]
            (n_best, mean_best, _), (n_worst, mean_worst, _) = (cells[number] for number in pair)
            bias = mean_best - mean_worst
            reach = sum(radius[n] for n in pair) if n_best and n_worst else 2.0 * (high - low)
            return gap_between(bias, max(low - high, bias - reach), min(high - low, bias + reach), best, worst)

    def rounds_of(self, attribute: str, value: GroupValue) -> float:
        """Return the number of rewards of a group, including those before restarts."""
        with self._lock:
            number = self._number.get(attribute, {}).get(value)
            return 0.0 if number is None else float(self._before[number] + self.counts[number])

    def numbers_of(self, key: GroupKey) -> list[int]:
        """Return the indices of the user's groups that have received a reward."""
        with self._lock:
            found = (self._number.get(attribute, {}).get(value) for attribute, value in key)
            return [number for number in found if number is not None]

    # -- state -----------------------------------------------------------------------------------------

    def to_json(self) -> list[list[Any]]:
        """Return the names of the groups."""
        with self._lock:
            return [list(name) for name in self._names]

    def arrays(self) -> dict[str, Floats]:
        """Return the statistics as arrays."""
        with self._lock:
            tables = {
                f"{name}.{part}": array
                for name, table in (("totals", self._totals), ("by_arm", self._by_arm))
                for part, array in table.arrays().items()
            }
            return {"before": self._before, **tables}

    def restore(self, names: list[list[Any]], arrays: dict[str, Any]) -> None:
        """Restore the record that `to_json` and `arrays` returned."""
        with self._lock:
            for attribute, value in names:
                self._claim(attribute, value)
            for table, name, n_arms in ((self._totals, "totals", 1), (self._by_arm, "by_arm", self._arms.n_rows)):
                parts = {part: arrays[f"{name}.{part}"] for part in Moments.PARTS}
                table.restore(parts, len(self._names), n_arms)
            if arrays["before"].shape != self._before.shape:
                raise ValueError(f"before of the group rewards has shape {arrays['before'].shape}")
            self._before = np.array(arrays["before"], float)
            self._collect()

    @property
    def _span(self) -> float:
        return self.reward_range[1] - self.reward_range[0]

    def _claim(self, attribute: str, value: GroupValue) -> int:
        """Return the number of a group; a new group is assigned one."""
        values = self._number.setdefault(attribute, {})
        number = values.get(value)
        if number is None:
            number = values[value] = len(self._names)
            self._names.append((attribute, value))
            self.attribute_of = np.append(self.attribute_of, list(self._number).index(attribute))
            self._before = np.append(self._before, 0.0)
            self._totals.resize(n_groups=number + 1)
            self._by_arm.resize(n_groups=number + 1)
            self._collect()
        return number

    def _add_arms(self, n_arms: int) -> None:
        if n_arms > self._n_arms:
            self._by_arm.resize(n_arms=n_arms)
            self._collect()

    def _numbers(self, attribute: str | None) -> list[int]:
        if attribute is None:
            return list(range(len(self._names)))
        if attribute not in self._number:
            known = f"one of {list(self._number)}" if self._number else "one with rewards, and there are none yet"
            raise ValueError(f"attribute must be {known}, got {attribute!r}")
        return list(self._number[attribute].values())

    def _radius(self, cells: Sequence[tuple[float, float, float]], confidence: float) -> Floats:
        """Return the half-widths of simultaneous confidence intervals for several cells.

        The k-th group to appear is allotted 1 / (k (k + 1)) of the error probability. These shares sum to at most
        1, no matter how many groups appear, and no interval changes when another group appears.
        """
        listed = np.array(cells).reshape(-1, 3)
        k = np.arange(1, len(listed) + 1)
        return confidence_radius(listed[:, 0], listed[:, 2], 1.0 - (1.0 - confidence) / (k * (k + 1)), self._span)


def as_range(reward_range: Any, name: str = "reward_range") -> tuple[float, float]:
    """Validate a reward range, and return it as floats."""
    try:
        low, high = (float(bound) for bound in reward_range if not isinstance(bound, str))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a pair (lowest, highest), got {reward_range!r}") from None
    if not -LARGEST < low < high < LARGEST:
        raise ValueError(
            f"{name} must be two numbers below {LARGEST:g} in absolute value, the lower one first, got "
            f"{reward_range!r}"
        )
    return low, high


def as_reward(reward: Any, reward_range: tuple[float, float]) -> float:
    """Validate a reward, and return it as a float."""
    low, high = reward_range
    try:
        if isinstance(reward, str | bytes):
            raise TypeError
        value = float(reward)
    except (TypeError, ValueError):
        raise ValueError(f"reward must be a number, got {reward!r}") from None
    if not low <= value <= high:
        raise ValueError(
            f"reward must lie in [{low:g}, {high:g}], got {reward!r}; "
            "rescale it, or declare its range: reward_range=(lowest, highest)"
        )
    return value
