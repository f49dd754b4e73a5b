"""Decisions that were made on a device: of all scores, only those of the picked arms came back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.fairness import GroupKey
from fairbandits.models import Rows
from fairbandits.policies.decisions import Decisions, LazyRecords
from fairbandits.policies.records import Decision, OtherArms, Scores, Slate
from fairbandits.views.text import counted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class DevicePicks:
    """What came back from a device, for all users.

    Attributes
    ----------
    indices : array of int, shape (n_users, k)
        The indices of the picked arms; k is 1 for single arms.
    probability : array of shape (n_users,)
        The probability of each pick; NaN where it is unknown.
    scores : Scores
        The scores of the picked arms: arrays of shape (n_users, k).
    regret : array of shape (n_users,)
        How much more the best arms were predicted to give than the picked ones.
    """

    indices: Ints
    probability: Floats
    scores: Scores
    regret: Floats

    def probabilities(self) -> list[float | None]:
        """Return the probability of each pick, None where it is unknown."""
        if np.isnan(self.probability).any():
            return [None if math.isnan(each) else each for each in self.probability.tolist()]
        known: list[float | None] = self.probability.tolist()
        return known

    @classmethod
    def join(cls, blocks: Sequence[DevicePicks]) -> DevicePicks:
        """Return the picks of several blocks of users, one after the other."""
        if len(blocks) == 1:
            return blocks[0]
        scores = (np.concatenate([getattr(each.scores, part) for each in blocks]) for part in Scores.__slots__)
        return cls(
            np.concatenate([each.indices for each in blocks]),
            np.concatenate([each.probability for each in blocks]),
            Scores(*scores),
            np.concatenate([each.regret for each in blocks]),
        )


class DeviceDecisions(Decisions):
    """The result of `choose_many` on a device: as `Decisions`, but with the scores of the picked arms alone.

    A decision that is taken out has the compact form, which is all that learning and logs need.

    Attributes
    ----------
    scores : Scores
        The scores of the picked arms: arrays of shape (n_users, 1).
    regret : array of shape (n_users,)
        How much more the best arm was predicted to give than the picked one.
    """

    def __init__(
        self,
        picks: DevicePicks,
        rows: Rows,
        groups: tuple[GroupKey, ...],
        offered: Sequence[ArmId],
        policy: str,
        numbers: Sequence[int],
    ) -> None:
        picked = picks.indices[:, 0], picks.probabilities()
        super().__init__(picked, picks.scores, rows, groups, offered, policy, numbers)
        self.regret = picks.regret

    def _record(self, user: int) -> Decision:
        arm = self.arms[int(self.indices[user])]
        return Decision(
            arm,
            self.probability[user],
            self._groups[user],
            self.scores.user(user),
            (arm,),
            0,
            self._rows.row(user, int(self._places[user])).alone(),
            self._policy,
            self._numbers[user],
            OtherArms(len(self.arms), float(self.regret[user])),
        )


class DeviceSlates(LazyRecords[Slate]):
    """The slates that `choose_many` chose on a device: a sequence, each of which is made when it is asked for.

    Attributes
    ----------
    indices : array of int, shape (n_users, k)
        The indices of each user's arms among those on offer, in the order of their positions.
    probability : list
        The probability of each slate, or None.
    scores : Scores
        The scores of the picked arms: arrays of shape (n_users, k).
    arms : sequence of ids
        The arms that were on offer.
    """

    def __init__(
        self,
        picks: DevicePicks,
        rows: Rows,
        groups: tuple[GroupKey, ...],
        offered: Sequence[ArmId],
        policy: str,
        numbers: Sequence[int],
    ) -> None:
        self.indices = picks.indices
        self.probability = picks.probabilities()
        self.scores = picks.scores
        self.arms = offered
        self._regret = picks.regret
        held: tuple[Rows, Ints] = rows.picked(picks.indices)
        self._rows, self._places = held
        self._groups = groups
        self._policy = policy
        self._numbers = numbers

    @property
    def picked(self) -> list[list[ArmId]]:
        """The arms picked for each user."""
        return [[self.arms[index] for index in own] for own in self.indices.tolist()]

    def __len__(self) -> int:
        return len(self.indices)

    def _record(self, user: int) -> Slate:
        indices = self.indices[user].tolist()
        picked = tuple(self.arms[index] for index in indices)
        return Slate(
            picked,
            self.probability[user],
            self._groups[user],
            self.scores.user(user),
            picked,
            tuple(range(len(picked))),
            tuple(self._rows.row(user, place).alone() for place in self._places[user].tolist()),
            self._policy,
            self._numbers[user],
            OtherArms(len(self.arms), float(self._regret[user])),
        )

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'slate')} of {self._policy}>"
