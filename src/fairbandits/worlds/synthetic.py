"""A small world with a known answer, and an example of how to write one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds import checks
from fairbandits.worlds.world import Visit


@dataclass(eq=False)
class LinearWorld:
    """A world whose rewards are linear in the contexts, with arms that are partial to the first group.

    All columns of a context but the last are drawn uniformly from [0, 1], anew for each arm and round. The
    last says how far the arm leans to the visitor's group: arm 0 treats all alike, and the last arm gives the
    first group `gap` more than the last group, which no arm leans to. A policy can close the gap, at a price.

    Parameters
    ----------
    n_arms, n_features : int
        The shape of the contexts; at least two features.
    groups : sequence of hashables
        The groups, all equally likely to come.
    rounds : int
        How long the world lasts; all of it is the test part.
    noise : float
        The standard deviation of the noise on the rewards, which stay in [0, 1] and keep their means.
    gap : float
        How much more the most partial arm gives the first group than the last, in [0, 1].
    random_state : int, numpy Generator or None
        Where all randomness comes from.

    Attributes
    ----------
    theta : array of shape (n_features,)
        The true coefficients: `expected = contexts @ theta`.

    Examples
    --------
    >>> world = LinearWorld(n_arms=3, n_features=4, rounds=2, noise=0.0)
    >>> for visit in world.visits():
    ...     print(visit.group, (visit.contexts @ world.theta == visit.expected).all())
    a True
    a True
    """

    n_arms: int = 5
    n_features: int = 4
    groups: Sequence[Hashable] = ("a", "b")
    rounds: int = 1000
    noise: float = 0.1
    gap: float = 0.2
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self) -> None:
        for name, least in (("n_arms", 1), ("n_features", 2), ("rounds", 1)):
            setattr(self, name, checks.whole(name, getattr(self, name), least))
        if isinstance(self.groups, str) or not isinstance(self.groups, Sequence) or not self.groups:
            raise ValueError(f"groups={self.groups!r} came; expected a sequence of at least one group")
        self.noise = checks.between("noise", self.noise, 0)
        self.gap = checks.between("gap", self.gap, 0, 1)
        rng = checks.generator(self.random_state)
        # Weights that add up to 1 keep the rewards in [0, 1].
        self.theta = np.append((1 - self.gap) * rng.dirichlet(np.ones(self.n_features - 1)), self.gap)
        self._seed = int(rng.integers(2**63))

    def __len__(self) -> int:
        return self.rounds

    def visits(self) -> Iterator[Visit]:
        """Go through the rounds from the start."""
        rng = np.random.default_rng(self._seed)
        lean, ahead = self._leanings()
        for _ in range(self.rounds):
            number = int(rng.integers(len(self.groups)))
            contexts = rng.random((self.n_arms, self.n_features))
            contexts[:, -1] = lean * ahead[number]
            expected = contexts @ self.theta
            rewards = checks.with_noise(expected, self.noise, rng)
            yield Visit(contexts, self.groups[number], expected, rewards)

    def twins(self) -> Iterator[tuple[Visit, Visit]]:
        """Go through the rounds, each beside that of a twin of the next group, the first after the last.

        Twins differ in the column that says how far an arm leans to them. Their rewards are without noise.
        """
        lean, ahead = self._leanings()
        for visit in self.visits():
            number = (self.groups.index(visit.group) + 1) % len(self.groups)
            contexts = visit.contexts.copy()
            contexts[:, -1] = lean * ahead[number]
            expected = contexts @ self.theta
            yield visit, Visit(contexts, self.groups[number], expected, expected)

    def _leanings(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Say how far each arm leans, and how much of that each group gets."""
        return np.linspace(0, 1, self.n_arms), np.linspace(1, 0, len(self.groups))
