"""A first pass over a log: its arms and groups, and the split into training and evaluation rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.audit.time_sample import TimeSample
from fairbandits.categorical import Label
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope.group_index import GroupIndex
from fairbandits.ope.log_passes import LogPasses, merged


@dataclass(frozen=True)
class LogSplit:
    """The split of a log into earlier rows for training and later rows for evaluation.

    Attributes
    ----------
    train_share : float
        The requested share of training rows.
    time : time or None
        The time at which the evaluation rows begin; None if the log has no times or is not split.
    row : int
        The first evaluation row, if the log has no times.
    """

    train_share: float
    time: Any
    row: int

    def is_evaluation(self, chunk: Chunk) -> NDArray[np.bool_]:
        """Return a mask of the evaluation rows of a chunk. Rows without a time are evaluation rows."""
        if self.time is not None and chunk.time is not None:
            return np.asarray(~(chunk.time < self.time))
        return np.arange(chunk.first_row, chunk.first_row + len(chunk)) >= self.row


@dataclass(frozen=True)
class LogSurvey:
    """The contents of a log.

    Attributes
    ----------
    rows : int
        The number of rows.
    arms : tuple of ids
        The arms on offer: those of the log in order of appearance, or those of the catalogue.
    groups : GroupIndex
        The groups.
    split : LogSplit
        The split into training and evaluation rows.
    mean_reward : float
        The mean of all rewards; 0 without rewards.
    """

    rows: int
    arms: tuple[ArmId, ...]
    groups: GroupIndex
    split: LogSplit
    mean_reward: float

    @cached_property
    def arm_numbers(self) -> dict[ArmId, int]:
        """The number of each arm on offer."""
        return {arm: number for number, arm in enumerate(self.arms)}

    def numbers_of(self, arms: Iterable[ArmId]) -> NDArray[np.int64]:
        """Return the numbers of some arms, with -1 for arms that are not on offer."""
        return np.array([self.arm_numbers.get(arm, -1) for arm in arms], np.int64)


@dataclass(eq=False)
class SurveySums:
    """The counts of a survey of a log, or of a part of one; the attributes are those of `LogSurvey`."""

    labels: dict[str, list[Label]]
    arms: list[Label] = field(default_factory=list)
    times: TimeSample = field(default_factory=TimeSample)
    rows: int = 0
    n_rewards: int = 0
    total: float = 0.0

    def merge(self, later: SurveySums) -> None:
        """Add the counts of a later part."""
        self.rows += later.rows
        self.n_rewards += later.n_rewards
        self.total += later.total
        self.times.merge(later.times)
        self.arms = list(dict.fromkeys([*self.arms, *later.arms]))
        for attribute, labels in later.labels.items():
            self.labels[attribute] = list(dict.fromkeys([*self.labels[attribute], *labels]))


def survey_log(passes: LogPasses, train: float, table: ArmTable | None = None) -> LogSurvey:
    """Read a log once, without contexts.

    Parameters
    ----------
    passes : LogPasses
        The object that runs the pass over the log.
    train : float
        The share of rows on which policies are trained; they are evaluated on the rest.
    table : ArmTable, optional
        The arms on offer; by default those of the log.
    """
    if not 0.0 <= train < 1.0:
        raise ValueError(f"train must be a share of the log, at least 0 and below 1, got {train!r}")
    sums = passes.run("survey", partial(_survey_part, with_times=train > 0.0), merged)
    if not sums.rows:
        raise LogError(f"{passes.log.name}: has no rows; a log has one row per decision")
    split = LogSplit(train, sums.times.quantile(train) if train else None, math.floor(train * sums.rows))
    mean_reward = sums.total / sums.n_rewards if sums.n_rewards else 0.0
    arms = _arms_on_offer(passes.log, sums.arms, table)
    return LogSurvey(sums.rows, arms, GroupIndex(sums.labels), split, mean_reward)


def _survey_part(log: Log, with_times: bool) -> SurveySums:
    sums = SurveySums({attribute: [] for attribute in log.roles.groups})
    columns = {*log.roles.groups, *([log.roles.time] if log.roles.time and with_times else [])}
    for chunk in log.chunks(columns=columns):
        sums.rows += len(chunk)
        sums.n_rewards += int((~np.isnan(chunk.reward)).sum())
        sums.total += float(np.nansum(chunk.reward))
        sums.arms = chunk.arm.labels
        sums.labels |= {attribute: column.labels for attribute, column in chunk.group.items()}
        if chunk.time is not None:
            # Neither NaN nor NaT equals itself.
            sums.times.add(chunk.first_row, chunk.time, chunk.time == chunk.time)
    return sums


def _arms_on_offer(log: Log, arms: list[Label], table: ArmTable | None) -> tuple[ArmId, ...]:
    if table is None:
        return tuple(arms)
    unknown = sorted(set(arms) - set(table.arms), key=str)
    if unknown:
        raise LogError(f"{log.name}: arms must be in the catalogue, got {unknown[:5]}")
    return tuple(table.arms)
