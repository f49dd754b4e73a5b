"""Mean rewards by subgroup, from which the means of all groups follow.

A subgroup is the set of users with the same values of all sensitive attributes (an intersectional group). The
means of all other groups are weighted means of these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import metrics, notebook
from fairbandits.views.short_repr import ShortRepr

Floats = NDArray[np.float64]
#: An attribute and one of its values.
Group = tuple[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class SubgroupMeans(ShortRepr):
    """The number of rounds and the mean rewards of each subgroup.

    Attributes
    ----------
    groups : tuple
        The groups that each subgroup belongs to, one per attribute.
    count : array
        The number of rounds.
    mean : array
        The mean over rounds of the true mean reward of the chosen arm.
    best, worst : arrays
        The mean over rounds of the highest and of the lowest true mean reward of any arm.
    """

    groups: tuple[tuple[Group, ...], ...]
    count: Floats
    mean: Floats
    best: Floats
    worst: Floats

    def overall_mean(self, values: Floats) -> float:
        """Return the mean over all rounds of a value per subgroup."""
        return float(self.count @ values / self.count.sum())

    def weights(self, group: Group) -> Floats:
        """Return each subgroup's share of the rounds of a group."""
        rounds: Floats = np.array([group in groups for groups in self.groups]) * self.count
        weights: Floats = rounds / max(rounds.sum(), 1.0)
        return weights

    def rounds_by_group(self) -> dict[Group, float]:
        """Return the number of rounds of each group."""
        rounds: dict[Group, float] = {}
        for groups, count in zip(self.groups, self.count.tolist(), strict=True):
            for group in groups:
                rounds[group] = rounds.get(group, 0.0) + count
        return rounds

    def group_means(self, values: Floats, groups: Collection[Group]) -> dict[Group, float]:
        """Return the mean of a value over the rounds of each group; groups without rounds are omitted."""
        present = self.rounds_by_group()
        return {group: float(self.weights(group) @ values) for group in groups if group in present}


def all_groups(seeds: Sequence[SubgroupMeans]) -> dict[Group, float]:
    """Return all groups, and their mean number of rounds per seed."""
    rounds: dict[Group, float] = {}
    for means in seeds:
        for group, count in means.rounds_by_group().items():
            rounds[group] = rounds.get(group, 0.0) + count / len(seeds)
    return {group: rounds[group] for group in sorted(rounds, key=str)}


def assessed_groups(seeds: Sequence[SubgroupMeans], min_rounds: int | None = None) -> dict[Group, float]:
    """Return the groups with enough rounds over all seeds, and their mean number of rounds per seed.

    Parameters
    ----------
    seeds : sequence of SubgroupMeans
        The subgroup means of each seed.
    min_rounds : int, optional
        The number of rounds, over all seeds, that a group needs; by default the share of the rounds that
        `fairbandits.fairness.metrics.assessed_groups` requires.
    """
    rounds = all_groups(seeds)
    if min_rounds is not None:
        return {group: n for group, n in rounds.items() if round(n * len(seeds)) >= min_rounds}
    by_attribute: dict[str, dict[Group, float]] = {}
    for group, n in rounds.items():
        by_attribute.setdefault(group[0], {})[group] = n
    assessed = {group for peers in by_attribute.values() for group in metrics.assessed_groups(peers)}
    return {group: rounds[group] for group in sorted(assessed, key=str)}


def reward_gap(means: Mapping[Group, float]) -> float:
    """Compute the largest reward gap of any attribute: the highest mean reward of its groups minus the lowest.

    Examples
    --------
    >>> reward_gap({("sex", "male"): 0.5, ("sex", "female"): 0.75, ("race", "Black"): 0.25})
    0.25
    """
    by_attribute: dict[str, list[float]] = {}
    for (attribute, _), mean in means.items():
        by_attribute.setdefault(attribute, []).append(mean)
    return max((max(values) - min(values) for values in by_attribute.values()), default=0.0)


def group_label(group: Group) -> str:
    """Return the display name of a group.

    Examples
    --------
    >>> group_label(("sex", "female")), group_label(("group", "female"))
    ('sex female', 'female')
    """
    return notebook.group_label(*group)
