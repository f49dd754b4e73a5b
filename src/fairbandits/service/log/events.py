"""The events of the log, from which all state of the service follows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic_core import from_json, to_json

#: The context of a chosen arm: columns, values, and the number of leading columns that all arms share.
Context = Sequence[Any]


class Event:
    """An immutable event that consists of plain values."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    #: The name of the event type in the log.
    KIND: ClassVar[str]
    #: Fields unknown to earlier releases. They are omitted while None, so that such releases can still read the
    #: log.
    ADDED: ClassVar[tuple[str, ...]] = ()

    @property
    def key(self) -> str:
        """The unique key: there is one event per decision, per reward of a decision, and per version of an arm."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the event as JSON, from which floats are read back bitwise identical."""
        plain = {name: getattr(self, name) for name in self.__match_args__}
        for name in self.ADDED:
            if plain[name] is None:
                del plain[name]
        return to_json(plain).decode()


def decision_key(decision: str) -> str:
    """Return the key of a decision."""
    return f"d:{decision}"


def reward_key(decision: str) -> str:
    """Return the key of the reward of a decision."""
    return f"r:{decision}"


def arm_key(arm: str, version: int) -> str:
    """Return the key of a version of an arm."""
    return f"a:{version}:{arm}"


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """An arm, or a slate of arms, was chosen for a user.

    Attributes
    ----------
    id : str
        The id of the decision, to which its reward refers.
    time : float
        The time, in seconds since 1970.
    at : int
        The last log entry from which the policy had learned.
    features, groups : dict
        The user's features and groups, as received.
    picked : list of str
        The chosen arms, starting with the first position.
    slate : bool
        Whether a slate was requested, even if it has a single arm.
    offered : int
        The number of arms on offer.
    propensity : float or None
        The probability of the choice; None if it has no closed form.
    explored : bool
        Whether the user would have received a different choice without the exploration term.
    scores : list of dict
        For each chosen arm: mean, width, exploration, fairness, total.
    contexts : list
        For each chosen arm: columns, values, and the number of leading columns that all arms share.
    width : int
        The number of columns of a context.
    user : str or None
        The pseudonym of the user, if the request named one.
    key_id : str or None
        The id of the API key that requested the decision, if there was one.
    policy : str or None
        The id of the policy that made the decision: a hash of its name and parameters.
    """

    KIND = "decided"
    ADDED = ("user", "key_id", "policy")

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
    user: str | None = None
    key_id: str | None = None
    policy: str | None = None

    @property
    def key(self) -> str:
        """The key."""
        return decision_key(self.id)


@dataclass(frozen=True, slots=True)
class Rewarded(Event):
    """The reward of a decision arrived.

    Attributes
    ----------
    decision : str
        The id of the decision.
    time : float
        The time, in seconds since 1970.
    reward : float or list
        The reward. For a slate, it may be a list with one value for each arm, None for an arm without a reward.
    """

    KIND = "rewarded"

    decision: str
    time: float
    reward: float | list[float | None]

    @property
    def key(self) -> str:
        """The key."""
        return reward_key(self.decision)


def rewards_by_arm(reward: float | list[float | None], n_arms: int) -> tuple[float, list[float | None]]:
    """Return the mean reward of a decision, and the reward of each arm. A single number counts for every arm.

    Examples
    --------
    >>> rewards_by_arm([0.5, None, 1.0], 3)
    (0.75, [0.5, None, 1.0])
    """
    if not isinstance(reward, list):
        return float(reward), [float(reward)] * n_arms
    observed = [float(each) for each in reward if each is not None]
    return math.fsum(observed) / len(observed), [None if each is None else float(each) for each in reward]


@dataclass(frozen=True, slots=True)
class ArmSet(Event):
    """An arm was added or changed.

    Attributes
    ----------
    arm : str
        The id of the arm.
    version : int
        The number of times that an arm with this id was added, changed or retired, including this time.
    time : float
        The time, in seconds since 1970.
    features, matches : dict
        The arm's features, and the user values that it matches.
    """

    arm: str
    version: int
    time: float
    features: Mapping[str, Any]
    matches: Mapping[str, str | None]

    @property
    def key(self) -> str:
        """The key."""
        return arm_key(self.arm, self.version)


@dataclass(frozen=True, slots=True)
class ArmAdded(ArmSet):
    """An arm was added to the catalogue."""

    KIND = "arm_added"


@dataclass(frozen=True, slots=True)
class ArmChanged(ArmSet):
    """The features or matches of an arm changed."""

    KIND = "arm_changed"


@dataclass(frozen=True, slots=True)
class ArmRetired(Event):
    """An arm was removed from the catalogue, and what was learned about it was dropped."""

    KIND = "arm_retired"

    arm: str
    version: int
    time: float

    @property
    def key(self) -> str:
        """The key."""
        return arm_key(self.arm, self.version)


@dataclass(frozen=True, slots=True)
class PolicyChanged(Event):
    """Another policy, which has learned from the whole log, took over.

    Attributes
    ----------
    version : int
        The number of times that the policy was changed, including this time.
    time : float
        The time, in seconds since 1970.
    policy, previous : str
        The policy, as in a configuration, and the one that it replaces.
    """

    KIND = "policy_changed"

    version: int
    time: float
    policy: str
    previous: str

    @property
    def key(self) -> str:
        """The key."""
        return f"p:{self.version}"


@dataclass(frozen=True, slots=True)
class UserForgotten(Event):
    """The content of a user's entries was deleted, as was everything learned from them. The user is not named.

    Attributes
    ----------
    id : str
        A random id.
    time : float
        The time, in seconds since 1970.
    decisions, rewards : int
        The numbers of decisions and of rewards whose content was deleted.
    """

    KIND = "user_forgotten"

    id: str
    time: float
    decisions: int
    rewards: int

    @property
    def key(self) -> str:
        """The key."""
        return f"f:{self.id}"


@dataclass(frozen=True, slots=True)
class ContentPruned(Event):
    """The content of old entries was deleted. Their effect on the state is in the snapshot at entry `base`.

    Attributes
    ----------
    base : int
        The entry up to which content was deleted, except for decisions whose rewards came later.
    time : float
        The time, in seconds since 1970.
    decisions, rewards : int
        The total numbers of decisions and of rewards whose content has been deleted because of their age.
    """

    KIND = "content_pruned"

    base: int
    time: float
    decisions: int
    rewards: int

    @property
    def key(self) -> str:
        """The key."""
        return f"x:{self.base}"


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its number in the log.

    Attributes
    ----------
    seq : int
        The number, which is higher than those of all earlier entries.
    event : Event or None
        The event; None if its content was deleted.
    decided : Decided or None
        For a reward, its decision.
    writer : str
        The id of the process that appended the entry.
    n : int
        The number of the entry among those of its writer, counted from 1 without gaps; 0 if unknown.
    """

    seq: int
    event: Event | None
    decided: Decided | None = None
    writer: str = field(default="", compare=False)
    n: int = field(default=0, compare=False)


#: Events that change how the state follows from earlier entries.
STATE_CHANGES = (PolicyChanged, UserForgotten)

_KINDS: dict[str, type[Event]] = {
    kind.KIND: kind
    for kind in (Decided, Rewarded, ArmAdded, ArmChanged, ArmRetired, PolicyChanged, UserForgotten, ContentPruned)
}


def read_event(kind: str, text: str) -> Any:
    """Parse an event written by `to_json`."""
    return _KINDS[kind](**from_json(text))
