"""Ridge regressions that have no matrices while they have few observations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.array_pool import ArrayPool
from fairbandits.models.kernels.batch_learning import (
    learn_groups,
    learn_groups_low_rank,
    open_matrices,
    sum_inverses,
    traces,
)
from fairbandits.models.kernels.blocks import empty_blocks
from fairbandits.models.kernels.inverses import copy_inverses
from fairbandits.models.kernels.layouts import (
    FIRST_STEP,
    MATRICES,
    N_STEPS,
    NEEDS_STEP,
    DisjointSums,
    Fields,
    Floats,
    Ints,
    SplitRows,
)
from fairbandits.models.kernels.low_rank import learn_low_rank, low_rank_product, most_steps
from fairbandits.models.kernels.triangles import add_outer
from fairbandits.models.ridge import MOST_LEVERAGE, RidgeRegressions, check_shapes
from fairbandits.models.row_batch import RowBatch
from fairbandits.models.rows import Row

# If A is scaled to a unit diagonal, it has no eigenvalue below ridge / trace(A), and the rounding errors of
# Cholesky's method are below d * 1e-16. So the method cannot break down if the trace is at most this number times
# ridge / d.
_MOST_TRACE = 1e13


class LowRankRegressions(RidgeRegressions):
    """Ridge regressions in slots; one with few observations has no matrices, unless there is a discount.

    See `kernels.low_rank`. Rows can be added one by one or many at once.
    """

    def __init__(self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0) -> None:
        self._low_rank = ArrayPool({"steps": ((width,), dtype), "rows": ((width + 2,), np.float64)})
        # Kernels for regressions without matrices take the layout of the disjoint model, which has no blocks here.
        nothing: Ints = np.zeros(0, np.int64)
        no_parts = nothing.reshape(0, 1), np.zeros((0, 1)), nothing
        self._no_blocks = empty_blocks(0, width, dtype), nothing, *no_parts
        super().__init__(width, ridge, dtype, discount)

    def _most_steps(self) -> int:
        return most_steps(self.width) if self.discount == 1.0 else 0

    def _collect(self) -> None:
        super()._collect()
        self._steps_state: Fields = (self.where, self.theta, self._low_rank["steps"], *self._no_blocks)
        self._collect_sums()

    def _collect_sums(self) -> None:
        self._sums: Fields = tuple(
            DisjointSums(
                self._low_rank["rows"],
                self._matrices["gram"],
                self.moment,
                self.log_det,
                self.rows_learned,
                self.since_refresh,
            )
        )

    # -- learning one by one ---------------------------------------------------------------------------

    def _update(self, slot: int, row: Row, reward: float, weight: float) -> int:
        if self.where[slot, MATRICES] >= 0:
            return super()._update(slot, row, reward, weight)
        at = tuple(row.parts), row.user, row.arm, reward, weight
        return learn_low_rank(*at, self._steps_state, self._sums, slot, self.ridge)

    def _allocate(self, slot: int, outcome: int) -> None:
        if outcome == NEEDS_STEP:
            self.where[slot, FIRST_STEP + self.where[slot, N_STEPS]] = self._low_rank.take()
            self._collect()
        super()._allocate(slot, outcome)

    def _add_matrices(self, slot: int) -> int:
        steps = self._steps(slot).tolist()
        place = super()._add_matrices(slot)
        for step in steps:
            self._low_rank.give_back(step)
        self.where[slot, N_STEPS:] = -1
        self.where[slot, N_STEPS] = 0
        return place

    def forget(self, arm: int) -> None:
        """Empty the slot of an arm."""
        for step in self._steps(arm):
            self._low_rank.give_back(int(step))
        super().forget(arm)

    def _merge_slot(self, slot: int, other: Self, other_slot: int) -> None:
        super()._merge_slot(slot, other, other_slot)
        for step in other._steps(other_slot):
            stored = other._low_rank["rows"][step]
            columns = np.flatnonzero(stored[: self.width])
            row = Row.of(columns, stored[columns], columns.size, self.width)
            self.learn(slot, row, float(stored[self.width]))

    # -- learning many at once -------------------------------------------------------------------------

    def learn_batch(self, batch: RowBatch, arms: Ints, rewards: Floats) -> bool:
        """Add many rows of arms, as if one by one and in order; rows of arm -1 are left out.

        Returns False, having changed nothing, if one of the rows might be rejected; the rows must then be added
        one by one.
        """
        if not self.accepts(batch, arms):
            return False
        self.reserve(arms)
        with self.marking(batch, arms):
            for block in batch.blocks(sorted_by_slot(arms)):
                self.learn_sorted(batch.gather(block), arms[block], rewards[block])
        return True

    @contextmanager
    def marking(self, batch: RowBatch, slots: Ints) -> Iterator[None]:
        """Mark the rows that were added before an exception, given the slots of all rows; call `reserve` first."""
        before = self.rows_learned.copy()
        try:
            yield
        except BaseException:
            batch.learned |= first_rows(slots, self.rows_learned - before)
            raise

    def accepts(self, batch: RowBatch, slots: Ints) -> bool:
        """Return whether all rows can be added safely: whether A stays far from singular in float64."""
        squares, known = batch.squares(), slots >= 0
        if not (np.isfinite(squares).all() and known.any()):
            return not known.any()
        added = np.bincount(slots[known], squares[known])
        touched = np.flatnonzero(np.bincount(slots[known]))
        before = traces(self.where, self._matrices["gram"], touched, self.ridge, self.width)
        return bool((before + added[touched] <= _MOST_TRACE / self.width * self.ridge).all())

    def reserve(self, slots: Ints) -> None:
        """Make room for all rows at once, which is fastest, given their slots (-1 for none)."""
        if slots.max(initial=-1) >= self.n_slots:
            self._add_slots(int(slots.max()) + 1)
        counts = np.bincount(slots[slots >= 0])
        self._low_rank.reserve(int(self._room(np.arange(counts.size), counts).sum()))
        self._collect()

    def _room(self, slots: Ints, counts: Ints) -> Ints:
        """Return the largest number of low-rank steps that each slot can take, given its number of new rows."""
        room = np.minimum(counts, self._most_steps() - self.where[slots, N_STEPS])
        return np.where(self.where[slots, MATRICES] < 0, room, 0)

    def learn_sorted(self, rows: SplitRows, slots: Ints, rewards: Floats) -> None:
        """Add rows of many users that are sorted by slot and that `accepts` has accepted."""
        firsts = group_firsts(slots)
        heads, sizes = slots[firsts[:-1]], np.diff(firsts)
        steps = self._low_rank.take_many(int(self._room(heads, sizes).sum()))
        learned = np.empty(sizes.size, np.int64)
        self._collect()
        fields: Fields = tuple(rows)
        taken = learn_groups_low_rank(
            fields, firsts, slots, rewards, self._steps_state, self._sums, self.ridge, steps, learned
        )
        self._low_rank.give_back_many(steps[taken:])
        is_open = (learned < sizes) & (self.where[heads, MATRICES] < 0)
        freed = self._open_many(heads[is_open])
        # Nothing may fail between these calls, because the newly opened matrices are singular.
        self._learn_rest(fields, firsts[:-1] + learned, firsts[1:], is_open, slots, rewards)
        self._low_rank.give_back_many(freed)

    def _learn_rest(
        self,
        rows: Fields,
        firsts: Ints,
        stops: Ints,
        is_open: NDArray[np.bool_],
        slots: Ints,
        rewards: Floats,
    ) -> None:
        """Add groups of rows to slots with matrices; where `is_open` is true, A^-1 has not been written yet."""
        limits = MOST_LEVERAGE, self._refresh_every, self.ridge, self.width
        learn_groups(rows, firsts, stops, is_open, slots, rewards, self._state, *limits)

    def _open_many(self, slots: Ints) -> Ints:
        """Allocate the matrices of slots that have none; A^-1 is still to be written.

        Returns the places of their low-rank steps, which must be given back.
        """
        freed = np.empty(int(self.where[slots, N_STEPS].sum()), np.int64)
        if slots.size:
            self._reserve_matrices(slots.size)
            places = self._matrices.take_many(slots.size)
            open_matrices(slots, places, self._steps_state, self._sums, self.ridge, freed)
        return freed

    def sum_inverses(self, slots: Ints) -> tuple[Floats, Floats]:
        """Sum A^-1, as a packed triangle, and theta over slots."""
        inverses = self._matrices["inverse"]
        return sum_inverses(self.where, inverses, self._low_rank["steps"], self.theta, slots, self.ridge)

    # -- reading ---------------------------------------------------------------------------------------

    def product(self, slot: int, columns: Ints, values: Floats) -> Floats:
        """Return A^-1 x for a slot."""
        if self._has_matrices(slot):
            return super().product(slot, columns, values)
        return low_rank_product(self._steps_state, slot, columns, values, self.ridge)

    def packed_inverses(self, slots: Ints) -> Floats:
        """Return copies of A^-1 for many slots as packed triangles; for an empty slot, A^-1 is ridge^-1 I."""
        inverses = super().packed_inverses(slots)
        known = np.flatnonzero((slots >= 0) & (slots < self.n_slots))
        steps = known[self.where[slots[known], MATRICES] < 0]
        some = np.empty((len(steps), inverses.shape[1]))
        copy_inverses(self._steps_state, slots[steps], self.ridge, some)
        inverses[steps] = some
        return inverses

    def _steps(self, slot: int) -> Ints:
        """Return the places of the low-rank steps of a slot."""
        if not 0 <= slot < self.n_slots:
            return np.empty(0, np.int64)
        return self.where[slot, FIRST_STEP : FIRST_STEP + self.where[slot, N_STEPS]]

    def _gram(self, slot: int) -> Floats:
        gram = super()._gram(slot)
        for step in self._steps(slot):
            add_outer(gram, self._low_rank["rows"][step, : self.width], 1.0)
        return gram

    def _inverse(self, slot: int) -> Floats:
        inverse = super()._inverse(slot)
        for step in self._low_rank["steps"][self._steps(slot)]:
            add_outer(inverse, step.astype(np.float64), -1.0)
        return inverse

    # -- state -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays, without empty slots at the end."""
        return super().arrays() | self._low_rank.used()

    def with_steps(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Convert arrays of an older version, in which all regressions had matrices, to those of this version."""
        if "steps" in arrays:
            return arrays
        where = np.full((len(arrays["where"]), self.where.shape[1]), -1, np.int64)
        where[:, :FIRST_STEP] = arrays["where"][:, :FIRST_STEP]
        return arrays | {"where": where} | {name: array[:0] for name, array in self._low_rank.arrays.items()}

    def _copy_in(self, arrays: dict[str, NDArray[Any]]) -> None:
        where = arrays["where"]
        is_step = np.arange(where.shape[1] - FIRST_STEP) < where[:, N_STEPS, None]
        self._low_rank.restore(arrays, where[:, FIRST_STEP:][is_step].tolist())
        super()._copy_in(arrays)

    def _check(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._check(arrays)
        check_shapes(arrays, self._low_rank.arrays)
        places, n_steps = arrays["where"][:, FIRST_STEP:], arrays["where"][:, N_STEPS, None]
        is_step = np.arange(places.shape[1]) < n_steps
        if (n_steps < 0).any() or (n_steps > places.shape[1]).any() or (places[~is_step] != -1).any():
            raise ValueError("where names low-rank steps that do not exist")


def sorted_by_slot(slots: Ints) -> Ints:
    """Return the stable order that sorts rows by slot; rows of slot -1 are left out."""
    order = np.argsort(slots, kind="stable")
    return order[np.count_nonzero(slots < 0) :]


def group_firsts(slots: Ints) -> Ints:
    """Return where each group of equal slots begins, and where the last one ends."""
    edges = np.flatnonzero(np.diff(slots, prepend=-1))
    return np.append(edges, slots.size)


def first_rows(slots: Ints, counts: Ints) -> NDArray[np.bool_]:
    """Return whether each row is among the first of its slot, given a count per slot; False for slot -1."""
    order = sorted_by_slot(slots)
    firsts = group_firsts(slots[order])
    place_in_group = np.arange(order.size) - np.repeat(firsts[:-1], np.diff(firsts))
    is_first = np.zeros(slots.size, np.bool_)
    is_first[order] = place_in_group < counts[slots[order]]
    return is_first
