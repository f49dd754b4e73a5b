"""The family of certified learning: mixtures of the logging policy with a fitted policy, at several tolerances.

At first, all users are served by the fitted policy with the same probability, the overall share. Then the shares
of the advantaged groups are lowered until the gap that is predicted on the selection part is within some
tolerance. If a group is advantaged even under the logging policy alone, the uniform policy serves some of its
users.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.certification.family_sums import FamilySums
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.group_index import GroupIndex

Floats = NDArray[np.float64]

#: The overall shares of a fitted policy.
SHARES = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
#: The target gaps of the members, as multiples of the tolerance.
TARGETS = (np.inf, 1.0, 0.75, 0.5, 0.25, 0.0)


def policy_family(sums: FamilySums, groups: GroupIndex, tolerance: float) -> list[Mixture]:
    """Return the members of the family, starting with the logging policy.

    Parameters
    ----------
    sums : FamilySums
        The sums of the selection part, which decide the shares.
    groups : GroupIndex
        The groups. With several attributes, shares differ between the groups of the attribute with the largest gap
        under the logging policy.
    tolerance : float
        The largest gap that is tolerated.
    """
    attribute = max(groups.attributes, key=lambda name: float(np.ptp(_means(sums, groups, name)[:, 0])))
    nobody = np.zeros(len(groups))
    members = [Mixture(attribute, nobody, nobody)]
    numbers = list(groups.numbers(attribute).values())
    for fitted, uniform in _shares(_means(sums, groups, attribute), tolerance):
        by_group, uniform_by_group = nobody.copy(), nobody.copy()
        by_group[numbers], uniform_by_group[numbers] = fitted, uniform
        members.append(Mixture(attribute, by_group, uniform_by_group))
    return members


def _means(sums: FamilySums, groups: GroupIndex, attribute: str) -> Floats:
    return np.array([sums.means(number) for number in groups.numbers(attribute).values()])


def _shares(means: Floats, tolerance: float) -> Iterator[tuple[Floats, Floats]]:
    """Yield distinct shares of the fitted and the uniform policy by group."""
    known: set[bytes] = set()
    for share in SHARES:
        for target in TARGETS:
            # Shares are rounded, so that the shares in a report are exactly the ones that were tested.
            fitted, uniform = (each.round(3) for each in _lowered(means, share, target * tolerance))
            key = np.concatenate([fitted, uniform]).tobytes()
            if key not in known:
                known.add(key)
                yield fitted, uniform


def _lowered(means: Floats, share: float, target: float) -> tuple[Floats, Floats]:
    """Return the shares by group that lower the mean rewards of advantaged groups to a target gap.

    Groups that cannot be lowered that far are lowered to the mean reward of the uniform policy.

    Parameters
    ----------
    means : array of shape (groups, 3)
        The mean rewards of the logging, the fitted and the uniform policy.
    share : float
        The overall share of the fitted policy.
    target : float
        The gap to reach.
    """
    logging, best, uniform = means.T
    value = logging + share * (best - logging)
    ceiling = value.min() + target
    fitted, spread = np.full(len(means), share), np.zeros(len(means))
    for group in np.flatnonzero(value > ceiling):
        if logging[group] < ceiling:
            fitted[group] = share * (ceiling - logging[group]) / (value[group] - logging[group])
        else:
            fitted[group] = 0.0
            lost = logging[group] - uniform[group]
            spread[group] = min((logging[group] - ceiling) / lost, 1.0) if lost > 0.0 else 0.0
    return fitted, spread
