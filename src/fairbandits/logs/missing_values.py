"""Tokens such as NA that stand for missing values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairbandits.logs.column_kinds import is_text
from fairbandits.logs.errors import Location
from fairbandits.logs.fragments import LogFragment


@dataclass(frozen=True, eq=False)
class TokenFragment:
    """A fragment of typed columns in which some texts stand for missing values.

    Attributes
    ----------
    fragment : LogFragment
        The fragment, whose first row must be known.
    na : tuple of str
        The texts.
    """

    fragment: LogFragment
    na: tuple[str, ...]

    @property
    def file(self) -> str:
        """The name used in error messages."""
        return self.fragment.file

    @property
    def path(self) -> str | None:
        """The file that holds the rows."""
        return self.fragment.path

    @property
    def partition(self) -> Mapping[str, Any]:
        """The partition columns."""
        return self.fragment.partition

    @property
    def first_row(self) -> int | None:
        """The number of the first row within the log."""
        return self.fragment.first_row

    @property
    def n_rows(self) -> int | None:
        """The number of rows."""
        return self.fragment.n_rows

    @property
    def size(self) -> int:
        """The size relative to other fragments."""
        return self.fragment.size

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns."""
        for location, batch in self.fragment.batches(kinds, rows):
            yield location, replace_tokens(batch, self.na)

    def split(self) -> Iterator[TokenFragment]:
        """Yield smaller fragments."""
        return (TokenFragment(small, self.na) for small in self.fragment.split())


def replace_tokens(table: Any, na: Sequence[str]) -> Any:
    """Return an Arrow table or record batch in which some texts are replaced by null."""
    for position, name in enumerate(table.schema.names):
        if na and is_text(table.schema.types[position]):
            table = table.set_column(position, name, _without(table.column(position), na))
    return table


def _without(column: Any, na: Sequence[str]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.compute as pc  # noqa: PLC0415

    if pa.types.is_dictionary(column.type):
        column = (
            column.dictionary_decode() if isinstance(column, pa.Array) else column.cast(column.type.value_type)
        )
    return pc.if_else(pc.is_in(column, pa.array(na, column.type)), pa.scalar(None, column.type), column)
