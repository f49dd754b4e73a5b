"""A world with other feedback: delayed, missing, biased or noisy rewards, drift, arms that come and go."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import Offer
from fairbandits.validation import check_integer, check_number, check_random_state
from fairbandits.worlds.arm_rhythm import ArmRhythm
from fairbandits.worlds.group_options import GroupOption
from fairbandits.worlds.noise import BERNOULLI, with_noise
from fairbandits.worlds.world import Visit, World

Floats = NDArray[np.float64]
ByGroup = float | Mapping[Any, float]

# By default an arm comes and goes this many times.
_PERIODS = 5
# The number of visits that are searched for rewards other than 0 and 1.
_TRIED = 100


class ModifiedWorld:
    """A world with delayed, missing, biased or noisy rewards, drift, or arms that come and go.

    Delay, missing rewards, bias and noise concern the feedback: the rewards that a policy sees, and when it sees
    them. The rewards that count, `expected`, stay the same. Drift and arms that come and go change the world
    itself.

    Parameters
    ----------
    world : World, or mapping of a name to parameters
        The world, with rewards in [0, 1]. As JSON it is {name: parameters}, with the name of a class of
        `fairbandits.worlds`, or "module:Class"; such a world also gets `random_state`, if it takes one.
    delay : int or pair of ints
        The number of further rounds that are decided before a reward arrives, or the lowest and the highest such
        number; all numbers in this range are equally likely.
    missing : float or mapping of group to float
        The probability that the reward of a round is never seen.
    bias : float or mapping of group to float
        A number that is added to the observed rewards, which are then clipped to [0, 1].
    noise : float or "bernoulli"
        Noise on the observed rewards, in addition to that of the world; see `fairbandits.worlds.noise.with_noise`.
        A number, the standard deviation of Gaussian noise, has no effect on a reward of 0 or 1, so it raises
        ValueError if all rewards of the world are 0 or 1. In such a world, `bias` together with "bernoulli" flips
        rewards at random.
    drift : float, optional
        The share of the rounds after which preferences reverse: in each round, the best arm then has the reward of
        the worst, the second-best that of the second-worst, and so on.
    present : float
        The share of arms that are on offer at a time; at least one arm is on offer in each round. Every arm comes
        and goes in a rhythm of `period` rounds, at different times for each arm.
    period : int, optional
        The number of rounds from one arrival of an arm to the next; by default a fifth of the rounds.
    random_state : int, numpy Generator or None
        The seed, or the source of randomness.

    Attributes
    ----------
    world : World
        The world without modifications.
    data_source : str
        The data source of the world.

    Notes
    -----
    Options by group are mappings such as {"female": 0.3}; groups that are not named have 0. If a user has several
    attributes, all values are looked up, and the first one that is named counts. Users in every named group must
    visit the world of `random_state` 0; in worlds of other seeds, a small group may be absent by chance.

    Examples
    --------
    >>> from fairbandits.worlds import LinearWorld
    >>> world = ModifiedWorld(LinearWorld(n_arms=2, rounds=4), delay=10, missing={"b": 1.0})
    >>> for visit in world.visits():
    ...     print(visit.group, visit.delay, visit.rewards.round(1))
    a 10 [0.  0.4]
    a 10 [0.4 0.3]
    a 10 [0.3 0.7]
    b 10 [nan nan]
    """

    def __init__(
        self,
        world: Any,
        *,
        delay: int | Sequence[int] = 0,
        missing: ByGroup = 0.0,
        bias: ByGroup = 0.0,
        noise: float | str = 0.0,
        drift: float | None = None,
        present: float = 1.0,
        period: int | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        rng = check_random_state(random_state)
        self.world: World = _as_world(world, random_state)
        self._delay = _as_delays(delay)
        self._missing = GroupOption("missing", missing, 0.0)
        self._bias = GroupOption("bias", bias, -1.0)
        self._noise = noise if noise == BERNOULLI else check_number("noise", noise, 0)
        self._turn = len(self) if drift is None else round(check_number("drift", drift, 0, 1) * len(self))
        self._present = check_number("present", present, 0, 1)
        self._period = max(len(self) // _PERIODS, 1) if period is None else check_integer("period", period, 2)
        self.data_source: str = getattr(self.world, "data_source", f"synthetic data: {type(self.world).__name__}")
        self._seed = int(rng.integers(2**63))
        self._depth: int = self.world._depth + 1 if isinstance(self.world, ModifiedWorld) else 1
        # Comparisons construct the world of seed 0 before all others, some of which may lack a small group.
        if not isinstance(random_state, int | np.integer) or random_state == 0:
            for option in (self._missing, self._bias):
                option.check(self.world)
        if self._noise and self._noise != BERNOULLI and not bias and _is_binary(self.world):
            raise ValueError(
                f"noise must not be a number where all rewards of the first {_TRIED} rounds are 0 or 1, which "
                f"Gaussian noise does not change, got {noise}; use bias with noise='bernoulli', which flips "
                "rewards at random"
            )

    def __len__(self) -> int:
        return len(self.world)

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start."""
        # Not from the seed alone, because the world, or a modified world within this one, may have started from it
        # too.
        rng = np.random.default_rng((self._seed, self._depth))
        rhythm = ArmRhythm(self._present, self._period, rng.random())
        low, high = self._delay
        for round_, visit in enumerate(self.world.visits()):
            contexts, expected, rewards, arms = visit.contexts, visit.expected, visit.rewards, visit.arms
            if round_ >= self._turn:
                expected, rewards = turn_preferences(expected, rewards)
            if self._present < 1:
                places = rhythm.places(round_, _ids(visit))
                contexts, arms = _select(visit, places)
                expected, rewards = expected[places], rewards[places]
            bias, missing = self._bias(visit.group), self._missing(visit.group)
            if (self._bias.is_set or self._noise) and ((rewards < 0) | (rewards > 1)).any():
                raise ValueError(
                    f"rewards must be from 0 to 1 if bias or noise is set, got {rewards} in round {round_}; "
                    "scale the rewards of the world"
                )
            if bias:
                rewards = np.clip(rewards + bias, 0.0, 1.0)
            if self._noise:
                rewards = np.where(np.isnan(rewards), np.nan, with_noise(rewards, self._noise, rng))
            if missing and rng.random() < missing:
                rewards = np.full(len(expected), np.nan)
            delay = visit.delay + (low if low == high else int(rng.integers(low, high + 1)))
            yield Visit(contexts, visit.group, expected, rewards, arms, visit.part, delay)


