"""The promises that FairBench checks for the default policy, on the content of `results.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbandits.compare.policy_specs import BASELINE
from fairbandits.statistics.seed_intervals import standard_error

#: How far a policy may miss a target, in addition to two standard errors.
SLACK = 0.005
#: How far the mean reward may be below that of the best equally fair policy: in nearly all worlds, and in all
#: worlds.
NEARLY_EVERYWHERE, EVERYWHERE = 0.02, 0.05
# Twenty of twenty-four worlds.
_NEARLY_ALL = 20 / 24
_REFERENCES = (BASELINE, "FairLinUCB")


@dataclass(frozen=True)
class Promise:
    """A promise in one world.

    Attributes
    ----------
    measured, limit : float
        The measured value (a gap, or a shortfall of reward), and its largest allowed value.
    kept : bool
        Whether the measured value is within the limit.
    note : str
        How the limit is composed, or the policy that determines it.
    """

    measured: float
    limit: float
    note: str

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.measured <= self.limit


@dataclass(frozen=True)
class WorldPromises:
    """The promises in one world; None where a reference policy is missing."""

    gap: Promise
    worst_off: Promise | None
    reward: Promise

    @property
    def kept(self) -> bool:
        """Whether all promises are kept, with the wider limit for the reward."""
        return (
            self.gap.kept
            and (self.worst_off is None or self.worst_off.kept)
            and self.reward.measured <= EVERYWHERE
        )


@dataclass(frozen=True)
class Verdict:
    """The promises of the default policy in all worlds.

    Attributes
    ----------
    policy : str
        The default policy.
    worlds : dict
        The promises in each world.
    needed : int
        The number of worlds in which the reward must be within its narrower limit.
    """

    policy: str
    worlds: dict[str, WorldPromises]
    needed: int

    def summary(self) -> dict[str, tuple[int, int]]:
        """Return the number of worlds in which each promise is kept, and the number in which it must be."""
        found = list(self.worlds.values())
        compared = [world.worst_off for world in found if world.worst_off is not None]
        return {
            "gap": (sum(world.gap.kept for world in found), len(found)),
            "worst-off group": (sum(promise.kept for promise in compared), len(compared)),
            f"reward within {NEARLY_EVERYWHERE:g}": (sum(world.reward.kept for world in found), self.needed),
            f"reward within {EVERYWHERE:g}": (
                sum(world.reward.measured <= EVERYWHERE for world in found),
                len(found),
            ),
        }

    @property
    def kept(self) -> bool:
        """Whether all promises are kept."""
        return all(kept >= needed for kept, needed in self.summary().values())


def check_promises(results: Mapping[str, Any]) -> Verdict:
    """Check the promises of the default policy.

    Parameters
    ----------
    results : mapping
        The content of `results.json`.
    """
    default, tolerance = results["settings"]["default"], results["settings"]["tolerance"]
    if default is None:
        raise ValueError("results must contain the default policy; run FairBench with it")
    worlds = {
        name: _check_world(world, default, tolerance)
        for name, world in results["worlds"].items()
        if default in world["policies"] and world["is_identifiable"]
    }
    return Verdict(default, worlds, math.ceil(_NEARLY_ALL * len(worlds) - 1e-9))


def _check_world(world: Mapping[str, Any], default: str, tolerance: float) -> WorldPromises:
    policies = world["policies"]
    return WorldPromises(
        _check_gap(policies[default]["pooled_gap"], world["oracle"]["smallest_gap"], tolerance),
        _check_worst_off(policies, default),
        _check_reward(policies, default, tolerance),
    )


def _check_gap(gap: Mapping[str, Any], smallest: float, tolerance: float) -> Promise:
    error = gap["se"] or 0.0
    floor, note = max((tolerance, "the tolerance"), (smallest, "the oracle's gap"))
    return Promise(gap["value"], floor + SLACK + 2 * error, f"{note} {floor:.3f} + {SLACK:g} + 2 x {error:.4f}")


def _check_worst_off(policies: Mapping[str, Any], default: str) -> Promise | None:
    """Return the promise that is kept by the smallest margin, over the reference policies."""
    ours = policies[default]["per_seed"].get("worst_off_reward")
    references = [title for title in policies if title.split("(")[0] in _REFERENCES and _is_reference(title)]
    if ours is None or not references:
        return None
    found = []
    for title in references:
        pairs = zip(policies[title]["per_seed"]["worst_off_reward"], ours, strict=True)
        # The reward is undefined in seeds in which no group that counts appeared.
        shortfall = [theirs - mine for theirs, mine in pairs if theirs is not None and mine is not None]
        if shortfall:
            error = standard_error(shortfall) or 0.0
            found.append(Promise(float(np.mean(shortfall)), SLACK + 2 * error, title))
    return max(found, key=lambda promise: promise.measured - promise.limit, default=None)


def _is_reference(title: str) -> bool:
    # Only LinUCB with the paper's setting is a reference.
    return title == BASELINE or not title.startswith(BASELINE)


def _check_reward(policies: Mapping[str, Any], default: str, tolerance: float) -> Promise:
    ours = policies[default]
    limit = max(ours["reward_gap"]["mean"], tolerance) + SLACK
    as_fair = {
        title: policy["reward"]["mean"]
        for title, policy in policies.items()
        if policy["reward_gap"]["mean"] <= limit
    }
    best = max(as_fair, key=as_fair.__getitem__)
    return Promise(as_fair[best] - ours["reward"]["mean"], NEARLY_EVERYWHERE, best)
