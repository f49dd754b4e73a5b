"""Arrow batches in, chunks out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.encoder import ContextEncoder, Features
from fairbandits.logs.errors import Place
from fairbandits.logs.labels import Labels
from fairbandits.logs.parts import NOTHING, NUMBER, OTHER, TEXT, TIME, TRUTH, WHOLE, LogPart
from fairbandits.logs.roles import Roles
from fairbandits.logs.values import as_floats, as_propensities, as_times

# What a column of labels is read as, by what it holds.
_LABELS = {TEXT: TEXT, TRUTH: TEXT, TIME: TEXT, NOTHING: TEXT, OTHER: OTHER, WHOLE: WHOLE, NUMBER: NUMBER}


class Reader:
    """Turns batches into chunks, and remembers labels from one to the next.

    Parameters
    ----------
    roles : Roles
        Which column plays which role.
    kinds : mapping
        What each column of the log holds.
    columns : collection of str, optional
        The columns wanted beside arm and reward; left out, all that have a role.
    encoder : ContextEncoder, optional
        How contexts are encoded; left out, they are not read.
    """

    def __init__(
        self,
        roles: Roles,
        kinds: Mapping[str, str],
        columns: Collection[str] | None,
        encoder: ContextEncoder | None,
    ) -> None:
        def is_wanted(column: str | None) -> bool:
            return column is not None and (columns is None or column in columns)

        self._roles = roles
        self._groups = [column for column in roles.groups if is_wanted(column)]
        self._propensity = roles.propensity if is_wanted(roles.propensity) else None
        self._time = roles.time if is_wanted(roles.time) else None
        # Where a file has no time at all, this says what it would have been.
        self._is_date = self._time is not None and kinds[self._time] in (TIME, TEXT)
        # What to read, and as what.
        self.kinds = {column: _LABELS[kinds[column]] for column in (roles.arm, *self._groups)}
        numbers = {roles.reward, self._propensity} - {None}
        self.kinds |= {str(column): _as_number(kinds[str(column)]) for column in numbers}
        if self._time is not None:
            self.kinds[self._time] = kinds[self._time]
        self._features = None if encoder is None else FeatureReader(encoder, kinds)
        if self._features is not None:
            self.kinds |= self._features.kinds
        self._labels = {c: Labels(c, self.kinds[c] == TEXT) for c in (roles.arm, *self._groups)}
        self._time_type: Any = None

    def chunk(self, batch: Any, place: Place, first_row: int) -> Chunk:
        """Make a chunk of a batch."""
        column = dict(zip(batch.schema.names, batch.columns, strict=True))
        roles = self._roles
        arm = self._labels[roles.arm].code(column[roles.arm], place)
        if (missing := np.flatnonzero(arm.codes < 0)).size:
            raise place.error("it is empty; expected the arm that was picked", roles.arm, missing[0])
        reward = as_floats(column[roles.reward], roles.reward, place, "leave it empty where no reward came")
        propensity = None
        if self._propensity is not None:
            propensity = as_propensities(column[self._propensity], self._propensity, place)
        group = {name: self._labels[name].code(column[name], place) for name in self._groups}
        contexts = None if self._features is None else self._features.read(column, place, len(batch))
        return Chunk(first_row, arm, reward, propensity, group, self._times(column, place), contexts, place)

    def _times(self, column: Mapping[str, Any], place: Place) -> NDArray[Any] | None:
        if self._time is None:
            return None
        times = as_times(column[self._time], self._time, place, is_date=self._is_date)
        if self._time_type not in (None, times.dtype):
            raise place.error(f"it holds {column[self._time].type} here, and another type before", self._time, 0)
        self._time_type = times.dtype
        return times


class FeatureReader:
    """Turns columns into features, and remembers words from one batch to the next."""

    def __init__(self, encoder: ContextEncoder, kinds: Mapping[str, str]) -> None:
        self._encoder = encoder
        # What to read, and as what.
        self.kinds = {c: TEXT if c in encoder.words else _as_number(kinds[c]) for c in encoder.columns}
        self._labels = {column: Labels(column, is_text=True) for column in encoder.words}

    def read(self, column: Mapping[str, Any], place: Place, n_rows: int) -> Features:
        """Give the features of the rows of a batch."""
        found: dict[str, Categorical | NDArray[np.float64]] = {}
        for name in self._encoder.columns:
            if name in self._labels:
                found[name] = self._labels[name].code(column[name], place)
                continue
            numbers = found[name] = as_floats(column[name], name, place)
            if (missing := np.flatnonzero(np.isnan(numbers))).size:
                raise place.error("it is empty; fill in features that are numbers", name, missing[0])
        return self._encoder.assemble(n_rows, found)


def make_encoder(parts: Sequence[LogPart], columns: Sequence[str], kinds: Mapping[str, str]) -> ContextEncoder:
    """Make the encoder of some columns; where they hold words, all parts are read to find which."""
    for column in columns:
        if kinds[column] in (TIME, OTHER):
            raise Place(parts[0].file).error("it holds neither numbers nor words; it cannot be a feature", column)
    labels = {column: Labels(column, is_text=True) for column in columns if kinds[column] in (TEXT, NOTHING)}
    for part in parts if labels else ():
        for place, batch in part.batches(dict.fromkeys(labels, TEXT), 1 << 18):
            for name, array in zip(batch.schema.names, batch.columns, strict=True):
                labels[name].code(array, place)
    return ContextEncoder(
        tuple(columns), {name: tuple(sorted(map(str, known.labels))) for name, known in labels.items()}
    )


def _as_number(kind: str) -> str:
    # Yes and no are numbers too, but are written differently in CSV.
    return kind if kind == TRUTH else NUMBER
