"""The paper's naive way to fairness: LinUCB that does not look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts.columns import check_columns, column_numbers
from fairbandits.models import Model, Rows
from fairbandits.policies.linucb import LinUCB


class NaiveLinUCB(LinUCB):
    """LinUCB on contexts without the sensitive columns and those that go with them.

    The paper shows that this does not close the gap: it is here to compare with.

    Parameters
    ----------
    drop : sequence of int or str
        The columns to leave out, by number, or by name where `columns` names them.
        `fairbandits.contexts.correlated_columns` finds those that go with a sensitive attribute.
    columns : sequence of str, optional
        The names of the columns of the contexts.
    alpha : float or "theory"
        How much being unsure counts, as in `LinUCB`.
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared", "hybrid"} or Model
        One regression for each arm, one for all arms, or both; a `Model` says more.
    delta : float
        With `alpha="theory"`: the probability that any interval of any round fails.
    theta_norm : float
        With `alpha="theory"`: a bound on the Euclidean norm of the true coefficients.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties comes from.

    Examples
    --------
    >>> from fairbandits import NaiveLinUCB
    >>> policy = NaiveLinUCB(drop=["sex"], columns=["age", "sex"], random_state=0)
    >>> policy.choose([[0.5, 1.0]]).context
    array([0.5, 0. ])
    """

    _fixed = (*LinUCB._fixed, "drop", "columns")

    def __init__(
        self,
        drop: Sequence[int | str] = (),
        columns: Sequence[str] | None = None,
        alpha: float | str = 0.5,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.drop = drop
        self.columns = columns
        super().__init__(alpha, ridge, model, delta, theta_norm, reward_range, random_state)

    def _prepare(self, rows: Rows) -> Rows:
        return super()._prepare(rows.without(self._dropped(rows.width)))

    def _dropped(self, width: int) -> NDArray[np.bool_]:
        numbers = column_numbers("drop", self.drop, self.columns)
        check_columns("drop", numbers, self.columns, width)
        dropped = np.zeros(width, bool)
        dropped[numbers] = True
        return dropped

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.drop, str) or isinstance(self.columns, str):
            raise ValueError("drop and columns take lists of columns; put a single name into a list")
        column_numbers("drop", self.drop, self.columns)
