"""Rows of a log, ready to be judged: arms and groups as places, those without a reward left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.encoder import Features
from fairbandits.ope.group_index import GroupIndex
from fairbandits.ope.survey import LogSurvey

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# So many numbers a matrix has at most, with a line per row: 16 MiB.
_NUMBERS = 1 << 21


@dataclass(frozen=True, eq=False)
class LogRows:
    """Some rows, as arrays with one entry each.

    Attributes
    ----------
    numbers : array of int
        The numbers of the rows in the log.
    judges : array of bool
        Whether a row judges, or trains.
    arm : array of int
        The place of the arm among those of the log.
    reward : array of float
        What came.
    propensity : array of float or None
        The probability with which the arm was shown.
    cells : array of int, shape (n_rows, 1 + attributes)
        The cells of its groups.
    contexts : tuple of matrices
        The user's features, as each of several encoders has them.
    """

    numbers: Ints
    judges: NDArray[np.bool_]
    arm: Ints
    reward: Floats
    propensity: Floats | None
    cells: Ints
    contexts: tuple[Features, ...]

    def __len__(self) -> int:
        return len(self.arm)

    def where(self, rows: Any) -> LogRows:
        """Give some of the rows."""
        return LogRows(
            self.numbers[rows],
            self.judges[rows],
            self.arm[rows],
            self.reward[rows],
            None if self.propensity is None else self.propensity[rows],
            self.cells[rows],
            tuple(contexts[rows] for contexts in self.contexts),
        )

    def judging(self) -> LogRows:
        """Give the rows that evaluate."""
        return self if self.judges.all() else self.where(self.judges)

    def parts(self, columns: int) -> Iterator[LogRows]:
        """Give the rows in parts, so that a matrix with so many columns stays small."""
        size = max(_NUMBERS // columns, 1)
        for start in range(0, len(self), size):
            yield self.where(slice(start, start + size))


def piece_of(chunks: Sequence[Chunk], survey: LogSurvey, uniform: bool) -> LogRows:
    """Make the piece of a chunk that was read with one encoder or with several."""
    chunk = chunks[0]
    propensity = np.full(len(chunk), 1.0 / len(survey.arms)) if uniform else chunk.propensity
    piece = LogRows(
        np.arange(chunk.first_row, chunk.first_row + len(chunk)),
        survey.split.judges(chunk),
        chunk.arm.recoded(survey.places),
        chunk.reward,
        propensity,
        survey.cells.of(chunk.group, len(chunk)),
        tuple(one.contexts for one in chunks if one.contexts is not None),
    )
    came = ~np.isnan(chunk.reward)
    return piece if came.all() else piece.where(came)


def features_of(piece: LogRows, cells: GroupIndex) -> Features:
    """Give what the model of the reward knows of users: a constant, their groups, their own features.

    Their groups are among them so that groups with the same features are not taken for one another.
    """
    known = piece.cells >= 0
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    groups = csr_array((np.ones(ends[-1]), piece.cells[known], ends), shape=(len(piece), len(cells)))
    contexts = piece.contexts[0]
    if isinstance(contexts, csr_array):
        return csr_array(hstack([groups, contexts], format="csr"))
    return np.hstack([groups.toarray(), contexts])
