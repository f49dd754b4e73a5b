"""Counts, means and variances that grow by one reward at a time and add up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Moments:
    """A table of running means and squared deviations (Welford), a line per group, a column per arm.

    A cell without rewards has the mean `start`. The last column never takes a reward: row number -1, an
    arm that is not known, reads it.
    """

    PARTS = ("count", "mean", "m2")

    def __init__(self, start: float) -> None:
        self.start = start
        self.count: Floats = np.zeros((0, 1))
        self.mean: Floats = np.zeros((0, 1))
        self.m2: Floats = np.zeros((0, 1))

    def add(self, group: int, arm: int, reward: float) -> None:
        """Count one reward in a cell."""
        _add(self.count, self.mean, self.m2, group, arm, reward)

    def add_in_all(self, by_arm: Moments, group: int, arm: int, reward: float) -> None:
        """Count one reward in column 0, and in another table in the column of its arm, where it has one."""
        table = by_arm.count, by_arm.mean, by_arm.m2
        _add_twice(self.count, self.mean, self.m2, *table, group, arm, reward)

    def add_many(self, groups: Ints, arms: Ints, rewards: Floats) -> None:
        """Count many rewards, each in a cell; those of group -1 are not counted."""
        _add_many(self.count, self.mean, self.m2, groups, arms, rewards)

    def absorb(self, group: int, arm: int, count: float, mean: float, m2: float) -> None:
        """Add a cell of another table."""
        self.absorb_line(group, np.array([arm]), *(np.array([part], float) for part in (count, mean, m2)))

    def absorb_line(self, group: int, arms: Ints, count: Floats, mean: Floats, m2: Floats) -> None:
        """Add cells of a line of another table (Chan et al. 1979)."""
        came = count > 0.0
        at, count, mean, m2 = (group, arms[came]), count[came], mean[came], m2[came]
        ours = self.count[at]
        both = ours + count
        shift = np.where(ours > 0.0, mean - self.mean[at], 0.0)
        self.mean[at] = np.where(ours > 0.0, self.mean[at] + shift * count / both, mean)
        self.m2[at] += m2 + shift**2 * ours * count / both
        self.count[at] = both

    def cell(self, group: int, arm: int) -> tuple[float, float, float]:
        """Read count, mean and squared deviations."""
        at = group, arm
        return float(self.count[at]), float(self.mean[at]), float(self.m2[at])

    def line(self, group: int, arms: Ints) -> tuple[Floats, Floats, Floats]:
        """Read counts, means and squared deviations of a group from some arms."""
        return self.count[group, arms], self.mean[group, arms], self.m2[group, arms]

    def blank(self, where: Any) -> None:
        """Empty the cells at an index."""
        self.count[where] = 0.0
        self.mean[where] = self.start
        self.m2[where] = 0.0

    def arrays(self) -> dict[str, Floats]:
        """Give the table as arrays."""
        return {part: getattr(self, part) for part in self.PARTS}

    def restore(self, arrays: dict[str, Any], n_groups: int, n_arms: int) -> None:
        """Take the table from what `arrays` gave; it must have lines and columns enough."""
        shape = arrays["count"].shape
        for part in self.PARTS:
            if arrays[part].shape != shape or len(shape) != 2 or shape[0] != n_groups or shape[1] <= n_arms:
                raise ValueError(f"{part} of the group rewards has shape {arrays[part].shape}")
            setattr(self, part, np.array(arrays[part], float))

    def widen(self, n_arms: int) -> None:
        """Have columns for n_arms, by doubling so that the cost per arm stays constant."""
        n_groups, n_columns = self.count.shape
        if n_arms > n_columns - 1:
            self._resize(n_groups, max(n_arms, 2 * (n_columns - 1)) + 1)

    def lengthen(self, n_groups: int) -> None:
        """Have lines for n_groups."""
        if n_groups > len(self.count):
            self._resize(n_groups, self.count.shape[1])

    def _resize(self, n_groups: int, n_columns: int) -> None:
        old_groups, old_columns = self.count.shape
        for name, blank in (("count", 0.0), ("mean", self.start), ("m2", 0.0)):
            resized = np.full((n_groups, n_columns), blank)
            resized[:old_groups, : old_columns - 1] = getattr(self, name)[:, : old_columns - 1]
            setattr(self, name, resized)


@njit(cache=True, nogil=True)
def _add(count: Floats, mean: Floats, m2: Floats, group: int, arm: int, reward: float) -> None:
    count[group, arm] += 1.0
    if count[group, arm] == 1.0:
        # The first reward is the mean: the value that a cell starts at has no weight.
        mean[group, arm] = reward
        return
    surprise = reward - mean[group, arm]
    mean[group, arm] += surprise / count[group, arm]
    m2[group, arm] += surprise * (reward - mean[group, arm])


@njit(cache=True, nogil=True)
def _add_twice(
    count: Floats, mean: Floats, m2: Floats, arm_count: Floats, arm_mean: Floats, arm_m2: Floats,
    group: int, arm: int, reward: float,
) -> None:  # fmt: skip
    _add(count, mean, m2, group, 0, reward)
    if arm >= 0:
        _add(arm_count, arm_mean, arm_m2, group, arm, reward)


@njit(cache=True, nogil=True)
def _add_many(count: Floats, mean: Floats, m2: Floats, groups: Ints, arms: Ints, rewards: Floats) -> None:
    for i in range(rewards.size):
        if groups[i] >= 0:
            _add(count, mean, m2, groups[i], arms[i], rewards[i])