def turn_preferences(expected: Floats, rewards: Floats) -> tuple[Floats, Floats]:
    """Return means and rewards after the best arm has swapped with the worst, and so on inwards.

    Examples
    --------
    >>> turn_preferences(np.array([0.2, 0.9, 0.5]), np.array([0.1, 1.0, 0.4]))
    (array([0.9, 0.2, 0.5]), array([1. , 0.1, 0.4]))
    """
    if np.isnan(expected).any():
        raise ValueError("drift must be None if the mean rewards of some arms are unknown, as in a replay")
    order = np.argsort(expected, kind="stable")
    source = np.empty_like(order)
    source[order] = order[::-1]
    return expected[source], rewards[source]


def _is_binary(world: World) -> bool:
    """Return whether the first visits have rewards, and all of these are 0 or 1."""
    rewards = np.concatenate([visit.rewards for visit in islice(world.visits(), _TRIED)])
    known = rewards[~np.isnan(rewards)]
    return known.size > 0 and bool(np.isin(known, (0.0, 1.0)).all())


def _ids(visit: Visit) -> Sequence[Any]:
    if visit.arms is not None:
        return visit.arms
    return visit.contexts.arms if isinstance(visit.contexts, Offer) else range(len(visit.expected))


def _select(visit: Visit, places: NDArray[np.int64]) -> tuple[Any, Sequence[Any]]:
    """Return the contexts and the ids of some arms."""
    contexts, arms = visit.contexts, _ids(visit)
    if isinstance(contexts, Offer):
        offer = contexts.select(places)
        return offer, offer.arms
    rows = contexts.tocsr() if hasattr(contexts, "tocsr") else contexts
    return rows[places], [arms[place] for place in places.tolist()]


def _as_world(world: Any, random_state: Any) -> World:
    if isinstance(world, Mapping) and len(world) == 1:
        ((name, params),) = world.items()
        module, _, member = str(name).rpartition(":")
        try:
            cls = getattr(import_module(module or "fairbandits.worlds"), member)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"world {name!r} cannot be imported: {error}") from None
        seed = {"random_state": random_state} if "random_state" in inspect.signature(cls).parameters else {}
        try:
            world = cls(**(seed | params))
        except TypeError as error:
            raise ValueError(f"world {name!r} does not take these parameters: {error}") from None
    if not isinstance(world, World):
        raise ValueError(f"world must have the methods __len__() and visits(), got a {type(world).__name__}")
    return world


def _as_delays(delay: Any) -> tuple[int, int]:
    if isinstance(delay, Sequence) and not isinstance(delay, str) and len(delay) == 2:
        low = check_integer("delay", delay[0], 0)
        return low, check_integer("delay", delay[1], low)
    low = check_integer("delay", delay, 0)
    return low, low
