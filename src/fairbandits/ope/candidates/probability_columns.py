"""Candidates whose probabilities are columns of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.errors import LogError, after_hint, suggest
from fairbandits.ope.candidates.candidate import ArmProbabilities, Candidate
from fairbandits.ope.log_rows import LogRows

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

Floats = NDArray[np.float64]

#: The tolerance for probabilities to add up to 1. If they were written with six digits, the sum over many arms is
#: off by more than the rounding error of floats.
TOLERANCE = 1e-4
_ROUNDING = 1e-9


class ProbabilityColumn(Candidate):
    """A policy given by one column of the log: the probability with which it would choose the logged arm.

    The probabilities of the other arms remain unknown, so there is no doubly robust estimate.

    Parameters
    ----------
    column : str
        The column.

    Examples
    --------
    >>> ProbabilityColumn("p_new").title
    'column p_new'
    """

    knows_all_arms = False

    def __init__(self, column: str) -> None:
        super().__init__(f"column {column}")
        self.columns = (column,)

    def prepare(self, setup: EvaluationSetup) -> None:
        """Raise if the log does not have the column, or if the column has another role."""
        check_columns(self, setup)
        roles = setup.log.roles
        if self.columns[0] == roles.propensity:
            raise LogError(
                f"{setup.log.name}: column {self.columns[0]!r} holds the propensities of the logging policy; name "
                "the column of the policy to evaluate"
            )
        if self.columns[0] in set(roles.columns) - {*roles.contexts, *roles.given}:
            raise LogError(
                f"{setup.log.name}: column {self.columns[0]!r} has another role in the log; name the column with "
                "the policy's probabilities"
            )

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Return the probabilities of the logged arms."""
        return ArmProbabilities(_read(rows, self.columns[0], setup.log.name), None)


class ProbabilityColumns(Candidate):
    """A policy given by one column of the log for each arm: the probability with which it would choose the arm.

    Parameters
    ----------
    prefix : str
        The prefix of the column names; the rest of the name is the arm. With the prefix `"p_"`, the column of the
        arm "biology" is `"p_biology"`. An arm without a column is never chosen.

    Examples
    --------
    >>> ProbabilityColumns("p_").title
    'columns p_*'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__(f"columns {prefix}*")
        self._prefix = prefix
        self._numbers: list[int] = []

    def prepare(self, setup: EvaluationSetup) -> None:
        """Find the columns."""
        self.columns = tuple(column for column in setup.log.kinds if column.startswith(self._prefix))
        names = {f"{self._prefix}{arm}": number for number, arm in enumerate(setup.survey.arms)}
        roles = setup.log.roles
        self.columns = tuple(column for column in self.columns if column not in {roles.arm, roles.reward})
        # The probabilities in columns of arms that are not in the log count as those of unsupported arms.
        self._numbers = [names.get(column, -1) for column in self.columns]
        if all(number < 0 for number in self._numbers):
            example = next(iter(names))
            raise LogError(
                f"{setup.log.name}: there is no column of probabilities such as {example!r}; "
                f"{after_hint(suggest(example, setup.log.kinds), 'name their common prefix')}"
            )

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Return the probabilities of all arms."""
        return ArmProbabilities.from_matrix(self.matrix(rows, setup), rows)

    def matrix(self, rows: LogRows, setup: EvaluationSetup) -> Floats:
        """Return the probabilities of the log's arms, after checking that each row adds up to 1."""
        matrix, total = np.zeros((len(rows), len(setup.survey.arms))), np.zeros(len(rows))
        for column, number in zip(self.columns, self._numbers, strict=True):
            probability = _read(rows, column, setup.log.name)
            total += probability
            if number >= 0:
                matrix[:, number] = probability
        others = [column for column, number in zip(self.columns, self._numbers, strict=True) if number < 0]
        counted = f" (with {', '.join(others[:3])}, arms that the log does not have)" if others else ""
        check_totals(total, rows, f"{setup.log.name}: the probabilities in the columns {self._prefix}*{counted}")
        return matrix


def check_columns(candidate: Candidate, setup: EvaluationSetup) -> None:
    """Raise if the log lacks a column that a candidate needs."""
    for column in candidate.columns:
        if column not in setup.log.kinds:
            hint = after_hint(suggest(column, setup.log.kinds), "add it to the log")
            raise LogError(
                f"{setup.log.name}: there is no column {column!r}, which {candidate.title} needs; {hint}"
            )


def check_totals(total: Floats, rows: LogRows, name: str) -> None:
    """Raise if the probabilities of a row do not add up to 1."""
    wrong = np.flatnonzero(~(np.abs(total - 1.0) <= TOLERANCE))
    if wrong.size:
        row = rows.numbers[wrong[0]] + 1
        raise ValueError(f"{name} must add up to 1 in every row, got {total[wrong[0]]:.6g} in row {row:,}")


def _read(rows: LogRows, column: str, log: str) -> Floats:
    values = rows.columns[column]
    if not np.issubdtype(values.dtype, np.number) and values.dtype != bool:
        raise LogError(f"{log}: column {column!r} must hold probabilities, got {values[0]!r}")
    numbers = values.astype(np.float64)
    # Sums of rounded probabilities may slightly exceed 1.
    wrong = np.flatnonzero(~((numbers >= 0.0) & (numbers <= 1.0 + _ROUNDING)))
    if wrong.size:
        got = "nothing" if np.isnan(numbers[wrong[0]]) else f"{numbers[wrong[0]]:g}"
        row = rows.numbers[wrong[0]] + 1
        raise LogError(
            f"{log}: probabilities in column {column!r} must be between 0 and 1, got {got} in row {row:,}"
        )
    return np.minimum(numbers, 1.0)
