"""Runs summed up by cell: all that a comparison needs of a trace, in a few numbers.

A cell holds the rounds of the users who have the same groups in all attributes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.compare.suite import PART_TITLES
from fairbandits.fairness.groups import DEFAULT_ATTRIBUTE
from fairbandits.simulate import Trace

Floats = NDArray[np.float64]
#: An attribute and one of its values.
Group = tuple[str, Any]

#: A group counts where at least this share of the rounds is its own: fewer say more of chance than of a policy.
ENOUGH = 1 / 80


@dataclass(frozen=True, eq=False)
class CellSums:
    """The rounds of each cell, summed up.

    Attributes
    ----------
    groups : tuple
        The groups of each cell.
    count : array
        How many rounds each has.
    mean : array
        The mean, over its rounds, of the true mean rewards of the arms that were picked.
    best, worst : arrays
        The mean of the highest and of the lowest true mean that an arm had.
    """

    groups: tuple[tuple[Group, ...], ...]
    count: Floats
    mean: Floats
    best: Floats
    worst: Floats

    def total(self, values: Floats) -> float:
        """Give the mean over all rounds."""
        return float(self.count @ values / self.count.sum())

    def member(self, group: Group) -> Floats:
        """Give for each cell the share that it has of a group's rounds."""
        mine: Floats = np.array([group in groups for groups in self.groups]) * self.count
        share: Floats = mine / max(mine.sum(), 1.0)
        return share

    def rounds(self) -> dict[Group, float]:
        """Give the rounds of each group."""
        found: dict[Group, float] = {}
        for groups, count in zip(self.groups, self.count.tolist(), strict=True):
            for group in groups:
                found[group] = found.get(group, 0.0) + count
        return found

    def by_group(self, values: Floats, counted: Collection[Group]) -> dict[Group, float]:
        """Give the mean of each of some groups, of those that came."""
        came = self.rounds()
        return {group: float(self.member(group) @ values) for group in counted if group in came}


def sum_up(trace: Trace) -> tuple[str, dict[Fraction, CellSums]]:
    """Sum up the parts of a trace that comparisons look at; with the line that says which data it shows."""
    return trace.data_source, {share: _cells(trace.last(round(len(trace) * share))) for share in PART_TITLES}


def _cells(trace: Trace) -> CellSums:
    keys = list(zip(*(values.tolist() for values in trace.group.values()), strict=True)) or [()] * len(trace)
    names = sorted(set(keys), key=str)
    number = {name: place for place, name in enumerate(names)}
    cell = np.array([number[key] for key in keys])
    count = np.bincount(cell).astype(np.float64)
    means = (np.bincount(cell, weights=values) / count for values in (trace.expected, trace.best, trace.worst))
    groups = (
        tuple((attribute, value) for attribute, value in zip(trace.group, name, strict=True) if value is not None)
        for name in names
    )
    return CellSums(tuple(groups), count, *means)


def counted_groups(seeds: Sequence[CellSums]) -> dict[Group, float]:
    """Give the groups that have rounds enough over all seeds, and how many a seed."""
    came: dict[Group, float] = {}
    for cells in seeds:
        for group, rounds in cells.rounds().items():
            came[group] = came.get(group, 0.0) + rounds / len(seeds)
    enough = ENOUGH * sum(cells.count.sum() for cells in seeds) / len(seeds)
    return {group: came[group] for group in sorted(came, key=str) if came[group] >= enough}


def difference(means: Mapping[Group, float]) -> float:
    """Give how far apart groups are: the highest mean less the lowest, in the attribute where that is most.

    Examples
    --------
    >>> difference({("sex", "male"): 0.5, ("sex", "female"): 0.75, ("race", "Black"): 0.25})
    0.25
    """
    by_attribute: dict[str, list[float]] = {}
    for (attribute, _), mean in means.items():
        by_attribute.setdefault(attribute, []).append(mean)
    return max((max(found) - min(found) for found in by_attribute.values()), default=0.0)


def label(group: Group) -> str:
    """Write a group for a person to read.

    Examples
    --------
    >>> label(("sex", "female")), label(("group", "female"))
    ('sex female', 'female')
    """
    attribute, value = group
    return str(value) if attribute == DEFAULT_ATTRIBUTE else f"{attribute} {value}"
