"""Tables of arms as files, in any format of logs: a column of ids, `match:ATTRIBUTE` columns, and features."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbandits.categorical import Categorical
from fairbandits.contexts.column_encoders import RawColumn
from fairbandits.logs.column_kinds import INTEGER, TEXT
from fairbandits.logs.errors import Location, LogError
from fairbandits.logs.features import ColumnReader
from fairbandits.logs.fragments import BATCH_ROWS, LogSource
from fairbandits.logs.label_kinds import settle_label_kinds
from fairbandits.logs.labels import LabelEncoder
from fairbandits.logs.sources import open_source

#: The prefix of columns that determine which users an arm matches.
MATCH = "match:"
#: The name of the column of ids, unless the log uses another name.
ARM = "arm"


@dataclass(frozen=True, eq=False)
class ArmFile:
    """A table of arms that has been opened.

    Attributes
    ----------
    source : LogSource
        The table.
    id_column : str
        The column of ids.
    """

    source: LogSource
    id_column: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.source.name

    @property
    def matches(self) -> dict[str, str]:
        """The attribute of each `match:` column."""
        return {column: column.removeprefix(MATCH) for column in self.source.kinds if column.startswith(MATCH)}

    @property
    def features(self) -> list[str]:
        """All other columns."""
        return [
            column for column in self.source.kinds if column != self.id_column and not column.startswith(MATCH)
        ]

    def with_labels(self, as_text: Collection[str]) -> ArmFile:
        """Return the table with its labels settled as text or integers; the given columns are settled as text."""
        source, columns = self.source, [self.id_column, *self.matches]
        kinds = settle_label_kinds(source.fragments, source.kinds, columns, as_text)
        return replace(self, source=replace(source, kinds=kinds))

    def batches(
        self, kinds: Mapping[str, str]
    ) -> Iterator[tuple[Location, dict[str, Any], dict[str, list[Any]], int]]:
        """Read the table; yield the location, columns, labels by column and number of rows of each batch.

        Parameters
        ----------
        kinds : mapping
            The columns of features to read, and the kind that each is read as.
        """
        encoders = {
            column: LabelEncoder(column, is_text=self.source.kinds[column] != INTEGER)
            for column in (self.id_column, *self.matches)
        }
        wanted = {**kinds, **{column: TEXT if each.is_text else INTEGER for column, each in encoders.items()}}
        for fragment in self.source.fragments:
            for location, batch in fragment.batches(wanted, BATCH_ROWS):
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                labels = {
                    column: _as_list(encoder.encode(columns[column], location))
                    for column, encoder in encoders.items()
                }
                yield location, columns, labels, len(batch)


def open_arms(source: Any, id_columns: Sequence[str] = (ARM,)) -> ArmFile:
    """Open a table of arms; its column of ids is the first of the given names that occurs in it."""
    found = open_source(source)
    if not found.fragments:
        raise LogError(f"{found.name}: has no rows; a table of arms has one row per arm")
    id_column = next((column for column in id_columns if column in found.kinds), None)
    if id_column is None:
        raise LogError(f"{found.name}: there is no column {id_columns[0]!r} with the arm ids")
    return ArmFile(found, id_column)


def read_arm_rows(
    source: Any, encoded_as: Mapping[str, str], matches: Collection[str]
) -> list[dict[str, dict[str, Any] | str | None]]:
    """Read a table of arms with certain required columns, row by row.

    Parameters
    ----------
    source : path or dataframe
        The table.
    encoded_as : mapping of str to str
        The features, and the kind of encoder of each.
    matches : collection of str
        The attributes or features by which users and arms are matched.

    Returns
    -------
    list of dict
        For each arm: `arm`, its id as text; and its `features` and `matches` by name, None where a cell is empty.
    """
    opened = open_arms(source)
    _check_columns(opened, encoded_as, matches)
    opened = opened.with_labels(as_text=[opened.id_column, *opened.matches])
    reader = ColumnReader(encoded_as, opened.source.kinds)
    rows: list[dict[str, Any]] = []
    for location, columns, labels, n_rows in opened.batches(reader.kinds):
        found = {name: _as_list(column) for name, column in reader.read(columns, location).items()}
        rows += [
            {
                "arm": _as_text(labels[opened.id_column][row]),
                "features": {name: values[row] for name, values in found.items()},
                "matches": {name: _as_text(labels[column][row]) for column, name in opened.matches.items()},
            }
            for row in range(n_rows)
        ]
    return rows


def _check_columns(opened: ArmFile, features: Collection[str], matches: Collection[str]) -> None:
    expected = [ARM, *features, *(f"{MATCH}{name}" for name in matches)]
    found = opened.source.kinds
    if set(found) == set(expected):
        return
    old = [name for name in matches if f"match_{name}" in found]
    remedy = f"; rename match_{old[0]} to {MATCH}{old[0]}" if old else ""
    raise LogError(f"{opened.name}: columns must be {', '.join(expected)}, got {', '.join(found)}{remedy}")


def _as_list(column: RawColumn) -> list[Any]:
    if isinstance(column, Categorical):
        labels = [*column.labels, None]  # the last entry is for missing labels, whose code is -1
        return [labels[code] for code in column.codes.tolist()]
    return [None if np.isnan(value) else value for value in column.tolist()]


def _as_text(label: Any) -> str | None:
    return None if label is None else str(label)
