"""The contexts of arms for the users of a log; what is known of arms has a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from fairbandits.arms import ArmId, as_arms
from fairbandits.categorical import Categorical
from fairbandits.contexts import Catalogue, Offer
from fairbandits.logs.encoder import ContextEncoder, Features
from fairbandits.logs.errors import LogError, Place
from fairbandits.logs.labels import Labels
from fairbandits.logs.log import Log, look
from fairbandits.logs.parts import TEXT, WHOLE, Source
from fairbandits.logs.reader import FeatureReader, make_encoder

# What the name of a column begins with that says which users an arm matches.
_MATCH = "match:"


@dataclass(frozen=True, eq=False)
class ArmTable:
    """What is known of arms.

    Attributes
    ----------
    arms : sequence
        Their ids.
    features : array or scipy sparse, shape (n_arms, n_features)
        Their features.
    encoder : ContextEncoder
        How columns became features.
    matches : mapping of str to sequence
        By attribute of users, the value of every arm: a user who has the same one matches it.
    """

    arms: Sequence[ArmId]
    features: Features
    encoder: ContextEncoder
    matches: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What each arm adds to a context, by name."""
        own = self.encoder.features if self.encoder.columns else ()
        return (*own, *(f"{_MATCH}{name}" for name in self.matches))


def read_arms(source: Any, log: Log) -> ArmTable:
    """Read what is known of the arms of a log: one row each, in whatever a log can be kept in.

    Parameters
    ----------
    source : path or dataframe
        A column with the ids of the arms, named as in the log, or "arm"; columns that are named `match:attribute`,
        where the attribute is a group column of the log; all other columns are features, numbers or words.
    log : Log
        Whose arms they are.
    """
    found = look(source)
    if not found.parts:
        raise LogError(f"{found.name}: it holds no rows; expected one for each arm")
    name = next((column for column in (log.roles.arm, "arm") if column in found.kinds), None)
    if name is None:
        raise LogError(f"{found.name}: there is no column {log.roles.arm!r} with the ids of the arms")
    ways = {column: column.removeprefix(_MATCH) for column in found.kinds if column.startswith(_MATCH)}
    for column, way in ways.items():
        if way not in log.roles.groups:
            groups = ", ".join(log.roles.groups) or "none"
            raise LogError(f"{found.name}: column {column!r} matches no group column of the log; it has {groups}")
    others = [column for column in found.kinds if column != name and column not in ways]
    encoder = make_encoder(found.parts, others, found.kinds)
    values, features = _read(found, (name, *ways), encoder)
    matches = {way: values[column] for column, way in ways.items()}
    return ArmTable(_as_arms(found.name, values[name]), features, encoder, matches)


def _read(found: Source, columns: Sequence[str], encoder: ContextEncoder) -> tuple[dict[str, list[Any]], Features]:
    """Read all of a table: the labels of some columns, and features."""
    reader = FeatureReader(encoder, found.kinds)
    labels = {column: Labels(column, is_text=found.kinds[column] != WHOLE) for column in columns}
    kinds = reader.kinds | {column: TEXT if known.is_text else WHOLE for column, known in labels.items()}
    values: dict[str, list[Any]] = {column: [] for column in columns}
    rows: list[Any] = []
    for part in found.parts:
        for place, batch in part.batches(kinds, 1 << 18):
            read = dict(zip(batch.schema.names, batch.columns, strict=True))
            for column, known in labels.items():
                coded = known.code(read[column], place)
                label = [*coded.labels, None]  # the last entry is for rows without a label, whose code is -1
                values[column] += [label[code] for code in coded.codes.tolist()]
            own = reader.read(read, place, len(batch)) if encoder.columns else np.zeros((len(batch), 0))
            rows.append(sparse.csr_array(own))
    return values, sparse.csr_array(sparse.vstack(rows))


class Offers:
    """The contexts of arms for users of a log.

    A context is the user's features; where there is a table of arms, then the arm's, then whether the two match.

    Parameters
    ----------
    arms : sequence of ids
        The arms of the log; where there is a table, its arms are meant.
    width : int
        How many features a user has.
    table : ArmTable, optional
        What is known of arms.

    Examples
    --------
    >>> offers = Offers(["a", "b"], width=2)
    >>> offers.to_many([[0.5, 1.0]], [{"sex": "f"}]).toarray().tolist()
    [[0.5, 1.0], [0.5, 1.0]]
    """

    def __init__(self, arms: Sequence[ArmId], width: int, table: ArmTable | None = None) -> None:
        if table is None:
            table = ArmTable(arms, np.zeros((len(arms), 0)), ContextEncoder())
        self._catalogue = Catalogue(table.features, width, table.arms, table.matches)
        self._ways = tuple(table.matches)

    def to_many(self, contexts: Features, groups: Sequence[Mapping[str, Any]]) -> Offer:
        """Offer all arms to many users: the features of each, and the groups by attribute."""
        return self._catalogue.offer_many(contexts, {way: [g.get(way) for g in groups] for way in self._ways})

    def of_arm(self, context: Any, arm: ArmId, group: Mapping[str, Any] | None = None) -> Offer:
        """Offer one arm to one user."""
        given = {} if group is None else group
        return self._catalogue.offer(context, {way: given.get(way) for way in self._ways}, [arm])

    def picked(self, contexts: Features, arms: Categorical, groups: Mapping[str, Categorical]) -> Features:
        """Give the context of the arm that each of many users got."""
        return self._catalogue.contexts(contexts, arms, {way: groups[way] for way in self._ways})


def _as_arms(name: str, ids: list[Any]) -> tuple[ArmId, ...]:
    if None in ids:
        raise Place(name).error("it is empty; expected the id of an arm", None, ids.index(None))
    try:
        return as_arms(ids)
    except ValueError as error:
        raise LogError(f"{name}: {error}") from None
