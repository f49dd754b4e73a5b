"""The disjoint model: a ridge regression for each arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.array_pool import ArrayPool
from fairbandits.models.kernels.batch_learning import (
    learn_groups_in_blocks,
)
from fairbandits.models.kernels.blocks import MOST_PENDING, empty_blocks, inverse_and_steps, write_regression
from fairbandits.models.kernels.disjoint_learning import learn_in_block
from fairbandits.models.kernels.disjoint_scoring import correct_scores, score_dense, score_sparse
from fairbandits.models.kernels.inverses import copy_inverses
from fairbandits.models.kernels.layouts import (
    LEARNED,
    MATRICES,
    DisjointState,
    Fields,
    Floats,
    Ints,
)
from fairbandits.models.kernels.low_rank import (
    score_dense_low_rank,
    score_sparse_low_rank,
)
from fairbandits.models.kernels.triangles import add_outer
from fairbandits.models.kernels.vectors import LANE_BITS, LANE_MASK, LANES
from fairbandits.models.low_rank_regressions import LowRankRegressions
from fairbandits.models.ridge import MOST_LEVERAGE, check_shapes
from fairbandits.models.rows import Row, Rows, SparseRows
from fairbandits.models.threads import LEAST_WORK, over_users


class DisjointModel(LowRankRegressions):
    """A ridge regression for each arm, each in its own slot.

    A regression with few observations has no matrices (see `kernels.low_rank`), unless there is a discount. The
    matrices of the others are stored in blocks of eight arms (see `kernels.blocks`), so memory grows eight arms at
    a time.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits.models import DisjointModel, as_rows
    >>> model = DisjointModel(width=2, ridge=1.0)
    >>> rows = as_rows([[1.0, 0.0], [1.0, 0.0]])
    >>> model.learn(0, rows.row(0, 0), reward=1.0)
    >>> mean, width = model.score(rows, np.array([0, -1]))
    >>> mean, width.round(6)
    (array([[0.5, 0. ]]), array([[0.707107, 1.      ]]))
    """

    def __init__(self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0) -> None:
        self._blocks = empty_blocks(0, width, dtype)
        # The names of the arm parts of column d, 0 where unknown. Names are valid only within a process, and are
        # not saved.
        self._part_names: Ints = np.zeros(0, np.int64)
        super().__init__(width, ridge, dtype, discount)

    def _matrix_pool(self) -> ArrayPool:
        """Return the pool of regressions with matrices: A, pending steps, and the arm part of column d."""
        return ArrayPool(
            {
                "gram": ((self.width * (self.width + 1) // 2,), np.float64),
                "pending": ((), np.int64),
                # The number of columns of a part comes first, then the columns.
                "part_columns": ((self.width + 1,), np.int64),
                "part_values": ((self.width,), np.float64),
            }
        )

    def _collect(self) -> None:
        pool = self._matrices
        self._state = tuple(
            DisjointState(
                self.where,
                self.theta,
                self._low_rank["steps"],
                self._blocks,
                pool["pending"],
                pool["part_columns"],
                pool["part_values"],
                self._part_names,
            )
        )
        self._steps_state = self._state
        self._collect_sums()

    # -- scoring ---------------------------------------------------------------------------------------

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Return the expected reward and the width `sqrt(x' A^-1 x)` of every arm for every user."""
        if rows.width != self.width or arms.size != rows.n_arms:
            raise ValueError(
                f"rows must be {self.width} wide with an arm each, got {rows.width} and {arms.size} arm(s)"
            )
        mean, width = np.empty((2, rows.n_users, rows.n_arms))
        kernel: Any
        contexts: Any
        if isinstance(rows, SparseRows):
            contexts, kernel = tuple(rows.parts), score_sparse if len(self._blocks) else score_sparse_low_rank
        else:
            contexts, kernel = rows.matrix, score_dense if len(self._blocks) else score_dense_low_rank
        args, out = (arms, self._state, self.ridge), (mean, width)
        unfinished = _call(kernel, rows, contexts, args, out, self._work(rows))
        if unfinished and isinstance(rows, SparseRows):
            unfinished = _call(correct_scores, rows, contexts, args[:2], out, unfinished * _entries(rows))
        if unfinished:
            self._repair(rows, arms, width)
        return mean, width

    def _work(self, rows: Rows) -> int:
        """Return the approximate number of multiplications that scoring takes."""
        entries = _entries(rows)
        per_step = self._low_rank.n_taken * entries
        per_matrix = self._matrices.n_taken * entries * (entries + 1) // 2
        return rows.n_users * (rows.n_arms * entries + per_step + per_matrix)

    # -- learning --------------------------------------------------------------------------------------

    def learn(self, arm: int, row: Row, reward: float, weight: float = 1.0) -> None:
        """Learn a row in the regression of its arm; see `RidgeRegressions.learn`."""
        if arm < 0:
            return
        is_known = arm < len(self.theta) and row.width == self.width and self.discount == 1.0
        if not is_known or self._update(arm, row, reward, weight) != LEARNED:
            super().learn(arm, row, reward, weight)

    def _update(self, slot: int, row: Row, reward: float, weight: float) -> int:
        if self.where[slot, MATRICES] < 0:
            return super()._update(slot, row, reward, weight)
        at = tuple(row.parts), row.user, row.arm, reward, weight
        return learn_in_block(*at, self._state, self._sums, slot, MOST_LEVERAGE, self._refresh_every)

    def _learn_rest(
        self,
        rows: Fields,
        firsts: Ints,
        stops: Ints,
        is_open: NDArray[np.bool_],
        slots: Ints,
        rewards: Floats,
    ) -> None:
        limits = MOST_LEVERAGE, self._refresh_every, self.width
        learn_groups_in_blocks(rows, firsts, stops, is_open, slots, rewards, self._state, self._sums, *limits)

    def _reserve_matrices(self, n: int) -> None:
        super()._reserve_matrices(n)
        self._add_blocks()

    def _write_inverse(self, slot: int, inverse: Floats) -> None:
        pool = self._matrices
        arrays = self._blocks, pool["pending"], pool["part_columns"], pool["part_values"], self.theta
        write_regression(*arrays, int(self.where[slot, MATRICES]), slot, inverse)

    def _add_blocks(self) -> None:
        """Allocate blocks for all places."""
        n_blocks = _n_blocks(self._matrices["pending"])
        if n_blocks > len(self._blocks):
            before, self._blocks = self._blocks, empty_blocks(n_blocks, self.width, self.dtype)
            self._blocks[: len(before)] = before
            names = np.zeros(n_blocks * LANES, np.int64)
            names[: len(self._part_names)] = self._part_names
            self._part_names = names
            self._collect()

    def _set_part(self, slot: int, columns: Ints, values: Floats) -> None:
        place, n = self.where[slot, MATRICES], len(columns)
        self._matrices["part_columns"][place, : n + 1] = [n, *columns]
        self._matrices["part_values"][place, :n] = values
        self._part_names[place] = 0

    def _free_matrices(self, place: int) -> None:
        super()._free_matrices(place)
        self._blocks[place >> LANE_BITS, :, place & LANE_MASK] = 0
        self._part_names[place] = 0

    # -- reading ---------------------------------------------------------------------------------------

    def _inverse(self, slot: int) -> Floats:
        if not self._has_matrices(slot):
            return super()._inverse(slot)
        place = int(self.where[slot, MATRICES])
        n_pending = int(self._matrices["pending"][place])
        inverse, steps = inverse_and_steps(self._blocks, place, n_pending, self.width)
        for step in steps:
            add_outer(inverse, step.astype(np.float64), -1.0)
        return inverse

    def packed_inverses(self, slots: Ints) -> Floats:
        """Return copies of A^-1 of many slots as packed triangles; ridge^-1 I for an empty slot."""
        inverses = np.empty((len(slots), self.width * (self.width + 1) // 2))
        copy_inverses(self._state, slots, self.ridge, inverses)
        return inverses

    # -- state -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays, without empty slots at the end."""
        arrays = super().arrays()
        return arrays | {"blocks": self._blocks[: _n_blocks(arrays["pending"])]}

    def _copy_in(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._blocks = empty_blocks(len(arrays["blocks"]), self.width, self.dtype)
        self._blocks[:] = arrays["blocks"]
        self._part_names = np.zeros(len(self._blocks) * LANES, np.int64)
        super()._copy_in(arrays)

    def _check(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._check(arrays)
        check_shapes(arrays, {"blocks": self._blocks})
        parts, pending = arrays["part_columns"], arrays["pending"]
        if not ((parts >= 0) & (parts < self.width + (np.arange(self.width + 1) == 0))).all():
            raise ValueError(f"part_columns points outside the {self.width} columns")
        if not ((pending >= 0) & (pending < MOST_PENDING)).all() or len(arrays["blocks"]) != _n_blocks(pending):
            raise ValueError("pending counts steps that do not exist, or there are not blocks for all places")


def _entries(rows: Rows) -> int:
    """Return the approximate number of entries per row that are multiplied; an arm part counts as one."""
    if isinstance(rows, SparseRows):
        return 1 + rows.parts.shared_columns.size // (rows.parts.shared_starts.size - 1)
    return rows.width


def _call(
    kernel: Any, rows: Rows, contexts: Any, args: tuple[Any, ...], out: tuple[Floats, Floats], work: int
) -> int:
    """Call a kernel for all users and arms, in several threads if that pays; the contexts include all users."""
    if work < LEAST_WORK:
        unfinished: int = kernel(contexts, *args, *out, 0, rows.n_arms)
        return unfinished
    return over_users(kernel, rows.of_users, args, out, rows.n_arms, work)


def _n_blocks(places: NDArray[Any]) -> int:
    return -(-len(places) // LANES)
