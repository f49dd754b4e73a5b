"""The shared model with forgetting, at the cost of one without: rows are weighed up instead of being faded out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.cholesky import identity
from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.rows import Row, Rows
from fairbandits.models.shared import SharedModel

# The ridge fades with the rows, and is restored when half of it is gone.
_MOST_GROWTH = 2.0


class FadingSharedModel(SharedModel):
    """One ridge regression for all arms, in which the weight of a row shrinks as others follow.

    After n rows since the last restoration, with g = 1 / discount,

        A = g^-n (ridge * I + what was known) + sum g^-k x x'      k rows ago

    which is `RidgeRegressions` with a discount, except that the ridge fades too, to no less than half. Multiplying
    A by g^n shows that a row is then learned as one of weight g^n, by a rank-one update: d^2 instead of d^3. When
    g^n reaches 2, A is scaled back, its ridge restored, and solved afresh.

    Parameters
    ----------
    width, ridge, dtype
        As in `RidgeRegressions`.
    discount : float
        The factor by which the weight of a row shrinks with every other row, below 1.
    """

    def __init__(self, width: int, ridge: float, dtype: str = "float64", *, discount: float) -> None:
        super().__init__(width, ridge, dtype)
        self.fading = discount
        #: g^n: how much larger the stored A and b are.
        self.growth = 1.0

    @property
    def order_dependent(self) -> bool:  # type: ignore[override]
        """Whether the same rewards in another order lead to other predictions."""
        return True

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Predict for every user and arm: the expected reward, and the width `sqrt(x' A^-1 x)`."""
        mean, width = super().score(rows, arms)
        return mean, width * math.sqrt(self.growth)

    def learn(self, arm: int, row: Row, reward: float, weight: float = 1.0) -> None:
        """Learn a row, whichever arm it is of; all rows before it fade."""
        growth = self.growth / self.fading
        super().learn(arm, row, reward, weight * growth)
        self.growth = growth
        if growth >= _MOST_GROWTH:
            self._restore_scale()

    def _restore_scale(self) -> None:
        """Scale A and b back, and restore the ridge."""
        faded = (1.0 - 1.0 / self.growth) * self.ridge * identity(self.width)
        self._solve(0, self._gram(0) / self.growth + faded, self.moment[0] / self.growth, 0)
        self.growth = 1.0

    def sample(self, rows: Rows, arms: Ints, rng: np.random.Generator) -> Floats:
        """Draw how far each mean is off, in widths; arms are off together, as they share one theta."""
        return super().sample(rows, arms, rng) * math.sqrt(self.growth)

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add what another model still remembers."""
        if other.n_slots:
            if self.growth > 1.0:
                self._restore_scale()
            learned = other._gram(0) - other.ridge * identity(self.width)
            self.add_sums(0, learned / other.growth, other.moment[0] / other.growth, int(other.rows_learned[0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        return super().arrays() | {"growth": np.array([self.growth])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `arrays` returned."""
        growth = float(arrays["growth"].item())
        if not 1.0 <= growth < _MOST_GROWTH:
            raise ValueError(f"growth must be from 1 to {_MOST_GROWTH:g}, got {growth}")
        super().restore({name: array for name, array in arrays.items() if name != "growth"})
        self.growth = growth
