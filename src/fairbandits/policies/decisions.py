"""Decisions for many users at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.fairness import GroupKey
from fairbandits.models import Rows
from fairbandits.models.row_batch import RowBatch, RowPiece
from fairbandits.policies.decision_batch import DecisionBatch
from fairbandits.policies.notebook import decisions_html
from fairbandits.policies.picker import Pick, Picks
from fairbandits.policies.records import Decision, Scores, Slate
from fairbandits.views.text import counted

#: The record created for a user: a decision or a slate.
Made = TypeVar("Made")


class LazyRecords(Sequence[Made]):
    """Records for many users, each created when it is accessed; subclasses define `_record`."""

    def _record(self, user: int) -> Made:
        raise NotImplementedError

    @overload
    def __getitem__(self, user: int) -> Made: ...

    @overload
    def __getitem__(self, user: slice) -> list[Made]: ...

    def __getitem__(self, user: int | slice) -> Made | list[Made]:
        users = range(len(self))[user]
        return [self._record(each) for each in users] if isinstance(users, range) else self._record(users)


class LazyDecisions(LazyRecords[Decision]):
    """Decisions for many users, each created when it is accessed."""

    def batch(self) -> DecisionBatch:
        """Return those parts of the decisions that learning needs, as arrays."""
        raise NotImplementedError


class Decisions(LazyDecisions):
    """The result of `choose_many`: a sequence of decisions, each created when it is accessed.

    Creating a record for each of ten thousand users takes longer than choosing their arms. If you need only the
    arms, use `picked`. A decision taken from the sequence can be kept without keeping the others.

    Attributes
    ----------
    indices : array of int, shape (n_users,)
        The index of each user's picked arm in `arms`.
    probability : list
        The probability with which each user's arm was picked; None where it has no closed form.
    scores : Scores
        The scores of all arms, one row per user.
    arms : sequence of ids
        The arms that were on offer.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits import LinUCB
    >>> decisions = LinUCB(random_state=0).choose_many([np.diag([1.0, 0.5])] * 3, arms=["algebra", "biology"])
    >>> len(decisions), decisions.picked, decisions.scores.total.shape
    (3, ['algebra', 'algebra', 'algebra'], (3, 2))
    >>> decisions[0].arm, decisions[0].probability
    ('algebra', 1.0)
    """

    def __init__(
        self,
        picks: tuple[NDArray[np.int64], list[float | None]],
        scores: Scores,
        rows: Rows,
        groups: tuple[GroupKey, ...],
        offered: Sequence[ArmId],
        policy: str,
        numbers: Sequence[int],
    ) -> None:
        self.indices, self.probability = picks
        self.scores = scores
        self.arms = offered
        held: tuple[Rows, NDArray[np.int64]] = rows.picked(self.indices)
        self._rows, self._places = held
        self._groups = groups
        self._policy = policy
        self._numbers = numbers

    @property
    def picked(self) -> list[ArmId]:
        """The arm picked for each user."""
        return [self.arms[index] for index in self.indices.tolist()]

    def contexts(self) -> list[tuple[list[int], list[float], int]]:
        """Return the context of each user's arm: columns, values, and the number of shared leading entries."""
        users = np.arange(len(self))
        batch = RowBatch([RowPiece(self._rows.parts, users, self._places)], users, self._rows.width)
        stops, columns, values, n_shared, _ = (array.tolist() for array in batch.copy(users))
        edges = itertools.pairwise([0, *stops])
        return [(columns[lo:hi], values[lo:hi], n) for (lo, hi), n in zip(edges, n_shared, strict=True)]

    def __len__(self) -> int:
        return len(self.indices)

    def batch(self) -> DecisionBatch:
        """Return those parts of the decisions that learning needs, as arrays."""
        numbers, n = self._numbers, len(self)
        return DecisionBatch(
            [self._policy],
            np.zeros(n, np.int64),
            np.arange(numbers.start, numbers.stop) if isinstance(numbers, range) else np.array(numbers, np.int64),
            self.picked,
            self._groups,
            [RowPiece(self._rows.parts, np.arange(n), self._places)],
            np.arange(n),
            {self._rows.width},
        )

    def _record(self, user: int) -> Decision:
        index = int(self.indices[user])
        return Decision(
            self.arms[index],
            self.probability[user],
            self._groups[user],
            self.scores.user(user),
            self.arms,
            index,
            self._rows.row(user, int(self._places[user])).alone(),
            self._policy,
            self._numbers[user],
        )

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'decision')} of {self._policy}>"

    def _repr_html_(self) -> str:
        return decisions_html(self)


def as_arrays(picks: Sequence[Pick]) -> tuple[NDArray[np.int64], list[float | None]]:
    """Return the indices of picks, and their probabilities."""
    if isinstance(picks, Picks):
        return picks.indices, picks.probabilities.tolist()
    return np.array([index for index, _ in picks], np.int64), [probability for _, probability in picks]


def flat(decisions: Iterable[Any]) -> list[Any]:
    """Return decisions as one flat list, including those within `LazyDecisions`."""
    if isinstance(decisions, LazyDecisions):
        return list(decisions)
    return [one for each in decisions for one in (each if isinstance(each, LazyDecisions) else (each,))]


def slate_of(
    rows: Rows,
    scores: Scores,
    user: int,
    key: GroupKey,
    ids: Sequence[ArmId],
    pick: tuple[Sequence[int], float | None],
    policy: str,
    number: int,
) -> Slate:
    """Return the slate of one user, given the contexts and scores of a round and the picked indices."""
    indices, probability = pick
    return Slate(
        tuple(ids[index] for index in indices),
        probability,
        key,
        scores,
        ids,
        tuple(indices),
        tuple(rows.row(user, index).alone() for index in indices),
        policy,
        number,
    )
