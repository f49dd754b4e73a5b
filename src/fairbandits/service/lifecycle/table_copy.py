"""Copying of tables between databases row by row, with checksums that do not depend on the database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, column, insert, select, table

# The number of rows that are held in memory at a time.
_ROWS = 1000
_MODULUS = 1 << 256

#: A row: the values of its columns, in order.
TableRow = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A summary of the content of a table.

    Attributes
    ----------
    columns : tuple of str
        The columns that were read.
    rows : int
        The number of rows.
    checksum : str
        The sum of the SHA-256 hashes of all rows, which does not depend on their order, because databases sort
        text differently.
    """

    columns: tuple[str, ...]
    rows: int
    checksum: str

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> TableSummary:
        """Return the summary described by the result of `to_dict`."""
        return cls(tuple(plain["columns"]), int(plain["rows"]), str(plain["checksum"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        return {"columns": list(self.columns), "rows": self.rows, "checksum": self.checksum}


class RowSum:
    """The number and the checksum of rows that are passed through.

    Parameters
    ----------
    columns : sequence of str
        The columns of the rows.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._rows = 0
        self._sum = 0

    def passing(self, rows: Iterable[TableRow]) -> Iterator[TableRow]:
        """Yield the rows unchanged, and count them."""
        for row in rows:
            # Values are integers, floats, text, bytes or None, all of which have an exact repr.
            self._sum += int.from_bytes(hashlib.sha256(repr(row).encode()).digest())
            self._rows += 1
            yield row

    def summary(self) -> TableSummary:
        """Return the summary of the rows that have been passed through."""
        return TableSummary(self._columns, self._rows, f"{self._sum % _MODULUS:064x}")


def read_rows(connection: Connection, name: str, columns: Sequence[str]) -> Iterator[TableRow]:
    """Read all rows of a table, a few at a time."""
    query: Any = select(*(column(each) for each in columns)).select_from(table(name))
    return (tuple(row) for row in connection.execute(query.execution_options(yield_per=_ROWS)))


def summarise_table(connection: Connection, name: str, columns: Sequence[str]) -> TableSummary:
    """Read a table, and return its summary."""
    passed = RowSum(columns)
    for _ in passed.passing(read_rows(connection, name, columns)):
        pass
    return passed.summary()


def write_rows(connection: Connection, target: Table, columns: Sequence[str], rows: Iterable[TableRow]) -> None:
    """Insert rows, into PostgreSQL with COPY, which is several times as fast as INSERT."""
    if connection.dialect.name == "postgresql":
        names = ", ".join(f'"{each}"' for each in columns)
        cursor = connection.connection.cursor()
        with cursor.copy(f'COPY "{target.name}" ({names}) FROM STDIN') as copy:
            for row in rows:
                copy.write_row(row)
        cursor.close()
        return
    for some in _batches(rows):
        connection.execute(insert(target), [dict(zip(columns, row, strict=True)) for row in some])


def _batches(rows: Iterable[TableRow]) -> Iterator[list[TableRow]]:
    some: list[TableRow] = []
    for row in rows:
        some.append(row)
        if len(some) == _ROWS:
            yield some
            some = []
    if some:
        yield some
