"""The shared model: one ridge regression for all arms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from fairbandits.models.kernels.batch_learning import add_rows
from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.kernels.shared_scoring import score_shared_dense, score_shared_sparse
from fairbandits.models.kernels.triangles import is_inside
from fairbandits.models.normal_equations import NormalEquations
from fairbandits.models.ridge import RidgeRegressions, in_widths
from fairbandits.models.row_batch import RowBatch
from fairbandits.models.rows import Row, Rows, SparseRows
from fairbandits.models.threads import over_users


class SharedModel(RidgeRegressions):
    """One ridge regression for all arms: a `RidgeRegressions` that uses only slot 0.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits.models import SharedModel, as_rows
    >>> model = SharedModel(width=2, ridge=1.0)
    >>> rows = as_rows([[1.0, 0.0]])
    >>> model.learn(0, rows.row(0, 0), reward=1.0)
    >>> mean, width = model.score(rows, np.array([0]))
    >>> mean.item(), round(width.item(), 6)
    (0.5, 0.707107)
    """

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Return the expected reward and the width `sqrt(x' A^-1 x)` of every arm for every user."""
        if rows.width != self.width:
            raise ValueError(f"rows must be {self.width} wide, got {rows.width}")
        mean, width = np.empty((2, rows.n_users, rows.n_arms))
        is_sparse = isinstance(rows, SparseRows)
        kernel = score_shared_sparse if is_sparse else score_shared_dense
        work = rows.n_users * rows.n_arms * rows.width * (1 if is_sparse else rows.width // 2)
        args = self.coefficients(0), self._inverse(0)
        broken = over_users(kernel, rows.of_users, args, (mean, width), rows.n_arms, work)
        if broken:
            self._repair(rows, np.zeros(rows.n_arms, np.int64), width)
        return mean, width

    def sample(self, rows: Rows, arms: Ints, rng: np.random.Generator) -> Floats:
        """Draw the error of each mean, in units of its width; all arms err together, as they share one theta."""
        drawn = rows.times(self.root_of(0).T @ rng.standard_normal((rows.n_users, self.width)).T)
        return in_widths(drawn, self.score(rows, arms)[1])

    def learn(self, arm: int, row: Row, reward: float, weight: float = 1.0) -> None:
        """Learn a row, whatever its arm."""
        super().learn(0, row, reward, weight)

    def learn_batch(self, batch: RowBatch, arms: Ints, rewards: Floats) -> bool:
        """Learn many rows, whatever their arms; see `RidgeRegressions.learn_batch`."""
        if not self.n_slots:
            self._add_slots(1)
        gram, moment = self._gram(0).copy(), self.moment[0].copy()
        for block in batch.blocks(np.arange(len(batch))):
            rows = batch.gather(block)
            if not is_inside(rows.columns, self.width):
                return False
            add_rows(tuple(rows), rewards[block], gram, moment)
        try:
            self._solve(0, gram, moment, len(batch))
        except ValueError:
            return False
        return True

    def forget(self, arm: int) -> None:
        """Keep the effect of an arm's rewards, as it cannot be separated out."""

    def coefficients(self, arm: int) -> Floats:
        """Return theta, the same for all arms."""
        return super().coefficients(0)

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the learned state of another model."""
        super().merge(other, [(0, 0)])

    def learn_equations(self, equations: NormalEquations, pairs: Iterable[tuple[int, int]]) -> None:
        """Learn rows that have been summed."""
        super().learn_equations(equations, [(0, 0)])

    def slots_in_equations(self, arms: Ints) -> Ints:
        """Return slot 0 for all arms."""
        return np.zeros_like(arms)
