"""The inputs of a service: features and groups of users, and features and matches of arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NotRequired

from fairbandits.contexts import CategoryEncoder, ContextEncoder, TableEncoder
from fairbandits.recommender import Recommender
from fairbandits.service.features import Features, SavedFeature, feature_values_type, strict_dict
from fairbandits.service.names import Name


@dataclass(frozen=True, eq=False)
class ServiceInputs:
    """The inputs of a service, and their encoding as contexts.

    Attributes
    ----------
    features, arm_features : mapping of str to Feature
        The features of users and of arms.
    attributes : mapping of str to tuple of str or None
        The sensitive attributes, each with its groups; None for groups with any name.
    matches : mapping of str to str
        The attributes or features by which arms can match users, each with the column of items that holds its
        values.
    encoder : ContextEncoder
        The encoder that turns users and arms into contexts.
    integer_attributes : frozenset of str
        The attributes whose groups are integers rather than text.
    known_groups : mapping of str to tuple
        The groups that a saved recommender has learned about, by attribute.
    """

    features: Features
    attributes: Mapping[str, tuple[str, ...] | None]
    arm_features: Features
    matches: Mapping[str, str]
    encoder: ContextEncoder
    integer_attributes: frozenset[str] = frozenset()
    known_groups: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @cached_property
    def arm_type(self) -> Any:
        """The type of an arm: its id, its features and its matches."""
        matches = strict_dict("ArmMatches", dict.fromkeys(self.matches, NotRequired[Name | None]))
        fields = {
            "arm": Name,
            "features": feature_values_type("ArmFeatures", self.arm_features),
            "matches": NotRequired[matches],
        }
        return strict_dict("Arm", fields)


def configured_inputs(
    features: Features,
    attributes: Mapping[str, tuple[str, ...]],
    arm_features: Features,
    matches: tuple[str, ...],
) -> ServiceInputs:
    """Return the inputs that a configuration declares."""
    # The names of the columns are those in a file of arms.
    columns = {name: f"match:{name}" for name in matches}
    users, items = (
        TableEncoder(tuple(feature.encoder(name) for name, feature in each.items()))
        for each in (features, arm_features)
    )
    encoder = ContextEncoder(users, items, {name: (name, column) for name, column in columns.items()})
    return ServiceInputs(features, attributes, arm_features, columns, encoder)


def saved_inputs(recommender: Recommender) -> ServiceInputs:
    """Return the inputs of a saved recommender."""
    encoder = recommender.encoder
    users, items = (
        {each.name: SavedFeature(each) for each, _ in table.used} if isinstance(table, TableEncoder) else {}
        for table in (encoder.users, encoder.items)
    )
    for column, _ in encoder.matches.values():
        if column not in recommender.group_columns:
            users.setdefault(column, SavedFeature(CategoryEncoder(column, ())))
    # An arm matches either by one of its features, or by a value that is given separately.
    columns = {name: column for name, (_, column) in encoder.matches.items() if column not in items}
    attributes: dict[str, None] = dict.fromkeys(recommender.group_columns)
    groups = {name: _known_groups(recommender, name) for name in attributes}
    integers = frozenset(
        name for name, known in groups.items() if known and all(isinstance(each, int) for each in known)
    )
    return ServiceInputs(users, attributes, items, columns, encoder, integers, groups)


def _known_groups(recommender: Recommender, attribute: str) -> tuple[Any, ...]:
    """Return the groups that a recommender has learned about."""
    return tuple(summary.group for summary in recommender.groups.summaries() if summary.attribute == attribute)
