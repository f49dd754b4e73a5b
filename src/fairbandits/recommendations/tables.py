"""Tables of users and items in files: selecting and reading the required columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from fairbandits.contexts import TableEncoder
from fairbandits.logs.column_kinds import TIME, is_text
from fairbandits.logs.errors import Location, LogError, after_hint, suggest
from fairbandits.logs.features import ColumnReader
from fairbandits.logs.fragments import LogSource
from fairbandits.logs.label_kinds import settle_label_kinds
from fairbandits.logs.validation import as_times


def require_columns(source: LogSource, columns: Collection[str], what: str) -> None:
    """Raise LogError unless a table has all of the given columns."""
    for column in columns:
        if column not in source.kinds:
            remedy = f"the columns are {', '.join(source.kinds)}"
            raise LogError(
                f"{source.name}: there is no column {column!r}, the {what}; "
                f"{after_hint(suggest(column, source.kinds), remedy)}"
            )


def kinds_to_read(source: LogSource, encoder: Any, labels: Collection[str]) -> dict[str, str]:
    """Return the columns that an encoder needs and the columns of labels, with the kind that each is read as."""
    if isinstance(encoder, TableEncoder):
        encoded_as = {each.name: each.kind for each, _ in encoder.used}
        require_columns(source, encoded_as, "feature that the policy was fitted with")
        features = ColumnReader(encoded_as, source.kinds).kinds
    else:
        require_columns(source, encoder.columns, "feature that the policy was fitted with")
        features = {column: source.kinds[column] for column in encoder.columns}
    settled = settle_label_kinds(source.fragments, source.kinds, list(labels))
    return {**features, **{column: settled[column] for column in labels}}


def read_tables(source: LogSource, kinds: Mapping[str, str], rows: int) -> Iterator[Any]:
    """Read columns as Arrow tables of at most `rows` rows."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    for fragment in source.fragments:
        # Without any columns, a batch would not know its number of rows.
        for location, batch in fragment.batches(kinds or dict(list(source.kinds.items())[:1]), rows):
            columns = zip(batch.schema.names, batch.columns, strict=True)
            yield pa.table({name: _plain(column, name, kinds.get(name), location) for name, column in columns})


def _plain(column: Any, name: str, kind: str | None, location: Location) -> Any:
    """Return a column with texts instead of their codes, and with dates parsed from texts."""
    import pyarrow as pa  # noqa: PLC0415

    if kind == TIME and is_text(column.type):
        return pa.array(as_times(column, name, location, is_date=True))
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())  # Arrow cannot repeat rows of views
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
