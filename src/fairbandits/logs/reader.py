"""Conversion of Arrow batches to chunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical
from fairbandits.contexts import TableEncoder
from fairbandits.logs.byte_kernels import Keys
from fairbandits.logs.chunk import Chunk, Floats
from fairbandits.logs.column_kinds import BOOLEAN, ID, INTEGER, NULL, NUMBER, OTHER, TEXT, TIME
from fairbandits.logs.errors import Location
from fairbandits.logs.features import FeatureReader, number_kind
from fairbandits.logs.id_keys import as_keys
from fairbandits.logs.labels import LabelEncoder
from fairbandits.logs.roles import Roles
from fairbandits.logs.validation import as_floats, as_positions, as_propensities, as_times

# The kind that a column of labels is read as, by its kind in the log.
_LABEL_KINDS = {
    TEXT: TEXT,
    BOOLEAN: BOOLEAN,
    TIME: TEXT,
    NULL: TEXT,
    OTHER: OTHER,
    INTEGER: INTEGER,
    NUMBER: NUMBER,
}


class ChunkReader:
    """Converts batches to chunks, and keeps the codes of labels consistent from one batch to the next.

    Parameters
    ----------
    roles : Roles
        The roles of the columns.
    kinds : mapping
        The kinds of all columns of the log.
    columns : collection of str, optional
        The columns to read in addition to the arm and the reward; by default all columns that have a role, except
        the decision and the position.
    encoder : TableEncoder, optional
        The encoder of the contexts; if omitted, contexts are not read.
    unchanged : collection of str
        The columns to read as they are.

    Attributes
    ----------
    kinds : dict
        The columns to request from a fragment, and the kind that each is read as.
    """

    def __init__(
        self,
        roles: Roles,
        kinds: Mapping[str, str],
        columns: Collection[str] | None,
        encoder: TableEncoder | None,
        unchanged: Collection[str] = (),
    ) -> None:
        def is_wanted(column: str | None) -> bool:
            return column is not None and (columns is None or column in columns)

        self._roles = roles
        self._user = roles.user if is_wanted(roles.user) else None
        # Only the search for duplicates and the evaluation of slates need decisions and positions.
        self._decision = roles.decision if columns is not None and is_wanted(roles.decision) else None
        self._position = roles.position if columns is not None and is_wanted(roles.position) else None
        self._given = [column for column in roles.given if is_wanted(column)]
        self._groups = [column for column in roles.groups if is_wanted(column)]
        self._propensity = roles.propensity if is_wanted(roles.propensity) else None
        self._time = roles.time if is_wanted(roles.time) else None
        # Determines the type of the times in a file without any values.
        self._is_date = self._time is not None and kinds[self._time] in (TIME, TEXT)
        self.kinds = {column: _LABEL_KINDS[kinds[column]] for column in (roles.arm, *self._groups)}
        numbers = {roles.reward, self._propensity, self._position} - {None}
        self.kinds |= {str(column): number_kind(kinds[str(column)]) for column in numbers}
        if self._time is not None:
            self.kinds[self._time] = NUMBER if kinds[self._time] == INTEGER else kinds[self._time]
        self.kinds |= {column: ID for column in (self._user, self._decision) if column is not None}
        for column in self._given:
            self.kinds.setdefault(column, NUMBER if kinds[column] == INTEGER else _LABEL_KINDS[kinds[column]])
        self._features = None if encoder is None else FeatureReader(encoder, kinds)
        if self._features is not None:
            self.kinds |= self._features.kinds
        self._unchanged = tuple(unchanged)
        for column in self._unchanged:
            self.kinds.setdefault(column, NUMBER if kinds[column] == INTEGER else kinds[column])
        factors = [c for c in self._given if self.kinds[c] not in (INTEGER, NUMBER)]
        labels = (roles.arm, *self._groups, *factors)
        self._labels = {c: LabelEncoder(c, self.kinds[c] not in (INTEGER, NUMBER)) for c in labels}
        self._time_type: Any = None

    def read(self, batch: Any, location: Location, first_row: int) -> Chunk:
        """Convert a batch."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        roles = self._roles
        arm = self._labels[roles.arm].encode(columns[roles.arm], location)
        if (missing := np.flatnonzero(arm.codes < 0)).size:
            raise location.error("arm must not be empty", roles.arm, missing[0])
        reward = as_floats(columns[roles.reward], roles.reward, location, "leave it empty if there is no reward")
        propensity = None
        if self._propensity is not None:
            propensity = as_propensities(columns[self._propensity], self._propensity, location)
        position = None
        if self._position is not None:
            position = as_positions(columns[self._position], self._position, location)
        group = {name: self._labels[name].encode(columns[name], location) for name in self._groups}
        return Chunk(
            first_row,
            arm,
            reward,
            propensity,
            group,
            time=self._times(columns, location),
            contexts=None if self._features is None else self._features.read(columns, location, len(batch)),
            user=_keys(self._user, columns, location),
            decision=_keys(self._decision, columns, location),
            position=position,
            given={name: self._factor(name, columns, location) for name in self._given},
            columns={name: _unchanged(columns[name]) for name in self._unchanged},
            location=location,
        )

    def _factor(self, name: str, columns: Mapping[str, Any], location: Location) -> Categorical | Floats:
        if self.kinds[name] not in (INTEGER, NUMBER):
            return self._labels[name].encode(columns[name], location)
        return as_floats(columns[name], name, location)

    def _times(self, columns: Mapping[str, Any], location: Location) -> NDArray[Any] | None:
        if self._time is None:
            return None
        times = as_times(columns[self._time], self._time, location, is_date=self._is_date)
        if self._time_type not in (None, times.dtype):
            raise location.error(
                f"times must be of the same type throughout the log, got {columns[self._time].type} here",
                self._time,
                0,
            )
        self._time_type = times.dtype
        return times


def _unchanged(array: Any) -> NDArray[Any]:
    plain = array.dictionary_decode() if hasattr(array, "dictionary_decode") else array
    values: NDArray[Any] = plain.to_numpy(zero_copy_only=False)
    return values


def _keys(column: str | None, columns: Mapping[str, Any], location: Location) -> Keys | None:
    return None if column is None else as_keys(columns[column], column, location)
