"""Strata of users: combinations of the factors that a comparison is adjusted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.audit.combinations import Combinations
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.categorical import Categorical

if TYPE_CHECKING:
    from fairbandits.logs.chunk import Chunk, Floats
    from fairbandits.logs.log import Log

#: With more strata, or more values of a number, a comparison within strata would leave out too many users.
MAX_STRATA, MAX_LEVELS = 100, 20


class StrataSums:
    """Counts and sums of rewards by stratum and combination of groups, in folds of users.

    Unknown values form a separate level.

    Parameters
    ----------
    attributes : sequence of str
        The attributes that define the groups.
    factors : sequence of str
        The factors that define the strata.

    Attributes
    ----------
    sums : UnitSums
        The sums, with strata in place of arms. The label of a stratum is the tuple of its factors' values.
    is_too_many : bool
        Whether there are too many strata, in which case the sums are incomplete.
    """

    def __init__(self, attributes: Sequence[str], factors: Sequence[str]) -> None:
        self.factors = tuple(factors)
        self.sums = UnitSums(attributes, 0, has_users=False)
        self.is_too_many = False
        self._strata = Combinations(factors)
        self._levels: dict[str, dict[Any, int]] = {factor: {} for factor in factors}

    def add(self, chunk: Chunk, lowest: float) -> None:
        """Add the decisions of a chunk; rewards are measured from the lowest possible one."""
        columns = {factor: self._as_categorical(factor, chunk.given[factor]) for factor in self.factors}
        self.is_too_many |= any(len(levels) > MAX_LEVELS for levels in self._levels.values())
        if self.is_too_many:
            return
        stratum = self._strata.numbers(columns)
        self.is_too_many = len(self._strata) > MAX_STRATA
        labels: list[Any] = [
            tuple(
                columns[f].labels[code] if code >= 0 else None for f, code in zip(self.factors, row, strict=True)
            )
            for row in self._strata.codes
        ]
        window = np.zeros(len(chunk), np.int64)
        self.sums.add(replace(chunk, arm=Categorical(stratum, labels)), window, lowest)

    def merge(self, other: StrataSums) -> None:
        """Add the sums of another part of the log; afterwards, only further sums can be added."""
        self.sums.merge(other.sums)
        self.is_too_many |= other.is_too_many or len(self.sums.arms) > MAX_STRATA

    def _as_categorical(self, factor: str, column: Categorical | Floats) -> Categorical:
        if isinstance(column, Categorical):
            return column
        levels = self._levels[factor]
        values, inverse = np.unique(column, return_inverse=True)
        if len(values) > MAX_LEVELS + 1:
            levels.update({value: number for number, value in enumerate(values.tolist())})
            return Categorical(np.zeros(len(column), np.int32), [])
        codes = [-1 if np.isnan(value) else levels.setdefault(value, len(levels)) for value in values.tolist()]
        return Categorical(np.array(codes, np.int32)[inverse], list(levels))


def aggregate_strata(log: Log, lowest: float) -> StrataSums:
    """Aggregate a log, or a part of one, by stratum, stopping if there are too many strata."""
    roles = log.roles
    sums = StrataSums(roles.groups, roles.given)
    columns = [*roles.groups, *roles.given, *([roles.user] if roles.user else [])]
    for chunk in log.chunks(columns=columns):
        sums.add(chunk, lowest)
        if sums.is_too_many:
            break
    return sums
