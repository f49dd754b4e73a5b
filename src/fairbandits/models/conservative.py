"""The shared model, with sums of the contexts of the chosen arms and of a baseline's arms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.layouts import Floats
from fairbandits.models.kernels.triangles import multiply
from fairbandits.models.model import Model
from fairbandits.models.rows import Rows
from fairbandits.models.shared import SharedModel


class ConservativeModel(SharedModel):
    """One ridge regression for all arms, which tracks the rewards earned and those of a baseline.

    Expected rewards are linear, so a sum of expected rewards is the expected reward of the sum of the contexts,
    within the confidence region of theta.

    Attributes
    ----------
    sums : array of shape (3, width)
        The sums of the contexts of the arms that were chosen instead of the baseline's (z in the paper), of the
        baseline's arms in the same rounds (v), and of the baseline's arms that were chosen (w).
    rounds : array of int, shape (2,)
        The number of times that another arm was chosen, and the number of times that the baseline's was.

    Examples
    --------
    >>> model = ConservativeModel(width=2, ridge=1.0)
    >>> model.count(np.array([1.0, 0.0]), np.array([0.0, 1.0]), is_baseline=False)
    >>> model.sums.tolist(), model.rounds.tolist()
    ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [1, 0])
    """

    _SUMS = ("sums", "rounds")

    def __init__(self, width: int, ridge: float, dtype: str = "float64") -> None:
        super().__init__(width, ridge, dtype)
        self.sums: Floats = np.zeros((3, width))
        self.rounds: NDArray[np.int64] = np.zeros(2, np.int64)

    def count(self, chosen: Floats, baseline: Floats | None, is_baseline: bool) -> None:
        """Count a round, given the contexts of the arm that was chosen and, if on offer, of the baseline's arm."""
        if is_baseline:
            self.sums[2] += chosen
        else:
            self.sums[0] += chosen
            self.sums[1] += 0.0 if baseline is None else baseline
        self.rounds[int(is_baseline)] += 1

    def bounds(self, x: Floats, alpha: float) -> tuple[float, float]:
        """Return the lowest and the highest `theta.x` within the confidence region of theta."""
        mean = float(self.coefficients(0) @ x)
        columns = np.flatnonzero(x)
        variance = float(x @ multiply(self._inverse(0), columns, x[columns], self.width))
        half = alpha * np.sqrt(max(variance, 0.0))
        return mean - half, mean + half

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the learned state and the counts of another model."""
        super().merge(other, pairs)
        self.sums += other.sums
        self.rounds += other.rounds

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        return super().arrays() | {name: getattr(self, name) for name in self._SUMS}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        for name in self._SUMS:
            stored, ours = arrays[name], getattr(self, name)
            if stored.shape != ours.shape or stored.dtype != ours.dtype:
                raise ValueError(f"{name} must have the shape {ours.shape} and type {ours.dtype}")
        super().restore(arrays)
        self.sums, self.rounds = np.array(arrays["sums"]), np.array(arrays["rounds"])


@dataclass(frozen=True)
class ConservativeBuilder:
    """Builds conservative models in place of shared ones.

    Parameters
    ----------
    model : Model
        A shared, linear model without forgetting.
    """

    model: Model
    order_dependent = False
    # A, b and the sums of contexts could be added up, but a log does not contain the baseline's contexts.
    is_additive = False
    is_mergeable = True

    @property
    def width(self) -> int | None:
        """The number of columns that contexts must have; None for any."""
        return self.model.width

    def transform(self, rows: Rows) -> Rows:
        """Apply the feature map, if there is one."""
        return self.model.transform(rows)

    def build(self, width: int, ridge: float) -> ConservativeModel:
        """Return a model of rewards in [0, 1] that has learned nothing."""
        return ConservativeModel(width, ridge, self.model.dtype)
