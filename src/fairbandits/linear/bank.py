"""A bank of ridge regressions that learn one row at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.linear import kernels
from fairbandits.linear.rows import Row, Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Each rank-one update adds a rounding error of about one unit in the last place of the largest entry of
# A^-1; a thousand of them leave eight good digits even where a direction has been seen 100,000 times.
_REFRESH_EVERY = 1000
# For wide models a refresh (d^3) must not cost more than the updates (d^2) between two of them.
_REFRESH_EVERY_WIDTHS = 4
# One update divides A^-1 along x by 1 + leverage, and loses as many digits there as that number has.
_REFRESH_LEVERAGE = 1e5


class RidgeBank:
    """Ridge regressions of one width, each in a slot: `A = ridge * I + sum x x'`, `b = sum r x`.

    A^-1 and theta are kept by rank-one updates and computed afresh from A and b before rounding shows.
    A slot that has learned nothing takes no memory. One slot for all arms is the shared model, one for
    each arm the disjoint.

    Parameters
    ----------
    width : int
        Number of features.
    ridge : float
        The ridge penalty, > 0.

    Examples
    --------
    >>> from fairbandits.linear import RidgeBank, as_rows
    >>> import numpy as np
    >>> bank = RidgeBank(width=2, ridge=1.0)
    >>> rows = as_rows([[1.0, 0.0]])
    >>> bank.learn(0, rows.row(0), reward=1.0)
    >>> mean, width = bank.score(rows, np.array([0]))
    >>> mean.item(), round(width.item(), 6)
    (0.5, 0.707107)
    """

    _ARRAYS = ("gram", "moment", "inverse", "theta", "log_det", "rows_learned", "since_refresh")

    def __init__(self, width: int, ridge: float) -> None:
        self.width = width
        self.ridge = ridge
        self.gram: Floats = np.empty((0, width, width))
        self.moment: Floats = np.empty((0, width))
        self.inverse: Floats = np.empty((0, width, width))
        self.theta: Floats = np.empty((0, width))
        self.log_det: Floats = np.empty(0)
        self.rows_learned: Ints = np.empty(0, np.int64)
        self.since_refresh: Ints = np.empty(0, np.int64)
        self._refresh_every = max(_REFRESH_EVERY, _REFRESH_EVERY_WIDTHS * width)

    @property
    def n_slots(self) -> int:
        """How many slots have memory."""
        return len(self.theta)

    def known(self, slots: Ints) -> Ints:
        """Replace the slots that hold nothing by -1, as the kernels expect."""
        return np.where(slots < self.n_slots, slots, -1)

    def score(self, rows: Rows, slots: Ints, n_users: int = 1) -> tuple[Floats, Floats]:
        """Predict for every row: the mean reward, and the width `sqrt(x' A^-1 x)`.

        Parameters
        ----------
        rows : Rows
            For each user one row per arm, user after user.
        slots : array of int, shape (n_arms,)
            The model of each arm; -1 for one that has learned nothing.
        n_users : int
            How many users the rows are for.

        Returns
        -------
        mean, width : arrays of shape (n_users, n_arms)
        """
        mean = np.empty((n_users, slots.size))
        width = np.empty((n_users, slots.size))
        slots = self.known(slots)
        broken = self._fill(rows, slots, mean, width)
        if broken >= 0:
            # A variance came out negative: that is rounding, so take the exact inverse and look again.
            for slot in np.unique(slots[slots >= 0]):
                self.refresh(slot)
            self._fill(rows, slots, mean, width)
        return mean, width

    def _fill(self, rows: Rows, slots: Ints, mean: Floats, width: Floats) -> int:
        if rows.full:
            return kernels.score_full(rows.values, slots, self.theta, self.inverse, self.ridge, mean, width)
        return kernels.score_sparse(
            rows.starts, rows.columns, rows.values, slots, self.theta, self.inverse, self.ridge, mean, width
        )

    def learn(self, slot: int, row: Row, reward: float) -> None:
        """Learn one row in a slot."""
        if slot >= self.n_slots:
            self._grow(slot + 1)
        leverage = kernels.learn_row(
            row.columns,
            row.values,
            reward,
            self.gram[slot],
            self.moment[slot],
            self.inverse[slot],
            self.theta[slot],
        )
        self.rows_learned[slot] += 1
        self.since_refresh[slot] += 1
        if not 0.0 <= leverage <= _REFRESH_LEVERAGE or self.since_refresh[slot] >= self._refresh_every:
            self.refresh(slot)
        else:
            self.log_det[slot] += np.log1p(leverage)

    def log_det_of(self, slot: int) -> float:
        """Give log det A of a slot, also of one that holds nothing."""
        return float(self.log_det[slot]) if slot < self.n_slots else self.width * math.log(self.ridge)

    def inverse_of(self, slot: int) -> Floats:
        """Give A^-1 of a slot, also of one that holds nothing."""
        return self.inverse[slot] if slot < self.n_slots else np.eye(self.width) / self.ridge

    def refresh(self, slot: int) -> None:
        """Compute A^-1, theta and log det A afresh from A and b."""
        inverse, theta, log_det = solve(self.gram[slot], self.moment[slot])
        self.inverse[slot] = inverse
        self.theta[slot] = theta
        self.log_det[slot] = log_det
        self.since_refresh[slot] = 0

    def reset(self, slot: int) -> None:
        """Let a slot forget all that it has learned."""
        if slot < self.n_slots:
            self._blank(slice(slot, slot + 1))

    def absorb(self, slot: int, other: RidgeBank, other_slot: int) -> None:
        """Add what a slot of another bank has learned: A and b are sums, so they add up."""
        if slot >= self.n_slots:
            self._grow(slot + 1)
        self.gram[slot] += other.gram[other_slot] - self.ridge * np.eye(self.width)
        self.moment[slot] += other.moment[other_slot]
        self.rows_learned[slot] += other.rows_learned[other_slot]
        self.refresh(slot)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the state as arrays."""
        return {name: getattr(self, name) for name in self._ARRAYS}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the state from arrays that `arrays` gave."""
        n = len(arrays["theta"])
        for name in self._ARRAYS:
            ours, stored = getattr(self, name), arrays[name]
            # The kernels do not check their indices, so a wrong shape must not reach them.
            if stored.shape != (n, *ours.shape[1:]) or stored.dtype != ours.dtype:
                raise ValueError(f"{name} has shape {stored.shape} and type {stored.dtype}")
            setattr(self, name, np.array(stored))

    def _grow(self, n_slots: int) -> None:
        """Make room for at least n_slots, by doubling: the cost per slot stays constant."""
        old = self.n_slots
        new = max(n_slots, min(2 * old, old + 1024))
        for name in self._ARRAYS:
            array = getattr(self, name)
            grown = np.zeros((new, *array.shape[1:]), array.dtype)
            grown[:old] = array
            setattr(self, name, grown)
        self._blank(slice(old, new))

    def _blank(self, slots: slice) -> None:
        identity = np.eye(self.width)
        self.gram[slots] = self.ridge * identity
        self.inverse[slots] = identity / self.ridge
        self.moment[slots] = 0.0
        self.theta[slots] = 0.0
        self.log_det[slots] = self.width * np.log(self.ridge)
        self.rows_learned[slots] = 0
        self.since_refresh[slots] = 0


def solve(gram: Floats, moment: Floats) -> tuple[Floats, Floats, float]:
    """Invert a positive definite matrix and solve with it: A^-1, A^-1 b, log det A."""
    root, inverse, log_det = kernels.invert(gram)
    if math.isnan(log_det):
        raise ArithmeticError(
            "A is no longer positive definite to float64: the columns are too close to copies of each other "
            "for this ridge; raise ridge or scale the columns"
        )
    return inverse, root.T @ (root @ moment), log_det
