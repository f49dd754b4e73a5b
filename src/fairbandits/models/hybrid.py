"""The hybrid model: a part that all arms share and a part for each arm, learned together (Li et al. 2010)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.cholesky import identity
from fairbandits.models.kernels.hybrid_scoring import (
    ARM_MEAN,
    ARM_VARIANCE,
    LIFT,
    SHARED_VARIANCE,
    score_hybrid,
)
from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.low_rank_regressions import LowRankRegressions, sorted_by_slot
from fairbandits.models.normal_equations import NormalEquations
from fairbandits.models.reward_model import RewardModel, with_prefix
from fairbandits.models.ridge import RidgeRegressions, in_widths
from fairbandits.models.row_batch import RowBatch
from fairbandits.models.rows import Row, Rows, checked_entries
from fairbandits.models.threads import over_arms


class HybridModel(RewardModel):
    """The reward is `(beta + theta_a).x`: beta is shared by all arms, theta_a is specific to arm a.

    This is Algorithm 2 of Li et al. 2010 with z = x. With this choice, its matrices simplify. Let A_a and b_a
    be the disjoint regression of arm a alone, P_a = A_a^-1, q = P_a x, and lambda the ridge penalty. Then

        A0 = lambda I + sum_a lambda (I - lambda P_a)        b0 = lambda sum_a P_a b_a        beta = A0^-1 b0
        mean = x.P_a b_a + lambda q.beta                     width^2 = x.q + lambda^2 q' A0^-1 q

    So the state is a disjoint regression per arm and one more for beta. When an arm learns a row, P_a loses a
    rank-one matrix, which A0 gains times lambda^2: beta is updated with the row `lambda q / s` and the reward
    `(r - x.P_a b_a) / s`, where s = sqrt(1 + x.q).

    Parameters
    ----------
    width, ridge, dtype, discount
        As in `RidgeRegressions`. With a discount below 1, an arm forgets when it learns; beta follows from the
        arms.
    """

    is_mergeable = True

    def __init__(self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0) -> None:
        super().__init__(width)
        self.ridge = ridge
        self.discount = discount
        self.arms = LowRankRegressions(width, ridge, dtype, discount)
        self.shared = RidgeRegressions(width, ridge)

    @property
    def order_dependent(self) -> bool:  # type: ignore[override]
        """Whether the same rewards in a different order lead to different predictions."""
        return self.discount < 1.0

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Return the expected reward and the width of every arm for every user."""
        scores = self._score(rows, arms, self.beta()[None])
        return scores[ARM_MEAN] + scores[LIFT], np.sqrt(scores[ARM_VARIANCE] + scores[SHARED_VARIANCE])

    def _score(self, rows: Rows, arms: Ints, betas: Floats) -> Floats:
        """Score in four parts, with one beta for all users or one for each."""
        if rows.width != self.width or arms.size != rows.n_arms:
            raise ValueError(
                f"rows must be {self.width} wide with an arm each, got {rows.width} and {arms.size} arm(s)"
            )
        scores = np.empty((4, rows.n_users, rows.n_arms))
        work = rows.n_users * rows.n_arms * rows.width**2
        state = self.arms._state, self.arms._low_rank["steps"], self.shared._inverse(0)
        args = tuple(rows.parts), arms, *state, betas, self.ridge, scores
        if over_arms(score_hybrid, args, rows.n_arms, work):
            self._repair(rows, arms, betas, scores)
        return scores

    def _repair(self, rows: Rows, arms: Ints, betas: Floats, scores: Floats) -> None:
        """Recompute variances that rounding has made negative, from A itself."""
        root_of = functools.cache(self.arms.root_of)
        for user, arm in np.argwhere(~(scores[ARM_VARIANCE] >= 0.0)).tolist():
            root, x = root_of(int(arms[arm])), rows.row(user, arm).dense()
            q = root.T @ (root @ x)
            lift = q @ betas[user if len(betas) > 1 else 0]
            scores[LIFT, user, arm] = self.ridge * lift
            scores[ARM_VARIANCE, user, arm] = x @ q
            scores[SHARED_VARIANCE, user, arm] = self.ridge**2 * (q @ self.shared.inverse_of(0) @ q)

    def learn(self, arm: int, row: Row, reward: float, weight: float = 1.0) -> None:
        """Learn one row of an arm; if it is rejected, nothing changes."""
        if arm < 0:
            return
        columns, values, _ = checked_entries(row, self.width)
        if self.discount < 1.0:
            before = self._contribution(arm)
            self.arms.learn(arm, row, reward, weight)
            self._exchange([(1.0, self._contribution(arm)), (-1.0, before)])
            return
        q = self.arms.product(arm, columns, values)
        residual = reward - float(values @ self.arms.coefficients(arm)[columns])
        factor = math.sqrt(weight / (1.0 + weight * max(float(values @ q[columns]), 0.0)))
        self.arms.learn(arm, row, reward, weight)
        q *= self.ridge * factor
        self.shared.learn(0, Row.of_vector(q), factor * residual)

    def learn_batch(self, batch: RowBatch, arms: Ints, rewards: Floats) -> bool:
        """Learn many rows of arms; see `RidgeRegressions.learn_batch`. beta is solved only once."""
        if not self.arms.accepts(batch, arms):
            return False
        gram, moment = np.zeros(self.width * (self.width + 1) // 2), np.zeros(self.width)
        self.arms.reserve(arms)
        n_before = self.arms.rows_learned.sum()
        try:
            with self.arms.marking(batch, arms):
                for block in batch.blocks(sorted_by_slot(arms)):
                    self._learn_block(batch, block, arms, rewards, gram, moment)
        finally:
            n_learned = int(self.arms.rows_learned.sum() - n_before)
            if n_learned:
                self.shared.add_sums(0, gram, moment, n_learned)
        return True

    def _learn_block(
        self, batch: RowBatch, block: Ints, arms: Ints, rewards: Floats, gram: Floats, moment: Floats
    ) -> None:
        """Learn a block of rows in their arms; add the rows for beta to gram and moment, even on failure."""
        slots = np.unique(arms[block])
        before, theta_before = self.arms.sum_inverses(slots)
        try:
            self.arms.learn_sorted(batch.gather(block), arms[block], rewards[block])
        finally:
            after, theta_after = self.arms.sum_inverses(slots)
            gram += self.ridge**2 * (before - after)
            moment += self.ridge * (theta_after - theta_before)

    def forget(self, arm: int) -> None:
        """Drop the arm-specific part; the arm's contribution to beta cannot be separated out."""
        self.arms.forget(arm)

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the learned state of another model; contributions to beta from arms of both are recomputed."""
        changes = [(1.0, other._all_contributions())]
        for arm, theirs in pairs:
            changes += [(-1.0, self._contribution(arm)), (-1.0, other._contribution(theirs))]
            self.arms.merge(other.arms, [(arm, theirs)])
            changes.append((1.0, self._contribution(arm)))
        self._exchange(changes)

    def learn_equations(self, equations: NormalEquations, pairs: Iterable[tuple[int, int]]) -> None:
        """Learn rows that have been summed; the arms' contributions to beta are recomputed."""
        changes = []
        for arm, theirs in pairs:
            changes.append((-1.0, self._contribution(arm)))
            self.arms.learn_equations(equations, [(arm, theirs)])
            changes.append((1.0, self._contribution(arm)))
        self._exchange(changes)

    def slots_in_equations(self, arms: Ints) -> Ints:
        """Return the slots of normal equations in which the rows of the given arms are summed."""
        return arms

    def sample(self, rows: Rows, arms: Ints, rng: np.random.Generator) -> Floats:
        """Draw the error of each mean, in units of its width; the uncertainty of beta is shared by all arms."""
        root = np.linalg.cholesky(self.shared.inverse_of(0))
        betas = (root @ rng.standard_normal((self.width, rows.n_users))).T
        scores = self._score(rows, arms, np.ascontiguousarray(betas))
        variance = scores[ARM_VARIANCE]
        deviation = np.sqrt(variance) * rng.standard_normal(variance.shape) + scores[LIFT]
        return in_widths(deviation, np.sqrt(variance + scores[SHARED_VARIANCE]))

    def beta(self) -> Floats:
        """Return the coefficients that all arms share."""
        return self.shared.coefficients(0)

    def mean_of(self, arm: int, columns: Ints, values: Floats) -> float:
        """Return the expected reward of one row, given by its non-zeros."""
        if not 0 <= arm < self.arms.n_slots:
            return float(values @ self.beta()[columns])
        lift = self.ridge * float(self.arms.product(arm, columns, values) @ self.beta())
        return self.arms.mean_of(arm, columns, values) + lift

    def coefficients(self, arm: int) -> Floats:
        """Return beta + theta_a; beta alone for an arm that has learned nothing."""
        if not 0 <= arm < self.arms.n_slots:
            return self.beta()
        return self.arms.coefficients(arm) + self.ridge * self.arms.inverse_of(arm) @ self.beta()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        parts = {"arms": self.arms, "shared": self.shared}
        return {f"{which}.{name}": array for which, part in parts.items() for name, array in part.arrays().items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        self.arms.restore(self.arms.with_steps(with_prefix(arrays, "arms.")))
        self.shared.restore(with_prefix(arrays, "shared."))

    def _contribution(self, arm: int) -> tuple[Floats, Floats]:
        """Return the contribution of an arm to A0 and b0."""
        lost = identity(self.width) - self.ridge * self.arms._inverse(arm)
        return self.ridge * lost, self.ridge * self.arms.coefficients(arm)

    def _all_contributions(self) -> tuple[Floats, Floats]:
        """Return the contributions of all arms, including forgotten ones, to A0 and b0."""
        if not self.shared.n_slots:
            return self._contribution(self.arms.n_slots)
        return self.shared._gram(0) - self.ridge * identity(self.width), self.shared.moment[0]

    def _exchange(self, changes: list[tuple[float, tuple[Floats, Floats]]]) -> None:
        """Add contributions to A0 and b0, or subtract them, and solve for beta again."""
        if changes:
            gram, moment = (sum(sign * change[i] for sign, change in changes) for i in (0, 1))
            self.shared.add_sums(0, np.asarray(gram), np.asarray(moment))
