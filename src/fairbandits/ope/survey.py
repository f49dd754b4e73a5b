"""A first look at a log: its arms and groups, and where the part that trains ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.categorical import Label
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope.group_index import GroupIndex

# So many times are kept to find the one at which the log is cut.
_TIMES = 1 << 16


@dataclass(frozen=True)
class Split:
    """Which rows train policies, and which evaluate them: all before the cut train.

    Attributes
    ----------
    share : float
        The share of the log that was to train.
    time : time or None
        The first time that judges; None where the log has no times, or is not cut.
    row : int
        The first row that judges, where the log has no times.
    """

    share: float
    time: Any
    row: int

    def judges(self, chunk: Chunk) -> NDArray[np.bool_]:
        """Say which rows of a chunk evaluate. Those without a time do."""
        if self.time is not None and chunk.time is not None:
            return np.asarray(~(chunk.time < self.time))
        return np.arange(chunk.first_row, chunk.first_row + len(chunk)) >= self.row


@dataclass(frozen=True)
class LogSurvey:
    """What a log has.

    Attributes
    ----------
    rows : int
        How many rows.
    arms : tuple of ids
        The arms on offer: those of the log, in the order in which they came; or those of the catalogue.
    cells : GroupIndex
        Its groups.
    split : Split
        Which rows train, and which evaluate.
    mean_reward : float
        The mean of all its rewards; 0 where there are none.
    """

    rows: int
    arms: tuple[ArmId, ...]
    cells: GroupIndex
    split: Split
    mean_reward: float

    @cached_property
    def places(self) -> dict[ArmId, int]:
        """The place of each arm among those on offer."""
        return {arm: place for place, arm in enumerate(self.arms)}


def survey(log: Log, train: float, table: ArmTable | None = None) -> LogSurvey:
    """Read a log once, without contexts.

    Parameters
    ----------
    log : Log
        The log.
    train : float
        The share of it that trains policies, from 0; the rest judges.
    table : ArmTable, optional
        What is known of arms; all of them are then on offer.
    """
    if not 0.0 <= train < 1.0:
        raise ValueError(f"train is the share of the log that trains, from 0 to below 1; got {train!r}")
    rows, came, total, times = 0, 0, 0.0, _Times()
    arms: list[Label] = []
    labels: dict[str, list[Label]] = {attribute: [] for attribute in log.roles.groups}
    wanted = {*log.roles.groups, *([log.roles.time] if log.roles.time and train else [])}
    for chunk in log.chunks(columns=wanted):
        rows += len(chunk)
        came += int((~np.isnan(chunk.reward)).sum())
        total += float(np.nansum(chunk.reward))
        arms = chunk.arm.labels
        labels |= {attribute: coded.labels for attribute, coded in chunk.group.items()}
        if chunk.time is not None:
            times.add(chunk.time)
    if not rows:
        raise LogError(f"{log.name}: it holds no rows; expected one for each decision")
    split = Split(train, times.quantile(train) if train else None, math.floor(train * rows))
    return LogSurvey(rows, _on_offer(log, arms, table), GroupIndex(labels), split, total / came if came else 0.0)


def _on_offer(log: Log, arms: list[Label], table: ArmTable | None) -> tuple[ArmId, ...]:
    if table is None:
        return tuple(arms)
    unknown = sorted(set(arms) - set(table.arms), key=str)
    if unknown:
        raise LogError(f"{log.name}: these of its arms are not in the catalogue: {unknown[:5]}")
    return tuple(table.arms)


class _Times:
    """Every so manieth time of a log, evenly spread over its rows: enough to cut it where one wants."""

    def __init__(self) -> None:
        self._kept: list[NDArray[Any]] = []
        self._step = 1
        self._seen = 0

    def add(self, times: NDArray[Any]) -> None:
        first = -self._seen % self._step
        self._seen += len(times)
        self._kept.append(times[first :: self._step])
        if sum(map(len, self._kept)) > 2 * _TIMES:
            self._kept = [np.concatenate(self._kept)[::2]]
            self._step *= 2

    def quantile(self, share: float) -> Any:
        known = np.concatenate([*self._kept, np.empty(0, self._kept[0].dtype)]) if self._kept else np.empty(0)
        known = np.sort(known[known == known])  # noqa: PLR0124  (neither NaN nor NaT is itself)
        return known[math.floor(share * len(known))] if len(known) else None
