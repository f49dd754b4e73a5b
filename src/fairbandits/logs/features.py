"""Columns of a log as the users' features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbandits.categorical import Categorical
from fairbandits.logs.chunk import Floats
from fairbandits.logs.column_kinds import BOOLEAN, NULL, NUMBER, OTHER, TEXT, TIME
from fairbandits.logs.encoder import ContextEncoder, Features
from fairbandits.logs.errors import Location
from fairbandits.logs.fragments import BATCH_ROWS, LogFragment
from fairbandits.logs.labels import LabelEncoder
from fairbandits.logs.validation import as_floats


class FeatureReader:
    """Converts columns to features, and keeps the codes of categories consistent from one batch to the next.

    Parameters
    ----------
    encoder : ContextEncoder
        The encoder.
    kinds : mapping
        The kinds of all columns.

    Attributes
    ----------
    kinds : dict
        The columns to request from a fragment, and the kind to read each as.
    """

    def __init__(self, encoder: ContextEncoder, kinds: Mapping[str, str]) -> None:
        self._encoder = encoder
        self.kinds = {c: TEXT if c in encoder.categories else number_kind(kinds[c]) for c in encoder.columns}
        self._labels = {column: LabelEncoder(column, is_text=True) for column in encoder.categories}

    def read(self, columns: Mapping[str, Any], location: Location, n_rows: int) -> Features:
        """Return the features of the rows of a batch."""
        found: dict[str, Categorical | Floats] = {}
        for name in self._encoder.columns:
            if name in self._labels:
                found[name] = self._labels[name].encode(columns[name], location)
                continue
            numbers = found[name] = as_floats(columns[name], name, location)
            if (missing := np.flatnonzero(np.isnan(numbers))).size:
                raise location.error("numeric feature must not be empty; fill it in", name, missing[0])
        return self._encoder.assemble(n_rows, found)


def fit_encoder(
    fragments: Sequence[LogFragment], columns: Sequence[str], kinds: Mapping[str, str]
) -> ContextEncoder:
    """Return the encoder of some columns; all fragments are read for the categories of text columns."""
    for column in columns:
        if kinds[column] in (TIME, OTHER):
            location = Location(fragments[0].file)
            raise location.error(f"feature must be numbers or text, got {kinds[column]}", column)
    labels = {column: LabelEncoder(column, is_text=True) for column in columns if kinds[column] in (TEXT, NULL)}
    for fragment in fragments if labels else ():
        for location, batch in fragment.batches(dict.fromkeys(labels, TEXT), BATCH_ROWS):
            for name, array in zip(batch.schema.names, batch.columns, strict=True):
                labels[name].encode(array, location)
    return ContextEncoder(
        tuple(columns), {name: tuple(sorted(map(str, encoder.labels))) for name, encoder in labels.items()}
    )


def number_kind(kind: str) -> str:
    """Return the kind to read a column of numbers as."""
    # Booleans count as numbers, but CSV spells them differently.
    return kind if kind == BOOLEAN else NUMBER
