"""Counts, means and variances that are updated one reward at a time and can be merged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import ZERO

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Moments:
    """A table of running means and squared deviations (Welford): a row per group, a column per arm.

    A cell without rewards has the mean `start`. The last column never receives a reward: it is read as column -1,
    which stands for an unknown arm.
    """

    PARTS = ("count", "mean", "m2")

    def __init__(self, start: float) -> None:
        self.start = start
        self.count: Floats = np.zeros((0, 1))
        self.mean: Floats = np.zeros((0, 1))
        self.m2: Floats = np.zeros((0, 1))

    def add(self, group: int, arm: int, reward: float) -> None:
        """Add one reward to a cell."""
        _add_one(self.count, self.mean, self.m2, group, arm, reward)

    def add_many(self, groups: Ints, arms: Ints, rewards: Floats) -> None:
        """Add many rewards, each to a cell; those of group -1 are left out."""
        _add_many(self.count, self.mean, self.m2, groups, arms, rewards)

    def merge_cell(self, group: int, arm: int, count: float, mean: float, m2: float) -> None:
        """Add a cell of another table."""
        self.merge_row(group, np.array([arm]), *(np.array([part], float) for part in (count, mean, m2)))

    def merge_row(self, group: int, arms: Ints, count: Floats, mean: Floats, m2: Floats) -> None:
        """Add cells of a row of another table (Chan et al. 1979)."""
        has_rewards = count > 0.0
        at, count, mean, m2 = (group, arms[has_rewards]), count[has_rewards], mean[has_rewards], m2[has_rewards]
        ours = self.count[at]
        both = ours + count
        shift = np.where(ours > 0.0, mean - self.mean[at], 0.0)
        self.mean[at] = np.where(ours > 0.0, self.mean[at] + shift * count / both, mean)
        self.m2[at] += m2 + shift**2 * ours * count / both
        self.count[at] = both

    def cell(self, group: int, arm: int) -> tuple[float, float, float]:
        """Return the count, the mean and the squared deviations of a cell."""
        at = group, arm
        return float(self.count[at]), float(self.mean[at]), float(self.m2[at])

    def row(self, group: int, arms: Ints) -> tuple[Floats, Floats, Floats]:
        """Return the counts, means and squared deviations of a group's rewards from some arms."""
        return self.count[group, arms], self.mean[group, arms], self.m2[group, arms]

    def clear(self, where: Any) -> None:
        """Empty the cells at an index."""
        self.count[where] = 0.0
        self.mean[where] = self.start
        self.m2[where] = 0.0

    def arrays(self) -> dict[str, Floats]:
        """Return the table as arrays."""
        return {part: getattr(self, part) for part in self.PARTS}

    def restore(self, arrays: dict[str, Any], n_groups: int, n_arms: int) -> None:
        """Restore the table that `arrays` returned; it must have enough rows and columns."""
        shape = arrays["count"].shape
        for part in self.PARTS:
            if arrays[part].shape != shape or len(shape) != 2 or shape[0] != n_groups or shape[1] <= n_arms:
                raise ValueError(f"{part} of the group rewards has shape {arrays[part].shape}")
            setattr(self, part, np.array(arrays[part], float))

    @property
    def n_arms(self) -> int:
        """The number of columns that receive rewards."""
        n_columns: int = self.count.shape[1]
        return n_columns - 1

    def resize(self, n_groups: int = 0, n_arms: int = 0) -> None:
        """Make room for more groups and arms; arms by doubling, so that the cost per arm stays constant."""
        old_groups, old_arms = len(self.count), self.n_arms
        if n_arms > old_arms:
            n_arms = max(n_arms, 2 * old_arms)
        shape = max(n_groups, old_groups), max(n_arms, old_arms) + 1
        for name, empty in (("count", 0.0), ("mean", self.start), ("m2", 0.0)):
            resized = np.full(shape, empty)
            resized[:old_groups, :old_arms] = getattr(self, name)[:, :old_arms]
            setattr(self, name, resized)


@helper()
def _add(count: Floats, mean: Floats, m2: Floats, group: int, arm: int, reward: float) -> None:
    count[group, arm] += 1.0
    if count[group, arm] == 1.0:
        # The first reward becomes the mean: the start value of a cell has no weight.
        mean[group, arm] = reward
        return
    residual = reward - mean[group, arm]
    mean[group, arm] += residual / count[group, arm]
    m2[group, arm] += residual * (reward - mean[group, arm])


@kernel()
def _add_one(count: Floats, mean: Floats, m2: Floats, group: int, arm: int, reward: float) -> None:
    _add(count, mean, m2, group, arm, reward)


@kernel()
def _add_many(count: Floats, mean: Floats, m2: Floats, groups: Ints, arms: Ints, rewards: Floats) -> None:
    for i in range(rewards.size):
        if groups[i] >= 0:
            _add(count, mean, m2, groups[i], arms[i], rewards[i])


@kernel()
def add_reward(
    count: Floats, mean: Floats, m2: Floats, arm_count: Floats, arm_mean: Floats, arm_m2: Floats,
    group: int, arm: int, reward: float,
) -> None:  # fmt: skip
    """Add one reward to the totals of a group, and to its cell for an arm, unless the arm is -1."""
    _add(count, mean, m2, group, ZERO, reward)
    if arm >= 0:
        _add(arm_count, arm_mean, arm_m2, group, arm, reward)
