"""Worlds: environments whose true rewards are known, so that policies can be evaluated exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """One round before a choice: the visitor, the arms on offer, and the reward of each arm.

    Parameters
    ----------
    contexts : array of shape (n_arms, n_features), or Offer
        One row per arm, as `choose` takes them: dense, scipy sparse, or an offer of a catalogue.
    group : hashable, mapping or None
        The visitor's group, as `choose` takes it.
    expected : array of shape (n_arms,)
        The true mean reward of each arm for this visitor, by which policies are measured. No policy sees it. NaN
        where it is unknown, as in the replay of a log; `rewards` is then also NaN.
    rewards : array of shape (n_arms,)
        The reward of each arm that a policy would see in this round: `expected` plus noise, and plus bias where
        feedback is biased. A policy sees only the entry of the arm that it picks, and nothing where it is NaN.
    arms : sequence of ids, optional
        The ids of the rows; by default 0..n-1.
    part : str
        The part of the run that the round belongs to, "train" or "test".
    delay : int
        The number of further rounds that are decided before the reward arrives; 0 if it arrives at once.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits.worlds import Visit
    >>> visit = Visit(np.eye(2), "female", expected=np.array([0.2, 0.7]), rewards=np.array([0.0, 1.0]))
    >>> int(visit.expected.argmax()), visit.rewards.tolist(), visit.part, visit.delay
    (1, [0.0, 1.0], 'test', 0)
    """

    contexts: Any
    group: Mapping[str, Any] | Any
    expected: NDArray[np.float64]
    rewards: NDArray[np.float64]
    arms: Sequence[Any] | None = None
    part: str = "test"
    delay: int = 0


@runtime_checkable
class World(Protocol):
    """A fixed sequence of visits; every iteration yields the same sequence."""

    def __len__(self) -> int:
        """Return the number of rounds."""
        ...

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start."""
        ...


@runtime_checkable
class TwinWorld(World, Protocol):
    """A world with counterfactual twins: each visitor again, with another value of the sensitive attribute."""

    def twins(self) -> Iterator[tuple[Visit, Visit]]:
        """Iterate over the rounds from the start, as pairs of a visit and its twin's visit."""
        ...


def dense(contexts: Any) -> NDArray[Any]:
    """Return contexts as a dense array, whether they are dense, scipy sparse or an offer."""
    return np.asarray(contexts.toarray() if hasattr(contexts, "toarray") else contexts)
