"""Tables of arms, and the contexts of arms for the users of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from fairbandits.arms import ArmId, as_arms
from fairbandits.categorical import Categorical
from fairbandits.contexts import Catalogue, ContextEncoder, ItemCatalogue, Offer, TableEncoder
from fairbandits.contexts.table_encoder import Features
from fairbandits.logs.arm_files import ARM, ArmFile, open_arms
from fairbandits.logs.column_kinds import INTEGER, TEXT
from fairbandits.logs.errors import Location, LogError
from fairbandits.logs.features import FeatureReader, survey_features
from fairbandits.logs.log import Log


@dataclass(frozen=True, eq=False)
class ArmTable:
    """The features of arms.

    Attributes
    ----------
    arms : sequence
        The arm ids.
    features : array or scipy sparse, shape (n_arms, n_features)
        The features.
    encoder : TableEncoder
        The encoder of the feature columns.
    matches : mapping of str to sequence
        The value of each arm for every match, by the name of the match; a user with the same value matches the
        arm.
    compared : mapping of str to (user column, arm column)
        The columns that are compared for every match, by its name.
    source : ArmFile or None
        The table from which the arms were read; None for arms that other encoders cannot encode.
    """

    arms: Sequence[ArmId]
    features: Features
    encoder: TableEncoder
    matches: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    compared: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    source: ArmFile | None = None

    @classmethod
    def without_features(cls, arms: Sequence[ArmId]) -> ArmTable:
        """Return a table of arms that have ids but no features."""
        return cls(arms, np.zeros((len(arms), 0)), TableEncoder())

    @classmethod
    def from_catalogue(cls, catalogue: ItemCatalogue, log: Log) -> ArmTable:
        """Return the items of a catalogue as the arms of a log."""
        encoder = catalogue.encoder
        for name, (of_user, _) in encoder.matches.items():
            if of_user not in log.roles.groups:
                raise LogError(
                    f"{log.name}: {of_user!r} must be a group column, because arms are matched to users by it "
                    f"({name})"
                )
        if not isinstance(encoder.items, TableEncoder):
            raise LogError(f"{log.name}: items must be encoded column by column, got a custom transformer")
        features, matched = catalogue.encoded()
        matches = {
            name: [_as_kind(text, log.kinds[encoder.matches[name][0]]) for text in texts]
            for name, texts in matched.items()
        }
        return cls(catalogue.ids, features, encoder.items, matches, encoder.matches)

    def fits(self, encoder: ContextEncoder) -> bool:
        """Return whether an encoder can encode these arms, i.e. has the same columns and the same matches."""
        items = encoder.items
        return (
            isinstance(items, TableEncoder)
            and (items == self.encoder or self.source is not None)
            and set(items.columns) == set(self.encoder.columns)
            and _user_columns(encoder.matches) == _user_columns(self.compared)
        )

    def encoded_by(self, encoder: ContextEncoder) -> ArmTable:
        """Return the arms encoded by another encoder that `fits`, such as that of a fitted policy."""
        if not isinstance(encoder.items, TableEncoder) or not self.fits(encoder):
            raise ValueError("encoder must have the same columns and matches as the arms")
        if encoder.items == self.encoder and [*encoder.matches.items()] == [*self.compared.items()]:
            return self
        way = {of_user: name for name, (of_user, _) in self.compared.items()}
        matches = {name: self.matches[way[of_user]] for name, (of_user, _) in encoder.matches.items()}
        features = self.features
        if self.source is not None and encoder.items != self.encoder:
            features, _ = _read(self.source, encoder.items)
        return replace(self, features=features, encoder=encoder.items, matches=matches, compared=encoder.matches)

    def context_encoder(self, users: TableEncoder) -> ContextEncoder:
        """Return the joint encoder of users and arms."""
        return ContextEncoder(users, self.encoder, self.compared)

    def catalogue(self, users: TableEncoder) -> ItemCatalogue:
        """Return the arms as a catalogue, given the encoder of users."""
        catalogue = ItemCatalogue(self.context_encoder(users))
        catalogue.set_encoded(self.arms, self.features, list(self.matches.values()))
        return catalogue


def read_arms(source: Any, log: Log) -> ArmTable:
    """Read the arms of a log from a table with one row per arm, in any format that a log can have.

    Parameters
    ----------
    source : path or dataframe
        A table with a column of arm ids, named as in the log or "arm". Columns named `match:ATTRIBUTE`, where the
        attribute is a group column of the log, are matches. All other columns are features, numeric or text.
    log : Log
        The log.
    """
    found = open_arms(source, (log.roles.arm, ARM))
    for column, attribute in found.matches.items():
        if attribute not in log.roles.groups:
            groups = ", ".join(log.roles.groups) or "none"
            raise LogError(f"{found.name}: column {column!r} must match a group column of the log ({groups})")
    compared = {found.id_column: log.roles.arm, **found.matches}
    found = found.with_labels([column for column, other in compared.items() if log.kinds[other] == TEXT])
    source_kinds = found.source.kinds
    encoder = survey_features(found.source.fragments, found.features, source_kinds).encoder(has_constant=False)
    features, values = _read(found, encoder)
    matches = {attribute: values[column] for column, attribute in found.matches.items()}
    columns = {attribute: (attribute, column) for column, attribute in found.matches.items()}
    return ArmTable(_arm_ids(found.name, values[found.id_column]), features, encoder, matches, columns, found)


def _read(found: ArmFile, encoder: TableEncoder) -> tuple[Features, dict[str, list[Any]]]:
    """Return the encoded features of arms, and their labels by column."""
    reader = FeatureReader(encoder, found.source.kinds)
    values: dict[str, list[Any]] = {column: [] for column in (found.id_column, *found.matches)}
    rows: list[Any] = []
    for location, columns, labels, n_rows in found.batches(reader.kinds):
        for column, each in labels.items():
            values[column] += each
        rows.append(sparse.csr_array(reader.read(columns, location, n_rows)))
    return sparse.csr_array(sparse.vstack(rows)), values


class OfferBuilder:
    """Builds the contexts of arms for users of a log.

    A context holds the user's features and, if there is a table of arms, the arm's features and the matches.

    Parameters
    ----------
    arms : sequence of ids
        The arms of the log; ignored if there is a table, whose arms are offered instead.
    width : int
        The number of user features.
    table : ArmTable, optional
        The features of the arms.

    Examples
    --------
    >>> builder = OfferBuilder(["a", "b"], width=2)
    >>> builder.offer_many([[0.5, 1.0]], [{"sex": "f"}]).toarray().tolist()
    [[0.5, 1.0], [0.5, 1.0]]
    """

    def __init__(self, arms: Sequence[ArmId], width: int, table: ArmTable | None = None) -> None:
        if table is None:
            table = ArmTable.without_features(arms)
        self._catalogue = Catalogue(table.features, width, table.arms, table.matches)
        self._of_user = {name: of_user for name, (of_user, _) in table.compared.items()}

    @property
    def arms(self) -> Sequence[ArmId]:
        """The arms on offer."""
        return self._catalogue.arms

    def offer_many(self, contexts: Features, groups: Sequence[Mapping[str, Any]]) -> Offer:
        """Offer all arms to many users, given the features and the groups of each."""
        values = {name: [group.get(of_user) for group in groups] for name, of_user in self._of_user.items()}
        return self._catalogue.offer_many(contexts, values)

    def offer_arm(self, context: Any, arm: ArmId, group: Mapping[str, Any] | None = None) -> Offer:
        """Offer one arm to one user."""
        given = {} if group is None else group
        matching = {name: given.get(of_user) for name, of_user in self._of_user.items()}
        return self._catalogue.offer(context, matching, [arm])

    def contexts(self, contexts: Features, arms: Categorical, groups: Mapping[str, Categorical]) -> Features:
        """Return the contexts of the arms that many users were shown, one arm each."""
        matching = {name: groups[of_user] for name, of_user in self._of_user.items()}
        return self._catalogue.contexts(contexts, arms, matching)


def _user_columns(matches: Mapping[str, tuple[str, str]]) -> list[str]:
    return sorted(of_user for of_user, _ in matches.values())


def _as_kind(text: str | None, kind: str) -> str | int | None:
    """Convert a category in the same way as the groups of a log when they are read."""
    return int(text) if text is not None and kind == INTEGER else text


def _arm_ids(name: str, ids: list[Any]) -> tuple[ArmId, ...]:
    if None in ids:
        raise Location(name).error("arm id must not be empty", None, ids.index(None))
    try:
        return as_arms(ids)
    except ValueError as error:
        raise LogError(f"{name}: {error}") from None
