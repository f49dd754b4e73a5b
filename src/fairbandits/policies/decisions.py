"""The decisions for many users at once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.fairness import GroupKey
from fairbandits.models import Rows
from fairbandits.models.kernels.split_rows import copy_rows
from fairbandits.policies.notebook import decisions_html
from fairbandits.policies.picker import Pick
from fairbandits.policies.records import Decision, Scores, Slate
from fairbandits.views.text import counted


class LazyDecisions(Sequence[Decision]):
    """Decisions for many users, each of which is made when it is asked for: derive, and define `_decision`."""

    def _decision(self, user: int) -> Decision:
        raise NotImplementedError

    @overload
    def __getitem__(self, user: int) -> Decision: ...

    @overload
    def __getitem__(self, user: slice) -> list[Decision]: ...

    def __getitem__(self, user: int | slice) -> Decision | list[Decision]:
        users = range(len(self))[user]
        return [self._decision(each) for each in users] if isinstance(users, range) else self._decision(users)


class Decisions(LazyDecisions):
    """The result of `choose_many`: a sequence of decisions, each of which is made when it is asked for.

    A record for each of ten thousand users takes longer to write than the decision itself; `picked` has the arms
    alone. A decision that is taken out can be kept without the others.

    Attributes
    ----------
    indices : array of int, shape (n_users,)
        The index of each user's arm among those on offer.
    probability : list
        The probability with which each was picked, or None.
    scores : Scores
        The scores of all arms, one row per user.
    arms : sequence of ids
        The arms that were on offer.
    """

    def __init__(
        self,
        picks: list[Pick],
        scores: Scores,
        rows: Rows,
        groups: tuple[GroupKey, ...],
        offered: Sequence[ArmId],
        policy: str,
        numbers: Sequence[int],
    ) -> None:
        self.indices: NDArray[np.int64] = np.array([index for index, _ in picks], np.int64)
        self.probability = [probability for _, probability in picks]
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
        """Return the context of each user's arm: columns, values, and how many of the first all arms share."""
        arrays = copy_rows(tuple(self._rows.parts), self._places)
        starts, columns, values, n_shared = (array.tolist() for array in arrays)
        edges = itertools.pairwise(starts)
        return [(columns[lo:hi], values[lo:hi], n) for (lo, hi), n in zip(edges, n_shared, strict=True)]

    def __len__(self) -> int:
        return len(self.indices)

    def _decision(self, user: int) -> Decision:
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
