"""Ridge regressions that are updated one row at a time."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.array_pool import ArrayPool
from fairbandits.models.kernels.cholesky import checked_invert, identity, solve, unpacked
from fairbandits.models.kernels.layouts import (
    AFRESH,
    FIRST_STEP,
    LEARNED,
    MATRICES,
    N_STEPS,
    NEEDS_MATRICES,
    OUTSIDE,
    Floats,
    Ints,
    RidgeState,
)
from fairbandits.models.kernels.ridge_learning import add_observation, learn_row
from fairbandits.models.kernels.triangles import multiply
from fairbandits.models.normal_equations import NormalEquations
from fairbandits.models.reward_model import RewardModel
from fairbandits.models.rows import Row, Rows, checked_entries, refuse_outside

# Each rank-one update adds a rounding error of about one unit in the last place of the largest entry of A^-1;
# after a thousand updates, eight digits are still correct, even in a direction that has been seen 100,000 times.
_REFRESH_EVERY = 1000
# For wide models, a refresh (d^3) must not cost more than the updates (d^2) between two refreshes.
_REFRESH_EVERY_WIDTHS = 4
# One update divides A^-1 along x by 1 + leverage, so it loses as many digits in that direction as 1 + leverage
# has.
MOST_LEVERAGE = 1e5


class RidgeRegressions(RewardModel):
    """Ridge regressions of one width, each in a slot: `A = ridge * I + sum w x x'`, `b = sum w r x`.

    A^-1 and theta are maintained by rank-one updates, and recomputed from A and b before rounding errors matter. A
    slot without any rows has no matrices.

    Parameters
    ----------
    width : int
        The number of features.
    ridge : float
        The ridge penalty, > 0.
    dtype : {"float64", "float32"}
        The type of A^-1. In float32, A^-1 takes half the memory, and scores are accurate to about six digits; A
        and b, from which A^-1 is recomputed, are always float64.
    discount : float
        The factor by which the weight of a row shrinks when another row is added to its slot: `A = ridge * I + sum
        d^k x x'` and `b = sum d^k r x`, where x is the row that was added k rows ago. With a discount d below 1,
        the regression is solved from scratch for every row, which costs width^3 operations instead of width^2.
    """

    is_mergeable = True

    # Per slot: the place of its matrices, b, theta, log det A, and the number of rows: all rows, and those since
    # A^-1 was recomputed.
    _ARRAYS = ("where", "moment", "theta", "log_det", "rows_learned", "since_refresh")

    def __init__(self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0) -> None:
        super().__init__(width)
        self.ridge = ridge
        self.dtype = dtype
        self.discount = discount
        self.where: Ints = np.empty((0, FIRST_STEP + self._most_steps()), np.int64)
        self.moment: Floats = np.empty((0, width))
        self.theta: Floats = np.empty((0, width))
        self.log_det: Floats = np.empty(0)
        self.rows_learned: Ints = np.empty(0, np.int64)
        self.since_refresh: Ints = np.empty(0, np.int64)
        self._matrices = self._matrix_pool()
        self._refresh_every = max(_REFRESH_EVERY, _REFRESH_EVERY_WIDTHS * width)
        #: The number of times that slots were emptied or restored; each time, copies on devices start over (see
        #: `models.device`).
        self.n_resets = 0
        self._collect()

    @property
    def order_dependent(self) -> bool:  # type: ignore[override]
        """Whether the same rewards in a different order lead to different predictions."""
        return self.discount < 1.0

    def _most_steps(self) -> int:
        return 0

    def _matrix_pool(self) -> ArrayPool:
        """Return the pool of the matrices A and A^-1, which are stored as packed triangles."""
        triangle = (self.width * (self.width + 1) // 2,)
        return ArrayPool({"gram": (triangle, np.float64), "inverse": (triangle, self.dtype)})

    def _collect(self) -> None:
        """Collect the arrays that kernels take; must be called whenever one of them is replaced."""
        pool = self._matrices
        self._state: tuple[Any, ...] = tuple(
            RidgeState(
                self.where,
                self.theta,
                pool["inverse"],
                pool["gram"],
                self.moment,
                self.log_det,
                self.rows_learned,
                self.since_refresh,
            )
        )

    @property
    def n_slots(self) -> int:
        """The number of slots with allocated memory."""
        return len(self.theta)

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Predict the reward of every arm for every user; defined by subclasses."""
        raise NotImplementedError

    def _repair(self, rows: Rows, slots: Ints, width: Floats) -> None:
        """Recompute from A itself the widths that are NaN because rounding has made their variances negative."""
        root_of = functools.cache(self.root_of)
        for user, arm in np.argwhere(np.isnan(width)).tolist():
            width[user, arm] = np.linalg.norm(root_of(int(slots[arm])) @ rows.row(user, arm).dense())

    # -- learning --------------------------------------------------------------------------------------

    def learn(self, arm: int, row: Row, reward: float, weight: float = 1.0) -> None:
        """Add a row to the slot of an arm, `weight` times; if the row is rejected, nothing changes.

        Raises
        ------
        ValueError
            If A would no longer be positive definite in float64, because of very large columns that are nearly
            copies of each other.
        """
        if row.width != self.width:
            raise ValueError(f"row must be {self.width} wide, got {row.width}")
        if arm >= len(self.theta):
            self._add_slots(arm + 1)
        if self.discount < 1.0:
            self._learn_afresh(arm, row, reward, weight)
            return
        while (outcome := self._update(arm, row, reward, weight)) != LEARNED:
            if outcome == OUTSIDE:
                refuse_outside(row.entries()[0], self.width)
            if outcome == AFRESH:
                self._learn_afresh(arm, row, reward, weight)
                return
            self._allocate(arm, outcome)

    def _update(self, slot: int, row: Row, reward: float, weight: float) -> int:
        """Update A^-1 and theta with a row; return the outcome."""
        at = tuple(row.parts), row.user, row.arm, reward, weight
        return learn_row(*at, self._state, slot, MOST_LEVERAGE, self._refresh_every, self.ridge)

    def _allocate(self, slot: int, outcome: int) -> None:
        """Allocate the memory that a slot needs before a row can be added."""
        if outcome == NEEDS_MATRICES:
            self._add_matrices(slot)

    def _add_matrices(self, slot: int) -> int:
        """Allocate the matrices of a slot that has none; return their place."""
        if not self._has_matrices(slot):
            gram, inverse = self._gram(slot), self._inverse(slot)
            self._reserve_matrices(1)
            self.where[slot, MATRICES] = place = self._matrices.take()
            self._matrices["gram"][place] = gram
            self._write_inverse(slot, inverse)
        return int(self.where[slot, MATRICES])

    def _reserve_matrices(self, n: int) -> None:
        """Allocate all the memory that n more slots with matrices need, before any of them changes."""
        self._matrices.reserve(n)
        self._collect()

    def _write_inverse(self, slot: int, inverse: Floats) -> None:
        self._matrices["inverse"][self.where[slot, MATRICES]] = inverse

    def _has_matrices(self, slot: int) -> bool:
        return 0 <= slot < self.n_slots and bool(self.where[slot, MATRICES] >= 0)

    def _learn_afresh(self, slot: int, row: Row, reward: float, weight: float) -> None:
        """Add a row and solve from scratch, working on copies until that has succeeded."""
        columns, values, n_shared = checked_entries(row, self.width)
        gram, moment = self._gram(slot).copy(), self.moment[slot].copy()
        if self.discount < 1.0:
            # The ridge is not discounted: without it, A would become singular in directions that no longer occur.
            gram = self.discount * gram + (1.0 - self.discount) * self.ridge * identity(self.width)
            moment *= self.discount
        add_observation(columns, values, reward, weight, gram, moment)
        self._solve(slot, gram, moment, 1, (columns[n_shared:], values[n_shared:]))

    def _solve(
        self, slot: int, gram: Floats, moment: Floats, n_rows: int, part: tuple[Ints, Floats] | None = None
    ) -> None:
        """Set A and b of a slot that gained n rows; if the equations cannot be solved, nothing changes."""
        inverse, theta, log_det = solve(gram, moment)
        place = self._add_matrices(slot)
        self._matrices["gram"][place], self.moment[slot] = gram, moment
        self.rows_learned[slot] += n_rows
        if part is not None:
            self._set_part(slot, *part)
        self.theta[slot] = theta
        self.log_det[slot] = log_det
        self.since_refresh[slot] = 0
        self._write_inverse(slot, inverse)

    def _set_part(self, slot: int, columns: Ints, values: Floats) -> None:
        """Record the arm part of the last row, for models that use it."""

    def add_sums(self, slot: int, gram: Floats, moment: Floats, n_rows: int = 1) -> None:
        """Add to A and b of a slot, and solve again."""
        if slot >= self.n_slots:
            self._add_slots(slot + 1)
        self._solve(slot, self._gram(slot) + gram, self.moment[slot] + moment, n_rows)

    def learn_equations(self, equations: NormalEquations, pairs: Iterable[tuple[int, int]]) -> None:
        """Add rows that have been summed, given pairs of an arm and its number in the equations."""
        for slot, theirs in pairs:
            self.add_sums(slot, equations.gram[theirs], equations.moment[theirs], int(equations.count[theirs]))

    def slots_in_equations(self, arms: Ints) -> Ints:
        """Return the slots of normal equations in which the rows of the given arms are summed."""
        return arms

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the learned state of other regressions, given pairs of a slot here and the matching slot there."""
        for slot, theirs in pairs:
            self._merge_slot(slot, other, theirs)

    def _merge_slot(self, slot: int, other: Self, other_slot: int) -> None:
        # A and b are sums, so they add up.
        if other._has_matrices(other_slot):
            gram = other._gram(other_slot) - self.ridge * identity(self.width)
            self.add_sums(slot, gram, other.moment[other_slot], int(other.rows_learned[other_slot]))

    def forget(self, arm: int) -> None:
        """Empty the slot of an arm."""
        if 0 <= arm < self.n_slots:
            self.n_resets += 1
            if self._has_matrices(arm):
                self._free_matrices(int(self.where[arm, MATRICES]))
            self._clear(slice(arm, arm + 1))

    def _free_matrices(self, place: int) -> None:
        self._matrices.give_back(place)

    # -- reading; a slot that holds nothing has A = ridge * I ------------------------------------------

    def coefficients(self, arm: int) -> Floats:
        """Return theta of an arm."""
        return self.theta[arm].copy() if 0 <= arm < self.n_slots else np.zeros(self.width)

    def mean_of(self, arm: int, columns: Ints, values: Floats) -> float:
        """Return the expected reward of one row, which is given by its non-zero entries."""
        return float(values @ self.coefficients(arm)[columns])

    def log_det_of(self, slot: int) -> float:
        """Return log det A for a slot."""
        return float(self.log_det[slot]) if slot < self.n_slots else self.width * math.log(self.ridge)

    def root_of(self, slot: int) -> Floats:
        """Return the matrix M of a slot, where A^-1 = M' M, computed from A itself."""
        root, _, _ = checked_invert(self._gram(slot), self.width)
        return root

    def inverse_of(self, slot: int) -> Floats:
        """Return A^-1 of a slot."""
        return unpacked(self._inverse(slot), self.width)

    def packed_inverses(self, slots: Ints) -> Floats:
        """Return copies of A^-1 for many slots as packed triangles; for an empty slot, A^-1 is ridge^-1 I."""
        inverses = np.tile(identity(self.width) / self.ridge, (len(slots), 1))
        known = np.flatnonzero((slots >= 0) & (slots < self.n_slots))
        places = self.where[slots[known], MATRICES]
        inverses[known[places >= 0]] = self._matrices["inverse"][places[places >= 0]]
        return inverses

    def gram_of(self, slot: int) -> Floats:
        """Return A of a slot."""
        return unpacked(self._gram(slot), self.width)

    def product(self, slot: int, columns: Ints, values: Floats) -> Floats:
        """Return A^-1 x for a slot."""
        return multiply(self._inverse(slot), columns, values, self.width)

    def _gram(self, slot: int) -> Floats:
        """Return A of a slot as a packed triangle, without copying it if it is stored as one."""
        if self._has_matrices(slot):
            return np.asarray(self._matrices["gram"][self.where[slot, MATRICES]])
        return self.ridge * identity(self.width)

    def _inverse(self, slot: int) -> Floats:
        """Return A^-1 of a slot as a packed triangle, without copying it if it is stored as one."""
        if self._has_matrices(slot):
            return np.asarray(self._matrices["inverse"][self.where[slot, MATRICES]])
        return identity(self.width) / self.ridge

    # -- state -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays, without empty slots at the end."""
        learned = np.flatnonzero(self.rows_learned)
        used = int(learned[-1]) + 1 if learned.size else 0
        return {name: getattr(self, name)[:used] for name in self._ARRAYS} | self._matrices.used()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        # Kernels do not check their indices, so they must never receive invalid ones.
        self._check(arrays)
        self.n_resets += 1
        self._copy_in(arrays)
        self._collect()

    def _copy_in(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Copy in arrays that have been checked."""
        places = arrays["where"][:, MATRICES]
        self._matrices.restore(arrays, places[places != -1].tolist())
        for name in self._ARRAYS:
            setattr(self, name, np.array(arrays[name]))

    def _check(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Raise ValueError for arrays that cannot be the state of these regressions."""
        check_shapes(arrays, {name: getattr(self, name) for name in self._ARRAYS})
        check_shapes(arrays, self._matrices.arrays)

    def _add_slots(self, n_slots: int) -> None:
        """Make room for at least n_slots, by doubling, so that the amortised cost per slot is constant."""
        old = self.n_slots
        new = max(n_slots, 2 * old)
        # All arrays are allocated before any is replaced, so that nothing changes if memory runs out.
        arrays = {name: getattr(self, name) for name in self._ARRAYS}
        grown = {name: np.zeros((new, *array.shape[1:]), array.dtype) for name, array in arrays.items()}
        for name, array in arrays.items():
            grown[name][:old] = array
            setattr(self, name, grown[name])
        self._collect()
        self._clear(slice(old, new))

    def _clear(self, slots: slice) -> None:
        for name in self._ARRAYS:
            getattr(self, name)[slots] = 0
        self.where[slots] = -1
        self.where[slots, N_STEPS] = 0
        self.log_det[slots] = self.width * np.log(self.ridge)


def check_shapes(arrays: dict[str, NDArray[Any]], ours: dict[str, NDArray[Any]]) -> None:
    """Raise ValueError for arrays of different lengths, or with shapes or types other than ours."""
    n = len(arrays[next(iter(ours))])
    for name, array in ours.items():
        if arrays[name].shape != (n, *array.shape[1:]) or arrays[name].dtype != array.dtype:
            raise ValueError(f"{name} has shape {arrays[name].shape} and type {arrays[name].dtype}")


def in_widths(deviations: Floats, width: Floats) -> Floats:
    """Divide deviations by their widths; the result is 0 where the width is 0."""
    return np.divide(deviations, width, out=np.zeros(width.shape), where=width > 0.0)
