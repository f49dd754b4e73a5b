"""Policies that compare a user with the user's twin: the same user with another sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts.columns import check_columns, column_numbers
from fairbandits.models import Rows, as_rows
from fairbandits.parameters import parameter
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions

Floats = NDArray[np.float64]


class CounterfactualPolicy(Policy):
    """Base class of the policies that know how the context of a user's twin differs."""

    #: At least one parameter of each of these sets must be given, by the caller or by the world.
    needed_params: ClassVar[tuple[tuple[str, ...], ...]] = (("swap", "flip"),)

    swap: Sequence[tuple[int | str, int | str]] = parameter(
        default=(),
        doc='Pairs of columns to exchange, such as `[("sex=Female", "sex=Male")]`: by number, or by name if '
        "`columns` names "
        "them.",
    )
    flip: Sequence[int | str] = parameter(
        default=(), doc="Columns of 0 and 1 to negate, such as whether an arm matches the user."
    )
    columns: Sequence[str] | None = parameter(default=None, doc="The names of the columns of the contexts.")

    def _predict_twins(self, predictions: Predictions) -> tuple[Floats, Floats] | None:
        """Predict the rewards of the users' twins, and their uncertainty; None if twins do not differ."""
        twins = self._twins(predictions.contexts)
        return None if twins is None else self._predict(predictions.model, self.transform(twins), predictions.arms)

    def _ranked_behind(
        self, predictions: Predictions, score: Floats, is_unfair: NDArray[np.bool_], order: Floats
    ) -> Floats:
        """Return the term that ranks unfair arms behind all others, in ascending order of numbers from 0."""
        behind = score.min(axis=1, keepdims=True) - self._scale.span - order
        is_known = np.array([[bool(group)] for group in predictions.groups])
        return np.where(is_known & is_unfair, behind - score, 0.0)

    def _twins(self, rows: Rows) -> Rows | None:
        """Return the contexts of the users' twins; None if nothing is exchanged."""
        swapped, flipped = self._swapped, self._flipped
        check_columns("swap", swapped, self.columns, rows.width)
        check_columns("flip", flipped, self.columns, rows.width)
        if not (swapped or flipped):
            return None
        twins = np.array(rows.toarray())
        twins[:, swapped[::2] + swapped[1::2]] = twins[:, swapped[1::2] + swapped[::2]]
        twins[:, flipped] = 1.0 - twins[:, flipped]
        return as_rows(twins, rows.width, rows.n_users)

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("flip", "columns"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a list of columns, got {getattr(self, name)!r}")
        for pair in self.swap:
            if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise ValueError(
                    f"swap must have pairs of columns, such as [(0, 1)], got {pair!r} in {self.swap!r}"
                )
        # The columns to exchange, pair by pair, and those to negate.
        self._swapped = column_numbers("swap", [column for pair in self.swap for column in pair], self.columns)
        self._flipped = column_numbers("flip", self.flip, self.columns)
        changed = self._swapped + self._flipped
        for column in changed:
            if changed.count(column) > 1:
                raise ValueError(f"swap and flip must have each column once, got column {column} twice")
