"""A shared part and a part for each arm, learned together: the hybrid model of Li et al. 2010."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.cholesky import identity
from fairbandits.models.kernels.hybrid_scoring import score_hybrid
from fairbandits.models.kernels.triangles import Floats, Ints
from fairbandits.models.normal_equations import RowSums
from fairbandits.models.ridge import RidgeBank, broken_down, check_slots, in_units
from fairbandits.models.rows import Row, Rows, checked_entries
from fairbandits.models.threads import over_arms


class HybridBank:
    """The reward is `(beta + theta_a).x`: beta is common to all arms, theta_a is what arm a has of its own.

    This is Algorithm 2 of Li et al. 2010 with z = x. For that choice its matrices collapse. With A_a, b_a the
    disjoint regression of an arm alone, P_a = A_a^-1, q = P_a x and lambda the ridge,

        A0 = lambda I + sum_a lambda (I - lambda P_a)        b0 = lambda sum_a P_a b_a        beta = A0^-1 b0
        mean = x.P_a b_a + lambda q.beta                     width^2 = x.q + lambda^2 q' A0^-1 q

    so that all there is to keep is a disjoint bank and one more regression for beta. When an arm learns a row, P_a
    loses a rank-one matrix, and A0 gains it: beta learns the row `lambda q / s` with the reward
    `(r - x.P_a b_a) / s`, where s = sqrt(1 + x.q).

    Parameters
    ----------
    width, ridge, dtype, discount
        As in `RidgeBank`. With a discount below 1 an arm fades when it learns; beta follows from the arms.
    """

    def __init__(self, width: int, ridge: float, dtype: str = "float64", discount: float = 1.0) -> None:
        self.width = width
        self.ridge = ridge
        self.arms = RidgeBank(width, ridge, dtype, discount)
        self.common = RidgeBank(width, ridge)

    def score(self, rows: Rows, slots: Ints) -> tuple[Floats, Floats]:
        """Predict for every user and arm: the mean reward, and the width."""
        own_mean, lift, own_variance, common_variance = self._score(rows, slots, self.beta()[None])
        return own_mean + lift, np.sqrt(own_variance + common_variance)

    def _score(self, rows: Rows, slots: Ints, betas: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Score in four parts, with one beta for all users or one for each."""
        check_slots(rows, slots, self.width)
        parts = np.empty((4, rows.n_users, rows.n_arms))
        work = rows.n_users * rows.n_arms * rows.width**2
        args = (rows.parts, slots, self.arms._state, self._inverse(), betas, self.ridge, parts)
        if over_arms(score_hybrid, args, rows.n_arms, work):
            # Variances came out negative: that is rounding, so take these from A itself.
            root_of = functools.cache(self.arms.root_of)
            for slot, user, arm in broken_down(slots, ~(parts[2] >= 0.0)):
                root, x = root_of(slot), rows.row(user, arm).dense()
                q = root.T @ (root @ x)
                lift = q @ betas[user if len(betas) > 1 else 0]
                unsure = q @ self.common.inverse_of(0) @ q
                parts[1:, user, arm] = self.ridge * lift, x @ q, self.ridge**2 * unsure
        return parts[0], parts[1], parts[2], parts[3]

    def learn(self, slot: int, row: Row, reward: float, weight: float = 1.0) -> None:
        """Learn one row of an arm; where it is refused, nothing changes."""
        columns, values, _ = checked_entries(row, self.width)
        if self.arms.discount < 1.0:
            self._learn_afresh(slot, row, reward, weight)
            return
        q = self.arms.product(slot, columns, values)
        surprise = reward - float(values @ self.arms.coefficients(slot)[columns])
        factor = math.sqrt(weight / (1.0 + weight * max(float(values @ q[columns]), 0.0)))
        self.arms.learn(slot, row, reward, weight)
        q *= self.ridge * factor
        self.common.learn(0, Row.of(np.arange(self.width), q, self.width, self.width), factor * surprise)

    def _learn_afresh(self, slot: int, row: Row, reward: float, weight: float) -> None:
        """Learn a row where all of the arm changes with it, so that beta's regression changes in full."""
        before = self._passed_up(slot)
        self.arms.learn(slot, row, reward, weight)
        self._exchange([(1.0, self._passed_up(slot)), (-1.0, before)])

    def reset(self, slot: int) -> None:
        """Let an arm forget what it has of its own; what beta has learned from it cannot be told apart."""
        self.arms.reset(slot)

    def absorb(self, other: HybridBank, pairs: Iterable[tuple[int, int]]) -> None:
        """Add what another bank has learned; what beta has from an arm of both is worked out anew."""
        ours, theirs = self.arms, other.arms
        changes = [(1.0, other._all_passed_up())]
        for slot, other_slot in pairs:
            changes += [(-1.0, self._passed_up(slot)), (-1.0, other._passed_up(other_slot))]
            ours.absorb(theirs, [(slot, other_slot)])
            changes.append((1.0, self._passed_up(slot)))
        self._exchange(changes)

    def add_rows(self, sums: RowSums, pairs: Iterable[tuple[int, int]]) -> None:
        """Learn rows that have been summed up; what beta has from an arm is worked out anew."""
        changes = []
        for slot, theirs in pairs:
            changes.append((-1.0, self._passed_up(slot)))
            self.arms.add_rows(sums, [(slot, theirs)])
            changes.append((1.0, self._passed_up(slot)))
        self._exchange(changes)

    def draw(self, rows: Rows, slots: Ints, rng: np.random.Generator) -> Floats:
        """Draw how far off each mean is, in units of its width; what is unsure of beta is so for all arms."""
        root = np.linalg.cholesky(self.common.inverse_of(0))
        betas = (root @ rng.standard_normal((self.width, rows.n_users))).T
        _, lift, own_variance, common_variance = self._score(rows, slots, np.ascontiguousarray(betas))
        own = np.sqrt(own_variance) * rng.standard_normal(own_variance.shape)
        return in_units(own + lift, np.sqrt(own_variance + common_variance))

    def beta(self) -> Floats:
        """Give the coefficients that all arms have in common."""
        return self.common.coefficients(0)

    def coefficients(self, slot: int) -> Floats:
        """Give beta + theta_a; beta alone for a slot that holds nothing."""
        if not 0 <= slot < self.arms.n_slots:
            return self.beta()
        return self.arms.coefficients(slot) + self.ridge * self.arms.inverse_of(slot) @ self.beta()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the state as arrays."""
        banks = {"arms": self.arms, "common": self.common}
        return {f"{which}.{name}": array for which, bank in banks.items() for name, array in bank.arrays().items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the state from arrays that `arrays` gave."""
        for which, bank in (("arms.", self.arms), ("common.", self.common)):
            bank.restore({n.removeprefix(which): array for n, array in arrays.items() if n.startswith(which)})

    def _inverse(self) -> Floats:
        """Give A0^-1 as a lower triangle."""
        return self.common._inverse(0)

    def _passed_up(self, slot: int) -> tuple[Floats, Floats]:
        """Give what an arm adds to A0 and b0."""
        taken = identity(self.width) - self.ridge * self.arms._inverse(slot)
        return self.ridge * taken, self.ridge * self.arms.coefficients(slot)

    def _all_passed_up(self) -> tuple[Floats, Floats]:
        """Give what all arms, forgotten ones too, have added to A0 and b0."""
        if not self.common.n_slots:
            return self._passed_up(self.arms.n_slots)
        return self.common._gram(0) - self.ridge * identity(self.width), self.common.moment[0]

    def _exchange(self, changes: list[tuple[float, tuple[Floats, Floats]]]) -> None:
        """Add to A0 and b0, or take away, and solve for beta afresh."""
        gram, moment = (sum(sign * change[i] for sign, change in changes) for i in (0, 1))
        self.common.add_sums(0, np.asarray(gram), np.asarray(moment))
