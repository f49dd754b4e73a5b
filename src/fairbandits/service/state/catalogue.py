"""The arms as the log has them: which there are, what is known of them, which were retired and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbandits.contexts import Catalogue
from fairbandits.service.config import Config
from fairbandits.service.features import FeatureEncoder, columns_of
from fairbandits.service.log.events import ArmRetired, ArmSet


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm of the catalogue: what is known of it, and which users it matches."""

    features: Mapping[str, Any]
    matches: Mapping[str, str | None]


class Shelf:
    """The arms, as a fold of the log.

    Attributes
    ----------
    arms : dict of str to Arm
        The arms that can be offered, in the order in which they were added.
    versions : dict of str to int
        How often an arm of this id was added, changed or retired.
    retired : dict of str to int
        The entry of the log that retired the arm last.
    """

    def __init__(self, config: Config) -> None:
        self._encoder = FeatureEncoder(config.arm_features)
        self._needed = [name for name, feature in config.arm_features.items() if feature.default is None]
        self._ways = config.matches
        self._n_user_columns = len(columns_of(config.features))
        self.arms: dict[str, Arm] = {}
        self.versions: dict[str, int] = {}
        self.retired: dict[str, int] = {}
        self._catalogue: Catalogue | None = None

    def set(self, event: ArmSet) -> None:
        """Add an arm, or change what is known of it."""
        self.arms[event.arm] = Arm(event.features, event.matches)
        self.versions[event.arm] = event.version
        self._catalogue = None

    def retire(self, event: ArmRetired, seq: int) -> None:
        """Take an arm out."""
        del self.arms[event.arm]
        self.versions[event.arm] = event.version
        self.retired[event.arm] = seq
        self._catalogue = None

    def check(self) -> None:
        """Refuse arms without a feature that had a default when they were added, and has none any more."""
        for arm, known in self.arms.items():
            for name in self._needed:
                if known.features.get(name) is None:
                    raise ValueError(
                        f"arm {arm!r} of the log has no {name!r}, and the configuration has no default any more "
                        "that would stand for it; give it one"
                    )

    @property
    def catalogue(self) -> Catalogue:
        """What offers are made of; put together when the first user comes after a change."""
        if self._catalogue is None:
            features = np.array([self._encoder.encode(arm.features) for arm in self.arms.values()])
            matches = {way: [arm.matches.get(way) for arm in self.arms.values()] for way in self._ways}
            self._catalogue = Catalogue(features, self._n_user_columns, list(self.arms), matches)
        return self._catalogue

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        arms = [[name, dict(arm.features), dict(arm.matches)] for name, arm in self.arms.items()]
        return {"arms": arms, "versions": self.versions, "retired": self.retired}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Take it from what `to_dict` gave."""
        self.arms = {name: Arm(features, matches) for name, features, matches in plain["arms"]}
        self.versions, self.retired = dict(plain["versions"]), dict(plain["retired"])
        self._catalogue = None
