"""A bank of ridge regressions that learn one row at a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.linear import learning, scoring, young
from fairbandits.linear.kernels import (
    AFRESH,
    FIRST_STEP,
    GROW_UP,
    GROWN,
    N_STEPS,
    NO_PLACE,
    OUTSIDE,
    add_outer,
    times,
)
from fairbandits.linear.pool import Pool
from fairbandits.linear.rows import Row, Rows, SparseRows, checked_entries, refuse_outside
from fairbandits.linear.solve import checked_invert, identity, solve, unpacked
from fairbandits.linear.sums import RowSums
from fairbandits.linear.threads import over_arms

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
    A slot that has learned nothing takes no memory, one that has learned little no matrices (see `young`). One
    slot for all arms is the shared model, one for each arm the disjoint.

    Parameters
    ----------
    width : int
        Number of features.
    ridge : float
        The ridge penalty, > 0.
    dtype : {"float64", "float32"}
        How A^-1 is kept. As float32 it takes half the memory, and scores are right to about six digits; A and b,
        from which it is computed afresh, are float64 always.
    discount : float
        What is left of the weight of a row when its slot learns another: `A = ridge * I + sum d^k x x'` and
        `b = sum d^k r x`, k rows ago. Below 1 every row is learned by solving afresh, d^3 instead of d^2.
    has_young : bool
        Whether a slot is without matrices at first; not where there is a discount.

    Examples
    --------
    >>> from fairbandits.linear import RidgeBank, as_rows
    >>> import numpy as np
    >>> bank = RidgeBank(width=2, ridge=1.0)
    >>> rows = as_rows([[1.0, 0.0]])
    >>> bank.learn(0, rows.row(0, 0), reward=1.0)
    >>> mean, width = bank.score(rows, np.array([0]))
    >>> mean.item(), round(width.item(), 6)
    (0.5, 0.707107)
    """

    # What every slot has: where its model is, b, theta, log det A, how many rows it learned, and how many since
    # A^-1 was last computed afresh.
    _ARRAYS = ("where", "moment", "theta", "log_det", "rows_learned", "since_refresh")

    def __init__(
        self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0, has_young: bool = True
    ) -> None:
        self.width = width
        self.ridge = ridge
        self.discount = discount
        n_steps = young.most_steps(width) if has_young and discount == 1.0 else 0
        self.where: Ints = np.empty((0, FIRST_STEP + n_steps), np.int64)
        self.moment: Floats = np.empty((0, width))
        self.theta: Floats = np.empty((0, width))
        self.log_det: Floats = np.empty(0)
        self.rows_learned: Ints = np.empty(0, np.int64)
        self.since_refresh: Ints = np.empty(0, np.int64)
        self._young = Pool({"steps": ((width,), dtype), "rows": ((width + 2,), np.float64)})
        # A and A^-1 as lower triangles; the own part of the row that was learned last, and what is kept ready of
        # it (see `scoring`). The columns of a part stand behind their number.
        triangle = (width * (width + 1) // 2,)
        self._grown = Pool(
            {
                "gram": (triangle, np.float64),
                "inverse": (triangle, dtype),
                "ready": ((width + 2,), np.float64),
                "part_columns": ((width + 1,), np.int64),
                "part_values": ((width,), np.float64),
            }
        )
        self._tie_up()
        self._refresh_every = max(_REFRESH_EVERY, _REFRESH_EVERY_WIDTHS * width)

    def _tie_up(self) -> None:
        """Put together what the kernels take, whenever an array is a new one."""
        grown = self._grown
        kept = grown["inverse"], grown["ready"], grown["part_columns"], grown["part_values"]
        self._state = self.where, self.theta, self._young["steps"], *kept
        counts = self.log_det, self.rows_learned, self.since_refresh
        self._all_state = *self._state, self._young["rows"], grown["gram"], self.moment, *counts

    @property
    def n_slots(self) -> int:
        """How many slots have memory."""
        return len(self.theta)

    def score(self, rows: Rows, slots: Ints | None) -> tuple[Floats, Floats]:
        """Predict for every user and arm: the mean reward, and the width `sqrt(x' A^-1 x)`.

        Parameters
        ----------
        rows : Rows
            For each user one row per arm.
        slots : array of int, shape (n_arms,), or None
            The model of each arm, -1 for one that has learned nothing; None where all arms share slot 0.

        Returns
        -------
        mean, width : arrays of shape (n_users, n_arms)
        """
        check_slots(rows, slots, self.width)
        mean = np.empty((rows.n_users, rows.n_arms))
        width = np.empty((rows.n_users, rows.n_arms))
        if self._fill(rows, slots, mean, width):
            # Variances came out negative: that is rounding, so take these from A itself.
            root_of = functools.cache(self.root_of)
            for slot, user, arm in broken_down(slots, np.isnan(width)):
                width[user, arm] = np.linalg.norm(root_of(slot) @ rows.row(user, arm).dense())
        return mean, width

    def _fill(self, rows: Rows, slots: Ints | None, mean: Floats, width: Floats) -> int:
        kernel: Callable[..., int]
        args: tuple[Any, ...]
        work = rows.n_users * rows.n_arms * rows.width
        if isinstance(rows, SparseRows) and slots is None and self.n_slots:
            kernel, args = scoring.score_shared, (rows.parts, self.theta[0], self._inverse(0))
        else:
            models = np.zeros(rows.n_arms, np.int64) if slots is None else slots
            if isinstance(rows, SparseRows):
                kernel, args = scoring.score_disjoint, (rows.parts, models, self._state, self.ridge)
            else:
                kernel, args = scoring.score_full, (rows.matrix, models, self._state, self.ridge)
                work *= rows.width // 2
        return over_arms(kernel, (*args, mean, width), rows.n_arms, work)

    def learn(self, slot: int, row: Row, reward: float, weight: float = 1.0) -> None:
        """Learn one row in a slot, as if it had come `weight` times; where it is refused, nothing changes.

        Raises
        ------
        ValueError
            Where A would no longer be positive definite to float64: very large columns that are nearly copies
            of each other.
        """
        if row.width != self.width:
            raise ValueError(f"the row is {row.width} wide; expected {self.width}")
        if slot >= self.n_slots:
            self._grow(slot + 1)
        if self.discount < 1.0:
            self._learn_afresh(slot, row, reward, weight)
            return
        outcome = self._learn(slot, row, reward, weight)
        while outcome in (GROW_UP, NO_PLACE):
            if outcome == GROW_UP:
                self._grow_up(slot)
            else:
                self.where[slot, FIRST_STEP + self.where[slot, N_STEPS]] = self._young.take()
                self._tie_up()
            outcome = self._learn(slot, row, reward, weight)
        if outcome == AFRESH:
            self._learn_afresh(slot, row, reward, weight)
        elif outcome == OUTSIDE:
            refuse_outside(self.width)

    def _learn(self, slot: int, row: Row, reward: float, weight: float) -> int:
        how = self.ridge, _REFRESH_LEVERAGE, self._refresh_every
        return learning.learn_row(row.parts, row.user, row.arm, reward, weight, self._all_state, slot, *how)

    def _grow_up(self, slot: int) -> int:
        """Give a slot its matrices, where it has none; give their place."""
        if (place := int(self.where[slot, GROWN])) >= 0:
            return place
        gram, inverse = self._gram(slot), self._inverse(slot)
        place = self._grown.take()
        self._grown["gram"][place], self._grown["inverse"][place] = gram, inverse
        for step in self._steps(slot):
            self._young.give_back(int(step))
        self.where[slot] = -1
        self.where[slot, GROWN], self.where[slot, N_STEPS] = place, 0
        self._tie_up()
        return place

    def _steps(self, slot: int) -> Ints:
        """Give the places of the steps of a young slot."""
        return self.where[slot, FIRST_STEP : FIRST_STEP + self.where[slot, N_STEPS]]

    def _is_grown(self, slot: int) -> bool:
        return 0 <= slot < self.n_slots and bool(self.where[slot, GROWN] >= 0)

    def _gram(self, slot: int) -> Floats:
        """Give A of a slot as a lower triangle; not a copy where it is kept as such."""
        if self._is_grown(slot):
            return np.asarray(self._grown["gram"][self.where[slot, GROWN]])
        gram = self.ridge * identity(self.width)
        for step in self._steps(slot) if slot < self.n_slots else ():
            add_outer(gram, self._young["rows"][step, : self.width], 1.0)
        return gram

    def _inverse(self, slot: int) -> Floats:
        """Give A^-1 of a slot as a lower triangle; not a copy where it is kept as such."""
        if self._is_grown(slot):
            return np.asarray(self._grown["inverse"][self.where[slot, GROWN]])
        inverse = identity(self.width) / self.ridge
        for step in self._steps(slot) if slot < self.n_slots else ():
            add_outer(inverse, self._young["steps"][step].astype(np.float64), -1.0)
        return inverse

    def _learn_afresh(self, slot: int, row: Row, reward: float, weight: float) -> None:
        """Learn one row by solving anew, on copies until it has succeeded."""
        columns, values, n_common = checked_entries(row, self.width)
        gram, moment = self._gram(slot).copy(), self.moment[slot].copy()
        if self.discount < 1.0:
            # The ridge does not fade: without it A would become singular in directions that come no more.
            gram = self.discount * gram + (1.0 - self.discount) * self.ridge * identity(self.width)
            moment *= self.discount
        learning.add_row(columns, values, reward, weight, gram, moment)
        solution = solve(gram, moment)
        place = self._grow_up(slot)
        self._grown["gram"][place], self.moment[slot] = gram, moment
        part = self._grown["part_columns"][place], self._grown["part_values"][place]
        learning.keep_part(columns[n_common:], values[n_common:], *part)
        self.rows_learned[slot] += 1
        self._take(slot, *solution)

    def draw(self, rows: Rows, slots: Ints | None, rng: np.random.Generator) -> Floats:
        """Draw how far off each mean is, in widths: normal, and correlated where arms share a model."""
        if slots is not None:
            # One row per arm and independent arms: drawing the score is drawing the coefficients.
            return rng.standard_normal((rows.n_users, rows.n_arms))
        drawn = rows.times(self.root_of(0).T @ rng.standard_normal((rows.n_users, self.width)).T)
        return in_units(drawn, self.score(rows, slots)[1])

    def coefficients(self, slot: int) -> Floats:
        """Give theta of a slot, also of one that holds nothing."""
        return self.theta[slot].copy() if 0 <= slot < self.n_slots else np.zeros(self.width)

    def log_det_of(self, slot: int) -> float:
        """Give log det A of a slot, also of one that holds nothing."""
        return float(self.log_det[slot]) if slot < self.n_slots else self.width * math.log(self.ridge)

    def root_of(self, slot: int) -> Floats:
        """Give M with A^-1 = M' M of a slot, from A itself, also of one that holds nothing."""
        root, _, _ = checked_invert(self._gram(slot), self.width)
        return root

    def inverse_of(self, slot: int) -> Floats:
        """Give A^-1 of a slot, also of one that holds nothing."""
        return unpacked(self._inverse(slot), self.width)

    def gram_of(self, slot: int) -> Floats:
        """Give A of a slot, also of one that holds nothing."""
        return unpacked(self._gram(slot), self.width)

    def product(self, slot: int, columns: Ints, values: Floats) -> Floats:
        """Give A^-1 x of a slot, also of one that holds nothing."""
        return times(self._inverse(slot), columns, values, self.width)

    def refresh(self, slot: int) -> None:
        """Compute A^-1, theta and log det A afresh from A and b."""
        self._take(slot, *solve(self._gram(slot), self.moment[slot]))

    def _take(self, slot: int, inverse: Floats, theta: Floats, log_det: float) -> None:
        place = self._grow_up(slot)
        self._grown["inverse"][place] = inverse
        self.theta[slot] = theta
        self.log_det[slot] = log_det
        self.since_refresh[slot] = 0
        part = self._grown["part_columns"][place], self._grown["part_values"][place]
        learning.make_ready(*part, inverse, theta, self._grown["ready"][place])

    def reset(self, slot: int) -> None:
        """Let a slot forget all that it has learned."""
        if slot < self.n_slots:
            if self._is_grown(slot):
                self._grown.give_back(int(self.where[slot, GROWN]))
            for step in self._steps(slot):
                self._young.give_back(int(step))
            self._blank(slice(slot, slot + 1))

    def absorb(self, other: RidgeBank, pairs: Iterable[tuple[int, int]]) -> None:
        """Add what another bank has learned, slot by slot: pairs of a slot of ours and one of theirs."""
        for slot, other_slot in pairs:
            self._absorb(slot, other, other_slot)

    def _absorb(self, slot: int, other: RidgeBank, other_slot: int) -> None:
        """Add what a slot of another bank has learned: A and b are sums, so they add up."""
        if other._is_grown(other_slot):
            gram = other._gram(other_slot) - self.ridge * identity(self.width)
            self.add_sums(slot, gram, other.moment[other_slot], int(other.rows_learned[other_slot]))
        elif other_slot < other.n_slots:
            for step in other._steps(other_slot):
                stored = other._young["rows"][step]
                columns = np.flatnonzero(stored[: self.width])
                row = Row.of(columns, stored[columns], columns.size, self.width)
                self.learn(slot, row, float(stored[self.width]))

    def add_sums(self, slot: int, gram: Floats, moment: Floats, n_rows: int = 1) -> None:
        """Add to A and b of a slot, and solve afresh."""
        if slot >= self.n_slots:
            self._grow(slot + 1)
        gram, moment = self._gram(slot) + gram, self.moment[slot] + moment
        solution = solve(gram, moment)  # which may refuse: nothing has changed so far
        place = self._grow_up(slot)
        self._grown["gram"][place], self.moment[slot] = gram, moment
        self.rows_learned[slot] += n_rows
        self._take(slot, *solution)

    def add_rows(self, sums: RowSums, pairs: Iterable[tuple[int, int]]) -> None:
        """Learn rows that have been summed up, slot by slot: pairs of a slot of ours and one of theirs."""
        for slot, theirs in pairs:
            self.add_sums(slot, sums.gram[theirs], sums.moment[theirs], int(sums.count[theirs]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the state as arrays, without the slots at the end that hold nothing."""
        learned = np.flatnonzero(self.rows_learned)
        used = int(learned[-1]) + 1 if learned.size else 0
        slots = {name: getattr(self, name)[:used] for name in self._ARRAYS}
        return slots | self._young.used() | self._grown.used()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the state from arrays that `arrays` gave."""
        # The kernels do not check their indices, so nothing wrong must reach them.
        slots = {name: getattr(self, name) for name in self._ARRAYS}
        for ours in (slots, self._young.arrays, self._grown.arrays):
            n = len(arrays[next(iter(ours))])
            for name, array in ours.items():
                if arrays[name].shape != (n, *array.shape[1:]) or arrays[name].dtype != array.dtype:
                    raise ValueError(f"{name} has shape {arrays[name].shape} and type {arrays[name].dtype}")
        where, parts = arrays["where"], arrays["part_columns"]
        places, n_steps = where[:, FIRST_STEP:], where[:, N_STEPS, None]
        is_step = np.arange(places.shape[1]) < n_steps
        if (n_steps < 0).any() or (n_steps > places.shape[1]).any() or (places[~is_step] != -1).any():
            raise ValueError("where names steps that there are none of")
        if not ((parts >= 0) & (parts < self.width + (np.arange(self.width + 1) == 0))).all():
            raise ValueError(f"part_columns points outside the {self.width} columns")
        self._young.restore(arrays, places[is_step].tolist())
        self._grown.restore(arrays, where[:, GROWN][where[:, GROWN] != -1].tolist())
        for name in self._ARRAYS:
            setattr(self, name, np.array(arrays[name]))
        self._tie_up()

    def _grow(self, n_slots: int) -> None:
        """Make room for at least n_slots, by doubling: the cost per slot stays constant."""
        old = self.n_slots
        new = max(n_slots, 2 * old)
        for name in self._ARRAYS:
            array = getattr(self, name)
            grown = np.zeros((new, *array.shape[1:]), array.dtype)
            grown[:old] = array
            setattr(self, name, grown)
        self._tie_up()
        self._blank(slice(old, new))

    def _blank(self, slots: slice) -> None:
        for name in self._ARRAYS:
            getattr(self, name)[slots] = 0
        self.where[slots] = -1
        self.where[slots, N_STEPS] = 0
        self.log_det[slots] = self.width * np.log(self.ridge)


def check_slots(rows: Rows, slots: Ints | None, width: int) -> None:
    """Refuse rows that do not fit their models: kernels do not check."""
    if rows.width != width or (slots is not None and slots.size != rows.n_arms):
        raise ValueError(f"{rows.n_arms} arm(s), {rows.width} wide, do not fit these slots, {width} wide")


def in_units(deviations: Floats, width: Floats) -> Floats:
    """Divide deviations by their widths; where there is no width there is no deviation."""
    return np.divide(deviations, width, out=np.zeros(width.shape), where=width > 0.0)


def broken_down(slots: Ints | None, broken: NDArray[np.bool_]) -> Iterable[tuple[int, int, int]]:
    """Name what has broken down: slot, user, arm."""
    for user, arm in np.argwhere(broken).tolist():
        yield (0 if slots is None else int(slots[arm])), user, arm
