"""The catalogue of arms according to the log, and the encoding of arms and users as contexts."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairbandits.arms import ArmId
from fairbandits.contexts import ItemCatalogue, Offer
from fairbandits.recommender import Recommender
from fairbandits.service.inputs import ServiceInputs
from fairbandits.service.log.events import ArmRetired, ArmSet

#: The features and the known groups of a user.
User = tuple[Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ServedArm:
    """An arm of the catalogue: its features, and the user values that it matches.

    Arms of a saved recommender have neither, because its file contains them in encoded form.
    """

    features: Mapping[str, Any] | None
    matches: Mapping[str, str | None] | None


class ServedCatalogue:
    """The catalogue, as a fold of the log.

    Parameters
    ----------
    inputs : ServiceInputs
        The inputs of the service.
    recommender : Recommender
        The recommender, as it is before the first entry of the log. Its items are updated from this catalogue.

    Attributes
    ----------
    arms : dict of str to ServedArm
        The arms that can be offered, in the order in which they were added.
    versions : dict of str to int
        The number of times that an arm with this id was added, changed or retired.
    retired : dict of str to int
        The last log entry that retired an arm with this id.
    """

    def __init__(self, inputs: ServiceInputs, recommender: Recommender) -> None:
        self._inputs = inputs
        self._recommender = recommender
        self._required = [name for name, feature in inputs.arm_features.items() if feature.is_required]
        # Rows without values: encoders fill in missing values, and a match without a value matches no arm.
        compared = [column for column, _ in inputs.encoder.matches.values()]
        self._no_user = dict.fromkeys([*inputs.encoder.users.columns, *compared])
        self._no_arm = dict.fromkeys(inputs.encoder.items.columns)
        self._no_groups = dict.fromkeys(inputs.attributes)
        self._ids: dict[str, ArmId] = {str(item): item for item in recommender.items}
        self.arms = {name: ServedArm(None, None) for name in self._ids}
        self.versions = dict.fromkeys(self._ids, 1)
        self.retired: dict[str, int] = {}
        # The names in alphabetical order, created on first use, because many arms take long to sort.
        self._names: list[str] | None = None
        # Arms that have not been encoded yet.
        self._waiting: dict[str, None] = {}
        # Either a decision, in its own thread, or a snapshot may be the first to need the encoded arms.
        self._encoding = threading.Lock()

    def id_of(self, arm: str) -> ArmId:
        """Return the id that the recommender uses for an arm, which may be a number in a saved recommender."""
        return self._ids.get(arm, arm)

    def names(self) -> list[str]:
        """Return the names of the arms in alphabetical order, as a list that changes with the catalogue."""
        if self._names is None:
            self._names = sorted(self.arms)
        return self._names

    def set(self, event: ArmSet) -> None:
        """Add or change an arm."""
        if self._names is not None and event.arm not in self.arms:
            insort(self._names, event.arm)
        self.arms[event.arm] = ServedArm(event.features, event.matches)
        self.versions[event.arm] = event.version
        self._waiting[event.arm] = None

    def retire(self, event: ArmRetired, seq: int) -> None:
        """Remove an arm."""
        del self.arms[event.arm]
        if self._names is not None:
            del self._names[bisect_left(self._names, event.arm)]
        self.versions[event.arm] = event.version
        self.retired[event.arm] = seq
        self._waiting.pop(event.arm, None)
        if (item := self.id_of(event.arm)) in self._recommender.catalogue:
            self._recommender.catalogue.retire(item)

    def check(self) -> None:
        """Raise ValueError if an arm lacks a feature whose default was removed from the configuration."""
        for name, arm in self.arms.items():
            for feature in self._required:
                if arm.features is not None and arm.features.get(feature) is None:
                    raise ValueError(
                        f"arm_features.{feature} must have a default, because arm {name!r} of the log has no "
                        "value for it"
                    )

    def offer(self, users: Sequence[User], arms: Sequence[str] | None = None) -> Offer:
        """Return the contexts of arms for users; all arms by default."""
        self.encode()
        rows = [{**self._no_user, **features} for features, _ in users]
        groups = [{**self._no_groups, **known} for _, known in users]
        eligible = None if arms is None else [self.id_of(arm) for arm in arms]
        return self._recommender.offer(rows, groups, eligible)

    def encode(self) -> None:
        """Encode the arms that have changed; this is deferred, because many may change between two users."""
        with self._encoding:
            for name in self._waiting:
                self._recommender.catalogue.set(self.id_of(name), self._row(self.arms[name]))
            self._waiting = {}

    def _row(self, arm: ServedArm) -> dict[str, Any]:
        matches = arm.matches or {}
        values = {column: matches.get(way) for way, column in self._inputs.matches.items()}
        return {**self._no_arm, **(arm.features or {}), **values}

    def to_dict(self) -> dict[str, Any]:
        """Return the catalogue as plain values."""
        arms = [[name, arm.features, arm.matches] for name, arm in self.arms.items()]
        return {"arms": arms, "versions": self.versions, "retired": self.retired}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Replace the catalogue, in its state before the first entry, with one that `to_dict` returned."""
        start, items = self._recommender.catalogue, ItemCatalogue(self._inputs.encoder)
        arms = {name: ServedArm(features, matches) for name, features, matches in plain["arms"]}
        for name, arm in arms.items():
            if arm.features is None:
                items.copy_item(self.id_of(name), start)
            else:
                items.set(self.id_of(name), self._row(arm))
        self.arms, self._recommender.catalogue = arms, items
        self._names = None
        self.versions, self.retired = dict(plain["versions"]), dict(plain["retired"])
