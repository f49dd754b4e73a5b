"""The workloads: one file each, written by `prepare.py` and loaded in every environment.

The columns of users and of arms are stored separately, and combined to contexts outside of the timed code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ALPHA, RIDGE = 0.5, 1.0
Floats = Any  # every environment has its own NumPy, with its own types


@dataclass(frozen=True)
class Round:
    """One user: the contexts of all arms, and the reward of each arm.

    Parameters
    ----------
    own_columns, arm_columns : arrays
        The columns of the user, and those of each arm.
    rewards : array
        The reward of each arm.
    group : str
        The user's group.
    is_product : bool
        Whether a context is the product of user and arm, rather than their concatenation.
    """

    own_columns: Floats
    arm_columns: Floats
    rewards: Floats
    group: str
    is_product: bool

    @property
    def own(self) -> int:
        """The number of columns of the user."""
        return len(self.own_columns)

    @property
    def contexts(self) -> Floats:
        """One row per arm; computed on access, because many rounds do not fit into memory as matrices."""
        if self.is_product:
            return self.own_columns * self.arm_columns
        users = np.broadcast_to(self.own_columns, (len(self.arm_columns), self.own))
        return np.hstack([users, self.arm_columns])

    @property
    def user(self) -> Floats:
        """A single row for all arms, of the same width, with zeros in the columns of the arm.

        The columns of an arm are constant, except for those determined by the user. So a model per arm loses no
        information without them.
        """
        if self.is_product:
            return self.own_columns
        return np.concatenate([self.own_columns, np.zeros(self.arm_columns.shape[1])])


class Workload:
    """A file of rounds.

    Parameters
    ----------
    path : Path
        The file.
    n_arms : int, optional
        Load only the first n_arms arms.
    """

    def __init__(self, path: Path, n_arms: int | None = None) -> None:
        with np.load(path) as arrays:
            self._users, self._groups = arrays["users"], arrays["groups"]
            self._parts = arrays["parts"][:, :n_arms]
            self._kinds, self._rewards = arrays["kinds"], arrays["rewards"][:, :n_arms]
            self._is_product = bool(arrays["is_product"])
        self.n_arms = self._parts.shape[1]
        self.own = self._users.shape[1]
        self.width = self.own if self._is_product else self.own + self._parts.shape[2]

    def __len__(self) -> int:
        return len(self._users)

    def round(self, number: int) -> Round:
        """Return one round; after the last one, they repeat."""
        number %= len(self)
        parts = self._parts[self._kinds[number]]
        group = str(self._groups[number])
        return Round(self._users[number], parts, self._rewards[number], group, self._is_product)

    def rounds(self, n: int, start: int = 0) -> Iterator[Round]:
        """Return an iterator over n rounds."""
        return (self.round(start + i) for i in range(n))


def logged_arm(number: int, n_arms: int) -> int:
    """Return the logged arm of a training round: arbitrary, but the same for every contender."""
    return (number * 7919) % n_arms
