"""The workloads, as every environment loads them: one file each, written by `prepare.py`.

A context is kept in two parts, of the user and of the arm, and put together outside of what is timed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ALPHA, RIDGE = 0.5, 1.0
Floats = Any  # numpy is another one in every environment, and so are its types


@dataclass(frozen=True)
class Round:
    """One user: a row for each arm, one for all arms, and what each arm would give.

    Parameters
    ----------
    own_columns, arm_columns : arrays
        What is the user's, and what is each arm's.
    rewards : array
        What each arm would give.
    group : str
        The user's group.
    is_product : bool
        Whether a context is the product of the two parts, or one beside the other.
    """

    own_columns: Floats
    arm_columns: Floats
    rewards: Floats
    group: str
    is_product: bool

    @property
    def own(self) -> int:
        """How many columns are the user's."""
        return len(self.own_columns)

    @property
    def contexts(self) -> Floats:
        """One row per arm, put together when it is asked for: many rounds can be held, not many of these."""
        if self.is_product:
            return self.own_columns * self.arm_columns
        users = np.broadcast_to(self.own_columns, (len(self.arm_columns), self.own))
        return np.hstack([users, self.arm_columns])

    @property
    def user(self) -> Floats:
        """One row for all arms: as wide as the others, zero where an arm's own columns are.

        An arm's columns are the same whenever it is offered, but for what follows from the user's, so a model per
        arm knows no less without them.
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
        Only the first so many arms.
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
        """Give one round; the rounds start again after the last."""
        number %= len(self)
        parts = self._parts[self._kinds[number]]
        group = str(self._groups[number])
        return Round(self._users[number], parts, self._rewards[number], group, self._is_product)

    def rounds(self, n: int, start: int = 0) -> Iterator[Round]:
        """Give n rounds, one after the other."""
        return (self.round(start + i) for i in range(n))


def logged_arm(number: int, n_arms: int) -> int:
    """Give the arm that the log holds for a round of training: any, and the same for every contender."""
    return (number * 7919) % n_arms
