"""A world given as an object: it is the same for every seed, and recognised by the content of its visits."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from fairbandits.worlds import World
from fairbandits.worlds.world import dense


class FixedWorld:
    """A world object, for runs in which the seed affects only the policy.

    Parameters
    ----------
    world : World
        The world, which is the same for every seed.

    Examples
    --------
    >>> from fairbandits.worlds import LinearWorld
    >>> one, same, other = (FixedWorld(LinearWorld(rounds=5, random_state=seed)) for seed in (0, 0, 1))
    >>> one.digest == same.digest, one.digest == other.digest
    (True, False)
    >>> one
    FixedWorld(LinearWorld)
    """

    def __init__(self, world: World) -> None:
        if isinstance(world, type) or not isinstance(world, World):
            kind = world.__name__ if isinstance(world, type) else type(world).__name__
            raise ValueError(f"world must be an object with the methods __len__() and visits(), got {kind}")
        self.world = world

    def __repr__(self) -> str:
        return f"FixedWorld({type(self.world).__name__})"

    @property
    def __name__(self) -> str:
        """The name of the world's class."""
        return type(self.world).__name__

    @cached_property
    def digest(self) -> str:
        """A hash of all visits. Runs are cached under it, and under the parameters that the world offers."""
        digest = hashlib.sha256()
        for visit in self.world.visits():
            for numbers in (dense(visit.contexts), visit.expected, visit.rewards):
                digest.update(np.ascontiguousarray(numbers, np.float64).tobytes())
            digest.update(repr(_labels(visit)).encode())
        return digest.hexdigest()


def _labels(visit: Any) -> tuple[Any, ...]:
    arms = None if visit.arms is None else list(visit.arms)
    return dense(visit.contexts).shape, visit.group, arms, visit.part, getattr(visit, "delay", 0)
