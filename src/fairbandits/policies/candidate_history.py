"""The candidates of recent rounds, and the rank of a new candidate among those of its own group."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbandits.labels import LabelValue
from fairbandits.models.first_half import next_update
from fairbandits.policies.picker import TIE
from fairbandits.policies.sorted_groups import SortedGroups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The expected rank of a candidate if no candidate of its group is known.
_UNKNOWN = 0.5


class Candidates(NamedTuple):
    """The candidates of a round, without the zeros of their contexts.

    Attributes
    ----------
    groups : array of int
        The number of each candidate's group.
    positions, values : arrays
        The non-zeros of the matrix of their contexts, row by row, by their position in it.
    """

    groups: Ints
    positions: Ints
    values: Floats


class CandidateHistory:
    """The contexts of the candidates in the second half of the rounds.

    Parameters
    ----------
    growth : float
        The share by which the number of rounds must grow before older ones are dropped; 0 to drop them at once.
    memory : int or None
        The largest number of rounds that remain when older ones are dropped; None for no limit.

    Examples
    --------
    >>> history = CandidateHistory(growth=0.0, memory=None)
    >>> history.add(np.array([[0.2], [0.9]]), ["f", "m"])
    >>> history.add(np.array([[0.4], [0.7]]), ["f", "m"])
    >>> history.ranks(np.array([1.0]), ["f", "m"], np.array([[0.5, 0.5]]))
    array([[1., 0.]])
    """

    def __init__(self, growth: float, memory: int | None) -> None:
        self._growth = growth
        self._memory = memory
        self._rounds: deque[Candidates] = deque()
        self._numbers: dict[LabelValue, int] = {}
        # The groups that were added last, and their numbers: most rounds have the same candidates.
        self._last: tuple[Sequence[LabelValue] | None, Ints] = None, np.zeros(0, np.int64)
        self._width = 0
        self._seen = 0
        self._due = 1
        # For the coefficients of the last ranks: the predicted rewards of each group.
        self._theta: Floats | None = None
        self._rewards: SortedGroups

    def add(self, contexts: Floats, groups: Sequence[LabelValue]) -> None:
        """Add the candidates of a round: their contexts, one row each, and their groups."""
        if type(groups) is not tuple or groups is not self._last[0]:  # a list may have changed
            known = self._numbers
            self._last = groups, np.array([known.setdefault(group, len(known)) for group in groups])
        numbers = self._last[1]
        positions = np.flatnonzero(contexts != 0.0)  # `flatnonzero` is several times as fast for Booleans
        self._rounds.append(Candidates(numbers, positions, contexts.reshape(-1)[positions]))
        self._width = contexts.shape[1]
        self._seen += 1
        if self._seen >= self._due:
            self._due = next_update(self._seen, self._growth)
            kept = self._seen - self._seen // 2
            while len(self._rounds) > (kept if self._memory is None else min(kept, self._memory)):
                self._rounds.popleft()
            self._theta = None
        elif self._theta is not None and not self._rewards.add(numbers, contexts @ self._theta):
            self._theta = None

    def ranks(self, theta: Floats, groups: Sequence[LabelValue], rewards: Floats) -> Floats:
        """Return, for each candidate, the share of its group's known candidates with no higher prediction.

        Parameters
        ----------
        theta : array of shape (n_features,)
            The coefficients, by which the rewards of the known candidates are predicted.
        groups : sequence
            The group of each candidate.
        rewards : array of shape (n_users, n_candidates)
            The predicted rewards of the candidates.
        """
        if self._theta is None or not np.array_equal(self._theta, theta):
            self._sort(theta)
        is_last = type(groups) is tuple and groups is self._last[0]
        numbers = self._last[1] if is_last else np.array([self._numbers.get(group, -1) for group in groups])
        # Equal rewards may differ in their last digits; they are ties, and count.
        return self._rewards.shares_up_to(numbers, rewards + TIE, _UNKNOWN)

    def _sort(self, theta: Floats) -> None:
        """Predict the rewards of all candidates, and sort them by group."""
        groups, positions, values = (np.concatenate(part) for part in zip(*self._parts(), strict=True))
        sizes = np.array([len(each.groups) for each in self._rounds], np.int64)
        first = np.repeat(np.cumsum(sizes) - sizes, [len(each.positions) for each in self._rounds])
        at, column = np.divmod(positions, max(self._width, 1))
        weights = np.asarray(values * theta[column], np.float64)
        rewards = np.bincount(first + at, weights, minlength=len(groups)).astype(np.float64)
        # Leave room for as many new groups, because arms that form their own groups may come and go.
        self._rewards = SortedGroups(groups, rewards, 2 * len(self._numbers) + 1)
        self._theta = theta

    def _parts(self) -> Sequence[Candidates]:
        """Return the rounds; a round without candidates if there are none."""
        return self._rounds or (Candidates(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)),)

    # -- a record of a policy ---------------------------------------------------------------------------

    def to_json(self) -> list[LabelValue]:
        """Return the names of the groups."""
        return list(self._numbers)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers as arrays."""
        groups, positions, values = (np.concatenate(part) for part in zip(*self._parts(), strict=True))
        sizes = [(len(each.groups), len(each.positions)) for each in self._rounds]
        return {
            "candidate_groups": groups,
            "positions": positions,
            "values": values,
            "sizes": np.array(sizes, np.int64).reshape(-1, 2),
            "rounds": np.array([self._width, self._seen, self._due]),
        }

    def restore(self, names: list[LabelValue], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the history that `to_json` and `arrays` returned."""
        groups, positions, values = (
            np.array(arrays[part]) for part in ("candidate_groups", "positions", "values")
        )
        ends = np.cumsum(arrays["sizes"], axis=0)
        totals = ends[-1].tolist() if len(ends) else [0, 0]
        if totals != [len(groups), len(positions)] or len(positions) != len(values):
            raise ValueError(
                f"candidates must have {totals} groups and positions, got {len(groups)}, {len(values)}"
            )
        self._width, self._seen, self._due = arrays["rounds"].tolist()
        self._numbers = {name: number for number, name in enumerate(names)}
        self._last = None, np.zeros(0, np.int64)
        at_group, at_position = ends[:-1].T
        parts = np.split(groups, at_group), np.split(positions, at_position), np.split(values, at_position)
        self._rounds = deque(map(Candidates, *parts)) if len(ends) else deque()
        self._theta = None

    def merge(self, other: CandidateHistory) -> None:
        """Add nothing: policies with candidates cannot be merged, because their models cannot."""
