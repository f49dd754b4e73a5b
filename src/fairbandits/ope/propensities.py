"""Sources of a log's propensities: a column, one column per arm, a declaration, or a model fitted to the log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.errors import LogError
from fairbandits.logs.validation import MIN_PROPENSITY
from fairbandits.ope.candidates.probability_columns import TOLERANCE, ProbabilityColumns
from fairbandits.ope.log_rows import LogRows

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

Floats = NDArray[np.float64]


class Propensities(ABC):
    """The probabilities with which the logging policy chose arms.

    Attributes
    ----------
    columns : tuple of str
        The columns of the log that are needed in unchanged form.
    knows_all_arms : bool
        Whether the propensities are known for all arms, rather than only for the logged ones.
    """

    columns: tuple[str, ...] = ()
    knows_all_arms = False

    @abstractmethod
    def fill(self, rows: LogRows, setup: EvaluationSetup) -> LogRows:
        """Return rows with the propensities of the logged arms."""

    def all_arms(self, rows: LogRows, setup: EvaluationSetup) -> Floats | None:
        """Return the propensities of all arms, of shape (n_rows, n_arms), or None if they are unknown."""
        return None

    def logged(self, rows: LogRows, setup: EvaluationSetup) -> Floats:
        """Return the propensities of the logged arms from those of all arms, in batches that fit into memory."""
        parts = []
        for batch in rows.batches(len(setup.survey.arms)):
            matrix = self.all_arms(batch, setup)
            if matrix is not None:
                parts.append(matrix[np.arange(len(batch)), batch.arm])
        return np.concatenate(parts) if parts else np.empty(0)


class LoggedPropensities(Propensities):
    """Propensities from the log's column of propensities, if it has one."""

    def fill(self, rows: LogRows, setup: EvaluationSetup) -> LogRows:
        """Return the rows unchanged."""
        return rows


class UniformPropensities(Propensities):
    """Propensities of a logging policy that is declared to be uniform."""

    def fill(self, rows: LogRows, setup: EvaluationSetup) -> LogRows:
        """Return rows with the same propensity everywhere."""
        return replace(rows, propensity=np.full(len(rows), 1.0 / len(setup.survey.arms)))


class PropensityColumns(Propensities):
    """Propensities of all arms, from one column per arm.

    Parameters
    ----------
    prefix : str
        The prefix of the column names, as for `ProbabilityColumns`.
    """

    knows_all_arms = True

    def __init__(self, prefix: str) -> None:
        self._prefix, self._source = prefix, ProbabilityColumns(prefix)

    def prepare(self, setup: EvaluationSetup) -> None:
        """Find the columns."""
        self._source.prepare(setup)
        self.columns = self._source.columns

    def fill(self, rows: LogRows, setup: EvaluationSetup) -> LogRows:
        """Return rows with the propensities of the logged arms; the propensity column, if any, must agree."""
        found = self.logged(rows, setup)
        wrong = np.flatnonzero(found < MIN_PROPENSITY)
        if wrong.size:
            raise LogError(
                f"{setup.log.name}: the propensity of the logged arm must be above 0, got {found[wrong[0]]:g} in "
                f"the columns {self._prefix}* of row {rows.numbers[wrong[0]] + 1:,}"
            )
        if rows.propensity is not None and (np.abs(found - rows.propensity) > TOLERANCE).any():
            row = int(np.argmax(np.abs(found - rows.propensity)))
            raise LogError(
                f"{setup.log.name}: the propensity of the logged arm must be the same in both places, got "
                f"{rows.propensity[row]:g} in {setup.log.roles.propensity!r} and {found[row]:g} in the columns "
                f"{self._prefix}* of row {rows.numbers[row] + 1:,}"
            )
        return replace(rows, propensity=found)

    def all_arms(self, rows: LogRows, setup: EvaluationSetup) -> Floats:
        """Return the propensities of all arms."""
        return self._source.matrix(rows, setup)
