"""Rows of a log with a reward, with arms and groups as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from fairbandits.contexts.table_encoder import Features
from fairbandits.logs.byte_kernels import Keys
from fairbandits.logs.chunk import Chunk
from fairbandits.ope.group_index import GroupIndex
from fairbandits.ope.log_survey import LogSurvey

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The maximum size of a matrix with one row per decision: 16 MiB of floats.
_MAX_ENTRIES = 1 << 21


@dataclass(frozen=True, eq=False)
class LogRows:
    """Rows of a log, as arrays with one entry per row.

    Attributes
    ----------
    numbers : array of int
        The row numbers within the log.
    is_evaluation : array of bool
        Whether a row is for evaluation rather than training.
    arm : array of int
        The number of the arm.
    reward : array of float
        The reward.
    propensity : array of float or None
        The probability with which the arm was chosen.
    groups : array of int, shape (n_rows, 1 + attributes)
        The numbers of the row's groups.
    contexts : tuple of matrices
        The user's features, for each of several encoders.
    user : array of uint64 or None
        The key of the user, or 0 if it is unknown.
    columns : mapping of str to array
        The columns that policies need unchanged.
    """

    numbers: Ints
    is_evaluation: NDArray[np.bool_]
    arm: Ints
    reward: Floats
    propensity: Floats | None
    groups: Ints
    contexts: tuple[Features, ...]
    user: Keys | None
    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.arm)

    @classmethod
    def from_chunks(cls, chunks: Sequence[Chunk], survey: LogSurvey, reward_range: tuple[float, float]) -> LogRows:
        """Return the rows with a reward of a chunk that was read with one or several encoders.

        Rewards are scaled from their original range to the range from 0 to 1.
        """
        low, high = reward_range
        chunk = chunks[0]
        rows = cls(
            np.arange(chunk.first_row, chunk.first_row + len(chunk)),
            survey.split.is_evaluation(chunk),
            chunk.arm.recoded(survey.arm_numbers),
            chunk.reward if reward_range == (0.0, 1.0) else (chunk.reward - low) / (high - low),
            chunk.propensity,
            survey.groups.encode(chunk.group, len(chunk)),
            tuple(each.contexts for each in chunks if each.contexts is not None),
            chunk.user,
            chunk.columns,
        )
        has_reward = ~np.isnan(chunk.reward)
        return rows if has_reward.all() else rows.select(has_reward)

    def select(self, rows: Any) -> LogRows:
        """Return some of the rows, given by a mask, indices or a slice."""
        return LogRows(
            self.numbers[rows],
            self.is_evaluation[rows],
            self.arm[rows],
            self.reward[rows],
            None if self.propensity is None else self.propensity[rows],
            self.groups[rows],
            tuple(contexts[rows] for contexts in self.contexts),
            None if self.user is None else self.user[rows],
            {name: column[rows] for name, column in self.columns.items()},
        )

    @classmethod
    def concatenate(cls, parts: Sequence[LogRows]) -> LogRows:
        """Return the rows of several parts of a log."""
        first = parts[0]

        def stack(values: list[Any]) -> Any:
            return None if values[0] is None else np.concatenate(values)

        return cls(
            stack([each.numbers for each in parts]),
            stack([each.is_evaluation for each in parts]),
            stack([each.arm for each in parts]),
            stack([each.reward for each in parts]),
            stack([each.propensity for each in parts]),
            stack([each.groups for each in parts]),
            tuple(_stack_contexts([each.contexts[k] for each in parts]) for k in range(len(first.contexts))),
            stack([each.user for each in parts]),
            {name: stack([each.columns[name] for each in parts]) for name in first.columns},
        )

    def evaluation_rows(self) -> LogRows:
        """Return the rows for evaluation."""
        return self if self.is_evaluation.all() else self.select(self.is_evaluation)

    def batches(self, n_columns: int) -> Iterator[LogRows]:
        """Yield the rows in batches that are small enough for a matrix with this number of columns."""
        size = max(_MAX_ENTRIES // n_columns, 1)
        for start in range(0, len(self), size):
            yield self.select(slice(start, start + size))


def _stack_contexts(parts: list[Any]) -> Features:
    if isinstance(parts[0], csr_array):
        return csr_array(vstack(parts, format="csr"))
    return np.concatenate(parts)


def reward_features(rows: LogRows, groups: GroupIndex) -> Features:
    """Return the features of the reward model: a constant, the user's groups, and the user's features.

    The groups are included so that the model can distinguish groups with the same features.
    """
    is_known = rows.groups >= 0
    indptr = np.concatenate([[0], np.cumsum(is_known.sum(axis=1))])
    indicators = csr_array((np.ones(indptr[-1]), rows.groups[is_known], indptr), shape=(len(rows), len(groups)))
    contexts = rows.contexts[0]
    if isinstance(contexts, csr_array):
        return csr_array(hstack([indicators, contexts], format="csr"))
    return np.hstack([indicators.toarray(), contexts])
