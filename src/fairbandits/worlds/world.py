"""What a world is: somewhere a policy can be tried because the true rewards are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """One round before anyone has chosen: who comes, what is on offer, what each arm would give.

    Parameters
    ----------
    contexts : array of shape (n_arms, n_features), or Offer
        One row per arm, as `choose` takes them: dense, scipy sparse, or what a catalogue offers.
    group : hashable, mapping or None
        The visitor's group, as `choose` takes it.
    expected : array of shape (n_arms,)
        The true mean reward of each arm for this visitor. No policy sees it.
    rewards : array of shape (n_arms,)
        What each arm would give this time: `expected` plus this round's noise. A policy sees the
        entry of the arm that it picks, and no other.
    arms : sequence of ids, optional
        The ids of the rows; left out, they are 0..n-1.
    part : str
        The part of the run that the round belongs to, "train" or "test".
    """

    contexts: Any
    group: Mapping[str, Any] | Any
    expected: NDArray[np.float64]
    rewards: NDArray[np.float64]
    arms: Sequence[Any] | None = None
    part: str = "test"


@runtime_checkable
class World(Protocol):
    """A fixed sequence of visits; reading it twice gives the same one twice."""

    def __len__(self) -> int:
        """How many rounds the world lasts."""
        ...

    def visits(self) -> Iterator[Visit]:
        """Go through the rounds from the start."""
        ...


@runtime_checkable
class TwinWorld(World, Protocol):
    """A world that also knows each visitor's twin: the same one with another value of the sensitive attribute."""

    def twins(self) -> Iterator[tuple[Visit, Visit]]:
        """Go through the rounds from the start, each visit beside that of the visitor's twin."""
        ...


def dense(contexts: Any) -> NDArray[Any]:
    """Return contexts as a plain array, whether they are dense, scipy sparse or an offer."""
    return np.asarray(contexts.toarray() if hasattr(contexts, "toarray") else contexts)
