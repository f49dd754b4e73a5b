"""A bank with a model for each arm: young ones by their steps, grown ones in lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.array_pool import Pool
from fairbandits.models.kernels import blocks, low_rank
from fairbandits.models.kernels.blocks import MOST_PENDING
from fairbandits.models.kernels.disjoint_learning import keep_part, learn_arm_row
from fairbandits.models.kernels.disjoint_scoring import score_disjoint, score_full
from fairbandits.models.kernels.triangles import FIRST_STEP, GROWN, N_STEPS, NO_PLACE, add_outer
from fairbandits.models.kernels.vectors import LANES
from fairbandits.models.ridge import Floats, Ints, RidgeBank, check_shapes
from fairbandits.models.rows import Row, Rows, SparseRows
from fairbandits.models.threads import over_arms


class ArmBank(RidgeBank):
    """Ridge regressions as a `RidgeBank` has them, a slot for each arm: the disjoint model.

    A slot that has learned little has no matrices (see `young`), unless there is a discount. Those that have
    learned more have A^-1 side by side in blocks of eight (see `lanes`), which take their memory together.

    Examples
    --------
    >>> from fairbandits.models import ArmBank, as_rows
    >>> import numpy as np
    >>> bank = ArmBank(width=2, ridge=1.0)
    >>> rows = as_rows([[1.0, 0.0], [1.0, 0.0]])
    >>> bank.learn(0, rows.row(0, 0), reward=1.0)
    >>> mean, width = bank.score(rows, np.array([0, -1]))
    >>> mean, width.round(6)
    (array([[0.5, 0. ]]), array([[0.707107, 1.      ]]))
    """

    _kernel = staticmethod(learn_arm_row)

    def __init__(self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0) -> None:
        self._young = Pool({"steps": ((width,), dtype), "rows": ((width + 2,), np.float64)})
        self._lanes = blocks.blank(0, width, dtype)
        # The names of the own parts that are kept, 0 where it is not known: names are not for files.
        self._names: Ints = np.zeros(0, np.int64)
        super().__init__(width, ridge, dtype, discount)
        n_steps = low_rank.most_steps(width) if discount == 1.0 else 0
        self.where = np.empty((0, FIRST_STEP + n_steps), np.int64)
        self._tie_up()

    def _pool(self) -> Pool:
        """Make the places of grown models: A; how many steps wait; the own part of the row learned last."""
        return Pool(
            {
                "gram": ((self.width * (self.width + 1) // 2,), np.float64),
                "pending": ((), np.int64),
                # The columns of a part stand behind their number.
                "part_columns": ((self.width + 1,), np.int64),
                "part_values": ((self.width,), np.float64),
            }
        )

    def _tie_up(self) -> None:
        grown = self._grown
        parts = grown["pending"], grown["part_columns"], grown["part_values"]
        self._state = self.where, self.theta, self._young["steps"], self._lanes, *parts, self._names
        self._all_state = *self._state, self._young["rows"], grown["gram"], *self._sums

    def score(self, rows: Rows, slots: Ints | None = None) -> tuple[Floats, Floats]:
        """Predict for every user and arm: the mean reward, and the width `sqrt(x' A^-1 x)`.

        Parameters
        ----------
        rows : Rows
            For each user one row per arm.
        slots : array of int, shape (n_arms,)
            The model of each arm, -1 for one that has learned nothing.

        Returns
        -------
        mean, width : arrays of shape (n_users, n_arms)
        """
        return super().score(rows, slots)

    def _fill(self, rows: Rows, slots: Ints | None, mean: Floats, width: Floats) -> int:
        if slots is None:
            raise ValueError("every arm has a model of its own here; name their slots")
        model = slots, self._state, self.ridge, mean, width
        work = rows.n_users * rows.n_arms * rows.width
        if isinstance(rows, SparseRows):
            return over_arms(score_disjoint, (rows.parts, *model), rows.n_arms, work)
        return over_arms(score_full, (rows.matrix, *model), rows.n_arms, work * rows.width // 2)

    def draw(self, rows: Rows, slots: Ints | None, rng: np.random.Generator) -> Floats:
        """Draw how far off each mean is, in widths: one row per arm, so that drawing a score is drawing theta."""
        return rng.standard_normal((rows.n_users, rows.n_arms))

    def _make_room(self, slot: int, outcome: int) -> None:
        if outcome == NO_PLACE:
            self.where[slot, FIRST_STEP + self.where[slot, N_STEPS]] = self._young.take()
            self._tie_up()
        super()._make_room(slot, outcome)

    def _grow_up(self, slot: int) -> int:
        steps = self._steps(slot).tolist()
        place = super()._grow_up(slot)
        for step in steps:
            self._young.give_back(step)
        self.where[slot, N_STEPS:] = -1
        self.where[slot, N_STEPS] = 0
        return place

    def _put(self, slot: int, inverse: Floats) -> None:
        place, grown = int(self.where[slot, GROWN]), self._grown
        self._widen()
        part = grown["part_columns"][place], grown["part_values"][place]
        blocks.put(self._lanes, grown["pending"], place, inverse, self.theta[slot], *part)

    def _widen(self) -> None:
        """Make lanes for all places."""
        n_blocks = _n_blocks(self._grown["pending"])
        if n_blocks > len(self._lanes):
            before, self._lanes = self._lanes, blocks.blank(n_blocks, self.width, self.dtype)
            self._lanes[: len(before)] = before
            self._names = np.append(self._names, np.zeros(n_blocks * LANES - len(self._names), np.int64))
            self._tie_up()

    def _keep_part(self, slot: int, columns: Ints, values: Floats) -> None:
        place = self.where[slot, GROWN]
        keep_part(columns, values, self._grown["part_columns"][place], self._grown["part_values"][place])
        self._names[place] = 0

    def _steps(self, slot: int) -> Ints:
        """Give the places of the steps of a young slot."""
        if not 0 <= slot < self.n_slots:
            return np.empty(0, np.int64)
        return self.where[slot, FIRST_STEP : FIRST_STEP + self.where[slot, N_STEPS]]

    def _gram(self, slot: int) -> Floats:
        gram = super()._gram(slot)
        for step in self._steps(slot):
            add_outer(gram, self._young["rows"][step, : self.width], 1.0)
        return gram

    def _inverse(self, slot: int) -> Floats:
        """Give A^-1 of a slot as a lower triangle."""
        if self._is_grown(slot):
            place = self.where[slot, GROWN]
            inverse, steps = blocks.taken_out(self._lanes, place, self._grown["pending"][place], self.width)
        else:
            inverse, steps = super()._inverse(slot), self._young["steps"][self._steps(slot)]
        for step in steps:
            add_outer(inverse, step.astype(np.float64), -1.0)
        return inverse

    def reset(self, slot: int) -> None:
        """Let a slot forget all that it has learned."""
        for step in self._steps(slot):
            self._young.give_back(int(step))
        super().reset(slot)

    def _give_back(self, place: int) -> None:
        super()._give_back(place)
        self._lanes[place // LANES, :, place % LANES] = 0
        self._names[place] = 0

    def _absorb(self, slot: int, other: RidgeBank, other_slot: int) -> None:
        super()._absorb(slot, other, other_slot)
        if not isinstance(other, ArmBank):
            raise TypeError(f"an ArmBank absorbs another; got a {type(other).__name__}")
        for step in other._steps(other_slot):
            stored = other._young["rows"][step]
            columns = np.flatnonzero(stored[: self.width])
            row = Row.of(columns, stored[columns], columns.size, self.width)
            self.learn(slot, row, float(stored[self.width]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the state as arrays, without the slots at the end that hold nothing."""
        arrays = super().arrays() | self._young.used()
        return arrays | {"lanes": self._lanes[: _n_blocks(arrays["pending"])]}

    def _take_over(self, arrays: dict[str, NDArray[Any]]) -> None:
        where = arrays["where"]
        is_step = np.arange(where.shape[1] - FIRST_STEP) < where[:, N_STEPS, None]
        self._young.restore(arrays, where[:, FIRST_STEP:][is_step].tolist())
        self._lanes = blocks.blank(len(arrays["lanes"]), self.width, self.dtype)
        self._lanes[:] = arrays["lanes"]
        self._names = np.zeros(len(self._lanes) * LANES, np.int64)
        super()._take_over(arrays)

    def _check(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._check(arrays)
        check_shapes(arrays, self._young.arrays)
        check_shapes(arrays, {"lanes": self._lanes})
        places, n_steps = arrays["where"][:, FIRST_STEP:], arrays["where"][:, N_STEPS, None]
        is_step = np.arange(places.shape[1]) < n_steps
        if (n_steps < 0).any() or (n_steps > places.shape[1]).any() or (places[~is_step] != -1).any():
            raise ValueError("where names steps that there are none of")
        parts, pending = arrays["part_columns"], arrays["pending"]
        if not ((parts >= 0) & (parts < self.width + (np.arange(self.width + 1) == 0))).all():
            raise ValueError(f"part_columns points outside the {self.width} columns")
        if not ((pending >= 0) & (pending < MOST_PENDING)).all() or len(arrays["lanes"]) != _n_blocks(pending):
            raise ValueError("pending counts steps that there are none of, or there are not lanes for all places")


def _n_blocks(places: NDArray[Any]) -> int:
    return -(-len(places) // LANES)
