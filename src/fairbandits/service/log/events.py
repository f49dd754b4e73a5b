"""What happened: the entries of the log, from which everything else follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic_core import from_json, to_json

#: The context of an arm that was picked: columns, values, and how many of the first all arms have in common.
Context = Sequence[Any]


class Event:
    """An entry of the log: plain values, and nothing that changes."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    #: The name of its kind in the log.
    KIND: ClassVar[str]

    @property
    def key(self) -> str:
        """What can happen only once: a decision, its reward, the how-manieth change of an arm."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Write it down; numbers come back to the bit."""
        return to_json({name: getattr(self, name) for name in self.__match_args__}).decode()


def decision_key(decision: str) -> str:
    """Give the key of a decision."""
    return f"d:{decision}"


def reward_key(decision: str) -> str:
    """Give the key of the reward of a decision."""
    return f"r:{decision}"


def arm_key(arm: str, version: int) -> str:
    """Give the key of a change of an arm."""
    return f"a:{version}:{arm}"


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """An arm, or several in an order, picked for a user.

    Attributes
    ----------
    id : str
        The id of the decision, which its reward names.
    time : float
        When, in seconds since 1970.
    at : int
        The entry of the log up to which the policy had learned.
    features, groups : dict
        The user's, as they came.
    picked : list of str
        The arms, the first place first.
    slate : bool
        Whether several were asked for, be it one.
    offered : int
        How many arms were on offer.
    propensity : float or None
        The probability of the pick; None where it has no closed form.
    explored : bool
        Whether it was an experiment: without what exploration added, the user would have got another arm.
    scores : list of dict
        Of each arm that was picked: mean, width, exploration, fairness, total.
    contexts : list
        Of each arm that was picked: the columns, the values, how many are common to all arms.
    width : int
        How many columns a context has.
    """

    KIND = "decided"

    id: str
    time: float
    at: int
    features: Mapping[str, Any]
    groups: Mapping[str, str]
    picked: list[str]
    slate: bool
    offered: int
    propensity: float | None
    explored: bool
    scores: list[dict[str, float]]
    contexts: list[Context]
    width: int

    @property
    def key(self) -> str:
        """Its key."""
        return decision_key(self.id)


@dataclass(frozen=True, slots=True)
class Rewarded(Event):
    """What a decision brought.

    Attributes
    ----------
    decision : str
        The id of the decision.
    time : float
        When, in seconds since 1970.
    reward : float or list
        What it gave; for a slate also one for each arm, None for an arm that nobody looked at.
    """

    KIND = "rewarded"

    decision: str
    time: float
    reward: float | list[float | None]

    @property
    def key(self) -> str:
        """Its key."""
        return reward_key(self.decision)


@dataclass(frozen=True, slots=True)
class ArmSet(Event):
    """An arm was added, or changed.

    Attributes
    ----------
    arm : str
        Its id.
    version : int
        The how-manieth change of an arm of this id this is, from 1.
    time : float
        When, in seconds since 1970.
    features, matches : dict
        What is known of it, and which users it matches.
    """

    arm: str
    version: int
    time: float
    features: Mapping[str, Any]
    matches: Mapping[str, str | None]

    @property
    def key(self) -> str:
        """Its key."""
        return arm_key(self.arm, self.version)


@dataclass(frozen=True, slots=True)
class ArmAdded(ArmSet):
    """An arm was added to the catalogue."""

    KIND = "arm_added"


@dataclass(frozen=True, slots=True)
class ArmChanged(ArmSet):
    """What is known of an arm changed."""

    KIND = "arm_changed"


@dataclass(frozen=True, slots=True)
class ArmRetired(Event):
    """An arm was taken out of the catalogue, and what was learned of it dropped."""

    KIND = "arm_retired"

    arm: str
    version: int
    time: float

    @property
    def key(self) -> str:
        """Its key."""
        return arm_key(self.arm, self.version)


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its place in the log.

    Attributes
    ----------
    seq : int
        The place, from 1, without gaps.
    event : Event
        What happened.
    decided : Decided or None
        Of a reward, the decision that it is for.
    """

    seq: int
    event: Event
    decided: Decided | None = None


_KINDS: dict[str, type[Event]] = {
    kind.KIND: kind for kind in (Decided, Rewarded, ArmAdded, ArmChanged, ArmRetired)
}


def read_event(kind: str, text: str) -> Any:
    """Make the event of which `to_json` gave the text."""
    return _KINDS[kind](**from_json(text))
