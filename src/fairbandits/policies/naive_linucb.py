"""The paper's naive approach to fairness: LinUCB without the sensitive columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts.columns import check_columns, column_numbers
from fairbandits.models import Rows
from fairbandits.parameters import parameter
from fairbandits.policies.linucb import LinUCB


class NaiveLinUCB(LinUCB):
    """LinUCB on contexts without the sensitive columns and those correlated with them.

    The paper shows that this does not close the gap; the policy is a baseline.

    Examples
    --------
    >>> from fairbandits import NaiveLinUCB
    >>> policy = NaiveLinUCB(drop=["sex"], columns=["age", "sex"], random_state=0)
    >>> policy.choose([[0.5, 1.0]]).context
    array([0.5, 0. ])
    """

    #: At least one parameter of each of these sets must be given, by the caller or by the world.
    needed_params: ClassVar[tuple[tuple[str, ...], ...]] = (("drop",),)

    drop: Sequence[int | str] = parameter(
        default=(),
        doc="The columns to drop, by number, or by name if `columns` names them. "
        "`fairbandits.contexts.correlated_columns` "
        "finds those correlated with a sensitive attribute.",
        fixed=True,
    )
    columns: Sequence[str] | None = parameter(
        default=None, doc="The names of the columns of the contexts.", fixed=True
    )

    def transform(self, rows: Rows) -> Rows:
        """Set the dropped columns to zero."""
        return super().transform(rows.without(self._dropped(rows.width)))

    def _dropped(self, width: int) -> NDArray[np.bool_]:
        numbers = column_numbers("drop", self.drop, self.columns)
        check_columns("drop", numbers, self.columns, width)
        dropped = np.zeros(width, bool)
        dropped[numbers] = True
        return dropped

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("drop", "columns"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a list of columns, got {getattr(self, name)!r}")
        column_numbers("drop", self.drop, self.columns)
