"""Small synthetic worlds with known optima; also examples of how to write a world."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.validation import check_integer, check_number, check_random_state
from fairbandits.worlds.noise import with_noise
from fairbandits.worlds.world import Visit


@dataclass(eq=False)
class LinearWorld:
    """A world whose rewards are linear in the contexts, and whose arms favour the first group.

    All columns of a context but the last are drawn uniformly from [0, 1], independently for each arm and round.
    The last column is the degree to which the arm favours the visitor's group: arm 0 treats all groups alike, and
    the last arm gives the first group `gap` more than the last group. A policy can close the gap, at a cost in
    reward.

    Parameters
    ----------
    n_arms, n_features : int
        The shape of the contexts; at least two features.
    groups : sequence of hashables
        The groups; each visitor belongs to one of them, uniformly at random.
    rounds : int
        The number of rounds; all of them belong to the test part.
    noise : float
        The standard deviation of the noise on the rewards, which stay in [0, 1] and keep their means.
    gap : float
        How much more the last arm gives the first group than the last group, in [0, 1].
    random_state : int, numpy Generator or None
        The seed, or the source of randomness.

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
            setattr(self, name, check_integer(name, getattr(self, name), least))
        if isinstance(self.groups, str) or not isinstance(self.groups, Sequence) or not self.groups:
            raise ValueError(f"groups must be a sequence of at least one group, got {self.groups!r}")
        self.noise = check_number("noise", self.noise, 0)
        self.gap = check_number("gap", self.gap, 0, 1)
        rng = check_random_state(self.random_state)
        # Coefficients that sum to 1 keep the rewards in [0, 1].
        self.theta = np.append((1 - self.gap) * rng.dirichlet(np.ones(self.n_features - 1)), self.gap)
        self._seed = int(rng.integers(2**63))

    def __len__(self) -> int:
        return self.rounds

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start."""
        rng = np.random.default_rng(self._seed)
        bias, advantage = self._favouritism()
        for _ in range(self.rounds):
            group = int(rng.integers(len(self.groups)))
            contexts = rng.random((self.n_arms, self.n_features))
            contexts[:, -1] = bias * advantage[group]
            expected = contexts @ self.theta
            rewards = with_noise(expected, self.noise, rng)
            yield Visit(contexts, self.groups[group], expected, rewards)

    def twins(self) -> Iterator[tuple[Visit, Visit]]:
        """Iterate over the rounds; the twin of a visitor belongs to the next group, cyclically.

        Twins differ only in the last column of their contexts. The rewards of twins have no noise.
        """
        bias, advantage = self._favouritism()
        for visit in self.visits():
            group = (self.groups.index(visit.group) + 1) % len(self.groups)
            contexts = visit.contexts.copy()
            contexts[:, -1] = bias * advantage[group]
            expected = contexts @ self.theta
            yield visit, Visit(contexts, self.groups[group], expected, expected)

    def _favouritism(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how biased each arm is, and the share of that bias which each group receives."""
        return np.linspace(0, 1, self.n_arms), np.linspace(1, 0, len(self.groups))


@dataclass(eq=False)
class UnequalWorld:
    """A world in which no policy can close the gap: one group's worst arm is better than the other group's best.

    Visitors are of two groups and, within each, of two kinds, all equally likely. Both kinds of the first group
    earn 0.9 from arm 0 and 0.6 from arm 1. In the second group, one kind earns 0.4 from arm 0 and 0.1 from arm 1,
    the other kind earns the reverse. So the smallest possible gap is 0.2, and anything more that a policy does for
    fairness can only harm the second group. A context is one-hot: arm, group and kind. Rewards are 0 or 1.

    Parameters
    ----------
    rounds : int
        The number of rounds; all of them belong to the test part.
    random_state : int, numpy Generator or None
        The seed, or the source of randomness.

    Examples
    --------
    >>> visit = next(UnequalWorld(rounds=1).visits())
    >>> visit.contexts.shape, visit.group, visit.expected
    ((2, 8), 'b', array([0.4, 0.1]))
    """

    rounds: int = 4000
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self) -> None:
        self.rounds = check_integer("rounds", self.rounds, 1)
        self._seed = int(check_random_state(self.random_state).integers(2**63))

    def __len__(self) -> int:
        return self.rounds

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start."""
        rng = np.random.default_rng(self._seed)
        means = np.array([[[0.9, 0.6], [0.9, 0.6]], [[0.4, 0.1], [0.1, 0.4]]])
        for _ in range(self.rounds):
            group, kind = rng.integers(2, size=2)
            contexts = np.zeros((2, 8))
            contexts[[0, 1], [2 * group + kind, 4 + 2 * group + kind]] = 1.0
            expected = means[group, kind].copy()
            yield Visit(contexts, "ab"[group], expected, with_noise(expected, "bernoulli", rng))
