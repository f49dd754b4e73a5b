"""Counts over the evaluation rows of a log: arms, missing rewards, propensities."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.chunk import Chunk
from fairbandits.ope.group_index import OVERALL
from fairbandits.ope.log_rows import LogRows
from fairbandits.ope.log_survey import LogSurvey

Floats = NDArray[np.float64]
# If this number of rows is expected for an arm, but there are none, the cause is not chance.
_MIN_EXPECTED = 10.0
Ints = NDArray[np.int64]


@dataclass(eq=False)
class LogSummary:
    """Counts over a log; all but `training_rows` are over the evaluation rows.

    Attributes
    ----------
    training_rows : int
        The number of training rows.
    rows : array of int, shape (n_groups,)
        The number of evaluation rows.
    missing : array of int, shape (n_groups,)
        The number of evaluation rows without a reward.
    arm_counts : array of int, shape (n_groups, n_arms)
        The number of rows with a reward for each arm.
    min_propensity, max_propensity : float
        The range of the propensities.
    n_small_propensities : int
        The number of propensities below `small_propensity`.
    """

    survey: LogSurvey
    training_rows: int = 0
    min_propensity: float = 1.0
    max_propensity: float = 0.0
    n_small_propensities: int = 0
    rows: Ints = field(init=False)
    missing: Ints = field(init=False)
    arm_counts: Ints = field(init=False)

    def __post_init__(self) -> None:
        n_groups = len(self.survey.groups)
        self.rows, self.missing = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
        self.arm_counts = np.zeros((n_groups, len(self.survey.arms)), np.int64)

    @property
    def small_propensity(self) -> float:
        """The threshold below which a propensity is small: a tenth of the propensity of a uniform policy."""
        return 0.1 / len(self.survey.arms)

    @cached_property
    def is_shown(self) -> NDArray[np.bool_]:
        """Whether the log shows an arm to a group, of shape (n_groups, n_arms).

        An arm that a group was not shown by chance counts as shown. This is an arm for which only a few rows of
        the group would be expected, if the group were shown it as often as everybody else.
        """
        share = self.arm_counts[OVERALL] / max(self.arm_counts[OVERALL].sum(), 1)
        expected = np.outer(self.arm_counts.sum(axis=1), share)
        is_chance = (expected < _MIN_EXPECTED) & (self.arm_counts[OVERALL] > 0)
        return np.asarray((self.arm_counts > 0) | is_chance)

    @property
    def n_rewards(self) -> int:
        """The number of evaluation rows with a reward."""
        return int(self.rows[OVERALL] - self.missing[OVERALL])

    def add_chunk(self, chunk: Chunk, is_evaluation: NDArray[np.bool_]) -> None:
        """Count the rows of a chunk, with and without a reward."""
        groups = self.survey.groups.encode(chunk.group, len(chunk))
        self.training_rows += int((~is_evaluation).sum())
        self.rows += self._count(groups[is_evaluation])
        self.missing += self._count(groups[is_evaluation & np.isnan(chunk.reward)])

    def add_rows(self, rows: LogRows) -> None:
        """Count the arms and propensities of evaluation rows with a reward."""
        n_arms = len(self.survey.arms)
        for groups in rows.groups.T:
            is_known = groups >= 0
            pair = groups[is_known] * n_arms + rows.arm[is_known]
            self.arm_counts += np.bincount(pair, minlength=self.arm_counts.size).reshape(self.arm_counts.shape)
        if rows.propensity is not None and len(rows):
            self.min_propensity = min(self.min_propensity, float(rows.propensity.min()))
            self.max_propensity = max(self.max_propensity, float(rows.propensity.max()))
            self.n_small_propensities += int((rows.propensity < self.small_propensity).sum())

    def merge(self, other: LogSummary) -> None:
        """Add the counts of other rows."""
        self.training_rows += other.training_rows
        self.rows += other.rows
        self.missing += other.missing
        self.arm_counts += other.arm_counts
        self.min_propensity = min(self.min_propensity, other.min_propensity)
        self.max_propensity = max(self.max_propensity, other.max_propensity)
        self.n_small_propensities += other.n_small_propensities

    def _count(self, groups: Ints) -> Ints:
        return np.bincount(groups[groups >= 0], minlength=len(self.rows))
