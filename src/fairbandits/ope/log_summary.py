"""What the rows that evaluate are like: who was shown what, how often no reward came, how rare arms were."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.chunk import Chunk
from fairbandits.ope.group_index import ALL
from fairbandits.ope.log_rows import LogRows
from fairbandits.ope.survey import LogSurvey

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class LogSummary:
    """Counts over a log; only `trained` is of the rows that train, all else of those that evaluate.

    Attributes
    ----------
    trained : int
        How many rows train.
    rows : array of int, shape (n_cells,)
        How many rows evaluate.
    missing : array of int, shape (n_cells,)
        How many of them have no reward.
    shown : array of int, shape (n_cells, n_arms)
        How often each arm was shown, where a reward came.
    lowest, highest : float
        The smallest and the largest propensity.
    tiny : int
        How many propensities are below `tiny_below`.
    """

    survey: LogSurvey
    trained: int = 0
    lowest: float = 1.0
    highest: float = 0.0
    tiny: int = 0
    rows: Ints = field(init=False)
    missing: Ints = field(init=False)
    shown: Ints = field(init=False)

    def __post_init__(self) -> None:
        n_cells = len(self.survey.cells)
        self.rows, self.missing = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
        self.shown = np.zeros((n_cells, len(self.survey.arms)), np.int64)

    @property
    def tiny_below(self) -> float:
        """Below this a propensity is tiny: a tenth of what it would be if arms were shown at random."""
        return 0.1 / len(self.survey.arms)

    @property
    def used(self) -> int:
        """How many rows evaluate that have a reward."""
        return int(self.rows[ALL] - self.missing[ALL])

    def add_chunk(self, chunk: Chunk, judges: NDArray[np.bool_]) -> None:
        """Count the rows of a chunk, those without a reward among them; `judges` says which of them evaluate."""
        cells = self.survey.cells.of(chunk.group, len(chunk))
        self.trained += int((~judges).sum())
        self.rows += self._count(cells[judges])
        self.missing += self._count(cells[judges & np.isnan(chunk.reward)])

    def add(self, piece: LogRows) -> None:
        """Count rows that evaluate, all of which have a reward."""
        n_arms = len(self.survey.arms)
        for cells in piece.cells.T:
            known = cells >= 0
            place = cells[known] * n_arms + piece.arm[known]
            self.shown += np.bincount(place, minlength=self.shown.size).reshape(self.shown.shape)
        if piece.propensity is not None and len(piece):
            self.lowest = min(self.lowest, float(piece.propensity.min()))
            self.highest = max(self.highest, float(piece.propensity.max()))
            self.tiny += int((piece.propensity < self.tiny_below).sum())

    def _count(self, cells: Ints) -> Ints:
        return np.bincount(cells[cells >= 0], minlength=len(self.rows))
