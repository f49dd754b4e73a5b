"""A bank of ridge regressions that learn one row at a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.array_pool import Pool
from fairbandits.models.kernels import ridge_learning
from fairbandits.models.kernels.cholesky import checked_invert, identity, solve, unpacked
from fairbandits.models.kernels.shared_scoring import score_shared, score_shared_full
from fairbandits.models.kernels.triangles import (
    AFRESH,
    FIRST_STEP,
    GROW_UP,
    GROWN,
    LEARNED,
    N_STEPS,
    OUTSIDE,
    times,
)
from fairbandits.models.normal_equations import RowSums
from fairbandits.models.rows import Row, Rows, SparseRows, checked_entries, refuse_outside
from fairbandits.models.threads import over_arms

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

    A^-1 and theta are kept by rank-one updates and computed afresh from A and b before rounding shows. A slot that
    has learned nothing takes no matrices. This is the shared model, of which all arms have slot 0; `ArmBank` has a
    slot for each arm.

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

    Examples
    --------
    >>> from fairbandits.models import RidgeBank, as_rows
    >>> bank = RidgeBank(width=2, ridge=1.0)
    >>> rows = as_rows([[1.0, 0.0]])
    >>> bank.learn(0, rows.row(0, 0), reward=1.0)
    >>> mean, width = bank.score(rows)
    >>> mean.item(), round(width.item(), 6)
    (0.5, 0.707107)
    """

    # What every slot has: where its model is, b, theta, log det A, how many rows it learned, and how many since
    # A^-1 was last computed afresh.
    _ARRAYS = ("where", "moment", "theta", "log_det", "rows_learned", "since_refresh")

    _kernel: Callable[..., int] = staticmethod(ridge_learning.learn_row)

    def __init__(self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0) -> None:
        self.width = width
        self.ridge = ridge
        self.dtype = dtype
        self.discount = discount
        self.where: Ints = np.empty((0, FIRST_STEP), np.int64)
        self.moment: Floats = np.empty((0, width))
        self.theta: Floats = np.empty((0, width))
        self.log_det: Floats = np.empty(0)
        self.rows_learned: Ints = np.empty(0, np.int64)
        self.since_refresh: Ints = np.empty(0, np.int64)
        self._grown = self._pool()
        self._tie_up()
        self._refresh_every = max(_REFRESH_EVERY, _REFRESH_EVERY_WIDTHS * width)

    def _pool(self) -> Pool:
        """Make the places of matrices, which are lower triangles: A and A^-1."""
        triangle = (self.width * (self.width + 1) // 2,)
        return Pool({"gram": (triangle, np.float64), "inverse": (triangle, self.dtype)})

    def _tie_up(self) -> None:
        """Put together what the kernels take, whenever an array is a new one."""
        self._state: tuple[Any, ...] = self.where, self.theta, self._grown["inverse"]
        self._all_state = *self._state, self._grown["gram"], *self._sums

    @property
    def _sums(self) -> tuple[Any, ...]:
        return self.moment, self.log_det, self.rows_learned, self.since_refresh

    @property
    def n_slots(self) -> int:
        """How many slots have memory."""
        return len(self.theta)

    def score(self, rows: Rows, slots: Ints | None = None) -> tuple[Floats, Floats]:
        """Predict for every user and arm: the mean reward, and the width `sqrt(x' A^-1 x)`.

        Parameters
        ----------
        rows : Rows
            For each user one row per arm.
        slots : None
            All arms have the model of slot 0.

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
        """Fill mean and width; give how many broke down, their widths NaN."""
        if slots is not None:
            raise ValueError("all arms have one model here; name no slots")
        model = self.coefficients(0), self._inverse(0), mean, width
        work = rows.n_users * rows.n_arms * rows.width
        if isinstance(rows, SparseRows):
            return over_arms(score_shared, (rows.parts, *model), rows.n_arms, work)
        return over_arms(score_shared_full, (rows.matrix, *model), rows.n_arms, work * rows.width // 2)

    def draw(self, rows: Rows, slots: Ints | None, rng: np.random.Generator) -> Floats:
        """Draw how far off each mean is, in widths: normal, and correlated where arms share a model."""
        drawn = rows.times(self.root_of(0).T @ rng.standard_normal((rows.n_users, self.width)).T)
        return in_units(drawn, self.score(rows, slots)[1])

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
        while (outcome := self._learn(slot, row, reward, weight)) != LEARNED:
            if outcome == OUTSIDE:
                refuse_outside(self.width)
            if outcome == AFRESH:
                self._learn_afresh(slot, row, reward, weight)
                return
            self._make_room(slot, outcome)

    def _learn(self, slot: int, row: Row, reward: float, weight: float) -> int:
        how = _REFRESH_LEVERAGE, self._refresh_every, self.ridge
        return self._kernel(row.parts, row.user, row.arm, reward, weight, self._all_state, slot, *how)

    def _make_room(self, slot: int, outcome: int) -> None:
        """Give a slot what it needs to learn a row."""
        if outcome == GROW_UP:
            self._grow_up(slot)

    def _grow_up(self, slot: int) -> int:
        """Give a slot its matrices, where it has none; give their place."""
        if not self._is_grown(slot):
            gram, inverse = self._gram(slot), self._inverse(slot)
            self.where[slot, GROWN] = place = self._grown.take()
            self._grown["gram"][place] = gram
            self._put(slot, inverse)
            self._tie_up()
        return int(self.where[slot, GROWN])

    def _put(self, slot: int, inverse: Floats) -> None:
        """Write A^-1 of a slot down, which has a theta that goes with it."""
        self._grown["inverse"][self.where[slot, GROWN]] = inverse

    def _is_grown(self, slot: int) -> bool:
        return 0 <= slot < self.n_slots and bool(self.where[slot, GROWN] >= 0)

    def _gram(self, slot: int) -> Floats:
        """Give A of a slot as a lower triangle; not a copy where it is kept as such."""
        if self._is_grown(slot):
            return np.asarray(self._grown["gram"][self.where[slot, GROWN]])
        return self.ridge * identity(self.width)

    def _inverse(self, slot: int) -> Floats:
        """Give A^-1 of a slot as a lower triangle; not a copy where it is kept as such."""
        if self._is_grown(slot):
            return np.asarray(self._grown["inverse"][self.where[slot, GROWN]])
        return identity(self.width) / self.ridge

    def _learn_afresh(self, slot: int, row: Row, reward: float, weight: float) -> None:
        """Learn one row by solving anew, on copies until it has succeeded."""
        columns, values, n_common = checked_entries(row, self.width)
        gram, moment = self._gram(slot).copy(), self.moment[slot].copy()
        if self.discount < 1.0:
            # The ridge does not fade: without it A would become singular in directions that come no more.
            gram = self.discount * gram + (1.0 - self.discount) * self.ridge * identity(self.width)
            moment *= self.discount
        ridge_learning.add_row(columns, values, reward, weight, gram, moment)
        self._solve(slot, gram, moment, 1, (columns[n_common:], values[n_common:]))

    def _solve(
        self, slot: int, gram: Floats, moment: Floats, n_rows: int, own: tuple[Ints, Floats] | None = None
    ) -> None:
        """Let a slot have A and b, to which n rows came; where they cannot be solved, nothing changes."""
        solution = solve(gram, moment)
        place = self._grow_up(slot)
        self._grown["gram"][place], self.moment[slot] = gram, moment
        self.rows_learned[slot] += n_rows
        if own is not None:
            self._keep_part(slot, *own)
        self._take(slot, *solution)

    def _keep_part(self, slot: int, columns: Ints, values: Floats) -> None:
        """Note the part of a row that is an arm's own: for banks that make use of it."""

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

    def _take(self, slot: int, inverse: Floats, theta: Floats, log_det: float) -> None:
        """Let a slot, which has matrices, have what was computed afresh."""
        self.theta[slot] = theta
        self.log_det[slot] = log_det
        self.since_refresh[slot] = 0
        self._put(slot, inverse)

    def reset(self, slot: int) -> None:
        """Let a slot forget all that it has learned."""
        if slot < self.n_slots:
            if self._is_grown(slot):
                self._give_back(int(self.where[slot, GROWN]))
            self._blank(slice(slot, slot + 1))

    def _give_back(self, place: int) -> None:
        self._grown.give_back(place)

    def absorb(self, other: RidgeBank, pairs: Iterable[tuple[int, int]]) -> None:
        """Add what another bank has learned, slot by slot: pairs of a slot of ours and one of theirs."""
        for slot, other_slot in pairs:
            self._absorb(slot, other, other_slot)

    def _absorb(self, slot: int, other: RidgeBank, other_slot: int) -> None:
        """Add what a slot of another bank has learned: A and b are sums, so they add up."""
        if other._is_grown(other_slot):
            gram = other._gram(other_slot) - self.ridge * identity(self.width)
            self.add_sums(slot, gram, other.moment[other_slot], int(other.rows_learned[other_slot]))

    def add_sums(self, slot: int, gram: Floats, moment: Floats, n_rows: int = 1) -> None:
        """Add to A and b of a slot, and solve afresh."""
        if slot >= self.n_slots:
            self._grow(slot + 1)
        self._solve(slot, self._gram(slot) + gram, self.moment[slot] + moment, n_rows)

    def add_rows(self, sums: RowSums, pairs: Iterable[tuple[int, int]]) -> None:
        """Learn rows that have been summed up, slot by slot: pairs of a slot of ours and one of theirs."""
        for slot, theirs in pairs:
            self.add_sums(slot, sums.gram[theirs], sums.moment[theirs], int(sums.count[theirs]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the state as arrays, without the slots at the end that hold nothing."""
        learned = np.flatnonzero(self.rows_learned)
        used = int(learned[-1]) + 1 if learned.size else 0
        return {name: getattr(self, name)[:used] for name in self._ARRAYS} | self._grown.used()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the state from arrays that `arrays` gave."""
        # The kernels do not check their indices, so nothing wrong must reach them.
        self._check(arrays)
        self._take_over(arrays)
        self._tie_up()

    def _take_over(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Copy arrays that have been checked."""
        places = arrays["where"][:, GROWN]
        self._grown.restore(arrays, places[places != -1].tolist())
        for name in self._ARRAYS:
            setattr(self, name, np.array(arrays[name]))

    def _check(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Refuse arrays that cannot be the state of a bank."""
        check_shapes(arrays, {name: getattr(self, name) for name in self._ARRAYS})
        check_shapes(arrays, self._grown.arrays)

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


def check_shapes(arrays: dict[str, NDArray[Any]], ours: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays that are not of one length, or not in the shape and type of ours."""
    n = len(arrays[next(iter(ours))])
    for name, array in ours.items():
        if arrays[name].shape != (n, *array.shape[1:]) or arrays[name].dtype != array.dtype:
            raise ValueError(f"{name} has shape {arrays[name].shape} and type {arrays[name].dtype}")


def in_units(deviations: Floats, width: Floats) -> Floats:
    """Divide deviations by their widths; where there is no width there is no deviation."""
    return np.divide(deviations, width, out=np.zeros(width.shape), where=width > 0.0)


def broken_down(slots: Ints | None, broken: NDArray[np.bool_]) -> Iterable[tuple[int, int, int]]:
    """Name what has broken down: slot, user, arm."""
    for user, arm in np.argwhere(broken).tolist():
        yield (0 if slots is None else int(slots[arm])), user, arm
