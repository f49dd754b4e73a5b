"""The decisions for many users who were offered different arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.policies.decision_batch import DecisionBatch, joined
from fairbandits.policies.decisions import Decisions, LazyDecisions
from fairbandits.policies.records import Decision, Scores

Ints = NDArray[np.int64]


class MixedDecisions(LazyDecisions):
    """The result of `choose_many` for users with different eligible arms: a sequence, as `Decisions` is.

    Attributes
    ----------
    indices : array of int, shape (n_users,)
        The index of each user's arm among those that this user was eligible for.
    probability : list
        The probability with which each arm was picked, or None.
    """

    def __init__(self, parts: Sequence[Decisions], users: Sequence[Ints]) -> None:
        n_users = sum(map(len, parts))
        self._parts = parts
        # For each user, the part and the place in it.
        self._part, self._place = np.empty(n_users, np.int64), np.empty(n_users, np.int64)
        for number, own in enumerate(users):
            self._part[own], self._place[own] = number, np.arange(len(own))
        self.indices: Ints = np.array(self._gather([part.indices.tolist() for part in parts]), np.int64)
        self.probability: list[float | None] = self._gather([part.probability for part in parts])

    @property
    def picked(self) -> list[ArmId]:
        """The arm picked for each user."""
        return self._gather([part.picked for part in self._parts])

    @property
    def arms(self) -> list[Sequence[ArmId]]:
        """The arms that each user was eligible for."""
        return [part.arms for part, _ in self._places()]

    @property
    def scores(self) -> list[Scores]:
        """The scores of each user's eligible arms."""
        return [part.scores.user(place) for part, place in self._places()]

    def contexts(self) -> list[tuple[list[int], list[float], int]]:
        """Return the context of each user's arm, as `Decisions.contexts` does."""
        return self._gather([part.contexts() for part in self._parts])

    def _gather(self, values: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the values that each part holds for its users, in the order of all users."""
        return [values[part][at] for part, at in zip(self._part.tolist(), self._place.tolist(), strict=True)]

    def _places(self) -> Iterator[tuple[Decisions, int]]:
        for part, place in zip(self._part.tolist(), self._place.tolist(), strict=True):
            yield self._parts[part], place

    def __len__(self) -> int:
        return len(self._part)

    def batch(self) -> DecisionBatch:
        """Return the parts of the decisions that learning needs, as arrays."""
        firsts = np.cumsum([0, *map(len, self._parts)])
        return joined([part.batch() for part in self._parts]).reordered(firsts[self._part] + self._place)

    def _record(self, user: int) -> Decision:
        return self._parts[int(self._part[user])][int(self._place[user])]

    def __repr__(self) -> str:
        return f"<{len(self)} decisions on {len(self._parts)} sets of eligible arms>"
