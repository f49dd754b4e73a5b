"""The catalogue of arms as the log has it, and the contexts that arms and users are encoded as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import Catalogue, Offer
from fairbandits.service.config import Config
from fairbandits.service.features import CategoricalFeature, Features, NumericFeature, column_names
from fairbandits.service.log.events import ArmRetired, ArmSet

#: The features and the known groups of a user.
User = tuple[Mapping[str, Any], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class ServedArm:
    """An arm of the catalogue: its features, and the user values that it matches."""

    features: Mapping[str, Any]
    matches: Mapping[str, str | None]


class ServedCatalogue:
    """The catalogue, as a fold of the log.

    Parameters
    ----------
    config : Config
        The configuration, which declares the features of users and arms.

    Attributes
    ----------
    arms : dict of str to ServedArm
        The arms that can be offered, in the order in which they were added.
    versions : dict of str to int
        The number of times that an arm of this id was added, changed or retired.
    retired : dict of str to int
        The log entry that retired an arm of this id last.
    """

    def __init__(self, config: Config) -> None:
        self._arm_encoder = FeatureEncoder(config.arm_features)
        self._user_encoder = FeatureEncoder(config.features)
        self._required = [name for name, feature in config.arm_features.items() if feature.default is None]
        self._matches = config.matches
        # A user matches an arm by a group, or by a feature.
        self._group_matches = [name for name in config.matches if name in config.attributes]
        self._feature_matches = [name for name in config.matches if name not in config.attributes]
        self.arms: dict[str, ServedArm] = {}
        self.versions: dict[str, int] = {}
        self.retired: dict[str, int] = {}
        self._encoded: Catalogue | None = None

    def set(self, event: ArmSet) -> None:
        """Add or change an arm."""
        self.arms[event.arm] = ServedArm(event.features, event.matches)
        self.versions[event.arm] = event.version
        self._encoded = None

    def retire(self, event: ArmRetired, seq: int) -> None:
        """Remove an arm."""
        del self.arms[event.arm]
        self.versions[event.arm] = event.version
        self.retired[event.arm] = seq
        self._encoded = None

    def check(self) -> None:
        """Raise ValueError if an arm lacks a feature whose default was removed from the configuration."""
        for name, arm in self.arms.items():
            for feature in self._required:
                if arm.features.get(feature) is None:
                    raise ValueError(
                        f"arm_features.{feature} must have a default, because arm {name!r} of the log has no "
                        "value for it"
                    )

    def offer(self, users: Sequence[User], arms: Sequence[str] | None = None) -> Offer:
        """Return the contexts of arms for users; all arms by default."""
        matching: dict[str, list[Any]] = {
            name: [groups.get(name) for _, groups in users] for name in self._group_matches
        }
        matching |= {name: [features.get(name) for features, _ in users] for name in self._feature_matches}
        encoded = np.array([self._user_encoder.encode(features) for features, _ in users])
        return self._encode().offer_many(encoded, matching, arms)

    def _encode(self) -> Catalogue:
        # Lazily, because many arms may change between two users.
        if self._encoded is None:
            features = np.array([self._arm_encoder.encode(arm.features) for arm in self.arms.values()])
            matches = {name: [arm.matches.get(name) for arm in self.arms.values()] for name in self._matches}
            self._encoded = Catalogue(features, len(self._user_encoder.columns), list(self.arms), matches)
        return self._encoded

    def to_dict(self) -> dict[str, Any]:
        """Return the catalogue as plain values."""
        arms = [[name, dict(arm.features), dict(arm.matches)] for name, arm in self.arms.items()]
        return {"arms": arms, "versions": self.versions, "retired": self.retired}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Replace the catalogue by one that `to_dict` returned."""
        self.arms = {name: ServedArm(features, matches) for name, features, matches in plain["arms"]}
        self.versions, self.retired = dict(plain["versions"]), dict(plain["retired"])
        self._encoded = None


class FeatureEncoder:
    """Encodes features as a vector.

    Parameters
    ----------
    features : mapping of str to NumericFeature or CategoricalFeature
        The features, in the order of their columns.

    Examples
    --------
    >>> features = {"age": NumericFeature(low=20, high=70), "sex": CategoricalFeature(values=("f", "m"))}
    >>> encoder = FeatureEncoder(features)
    >>> encoder.encode({"age": 45, "sex": "m"})
    array([0.5, 0. , 1. ])
    """

    def __init__(self, features: Features) -> None:
        self.columns = column_names(features)
        column = {name: at for at, name in enumerate(self.columns)}
        self._numeric: list[tuple[str, Any, int, float, float]] = [
            (name, feature.default, column[name], feature.low, feature.high - feature.low)
            for name, feature in features.items()
            if isinstance(feature, NumericFeature)
        ]
        self._categorical: list[tuple[str, Any, dict[str, int]]] = [
            (name, feature.default, {value: column[f"{name}={value}"] for value in feature.values})
            for name, feature in features.items()
            if isinstance(feature, CategoricalFeature)
        ]

    def encode(self, values: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the vector of values that were validated with `feature_values_type`."""
        # Validation guarantees a value for every feature without a default.
        x = np.zeros(len(self.columns))
        for name, default, column, low, span in self._numeric:
            value = values.get(name)
            x[column] = ((default if value is None else value) - low) / span
        for name, default, columns in self._categorical:
            category = values.get(name)
            x[columns[default if category is None else category]] = 1.0
        return x
