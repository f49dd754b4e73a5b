"""Contexts for decisions that keep the contexts of all candidates, not only that of the chosen one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbandits.models import DenseRows, Row, Rows, SparseRows, as_rows
from fairbandits.models.kernels.layouts import Floats


@dataclass(slots=True, eq=False, repr=False)
class CandidateRow(Row):
    """One context, with those of the other candidates of its user."""

    def candidates(self) -> Floats:
        """Return the contexts of all candidates as a matrix."""
        n_users, n_arms = len(self.parts.users), self.parts.which.shape[1]
        rows = SparseRows(n_users, n_arms, self.width, self.parts)
        own = rows if n_users == 1 else rows.select(np.array([self.user]), np.arange(n_arms))
        return own.toarray()

    def alone(self) -> CandidateRow:
        """Return a copy that does not keep the rows of other users in memory."""
        return CandidateRow(as_rows(self.candidates()).parts, 0, self.arm, self.width)


@dataclass(slots=True, eq=False, repr=False)
class CandidateRows(SparseRows):
    """The contexts of a round, whose rows include the other candidates of their user."""

    def row(self, user: int, arm: int) -> CandidateRow:
        """Return one row, which keeps the other rows of its round in memory."""
        return CandidateRow(self.parts, user, arm, self.width)


def candidate_rows(rows: Rows) -> CandidateRows:
    """Return contexts as rows that include the other candidates; a matrix from the caller is copied.

    Examples
    --------
    >>> rows = candidate_rows(as_rows([[0.2], [0.7]]))
    >>> rows.row(0, 1).alone().candidates().tolist()
    [[0.2], [0.7]]
    """
    if isinstance(rows, DenseRows):
        rows = DenseRows(rows.n_users, rows.n_arms, rows.width, rows.matrix.copy())
    return CandidateRows(rows.n_users, rows.n_arms, rows.width, rows.parts)
