"""Sources of logs, and the fragments they consist of.

A fragment is a range of rows that can be read independently, here or on another machine: some row groups of a
Parquet file, a byte range of a CSV file, a slice of a dataframe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fairbandits.logs.errors import Location


class LogFragment(Protocol):
    """A range of rows of a log that can be read independently. Fragments can be pickled for other processes."""

    @property
    def file(self) -> str:
        """The name used in error messages."""

    @property
    def path(self) -> str | None:
        """The file that holds the rows; None if they are in memory."""

    @property
    def partition(self) -> Mapping[str, Any]:
        """The partition columns, with the value that all rows share."""

    @property
    def first_row(self) -> int | None:
        """The number of the first row within the log; None if the rows before it have not been counted."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if they have not been counted."""

    @property
    def size(self) -> int:
        """The size relative to other fragments of the same log."""

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns, given as name and kind: yield Arrow record batches of at most `rows` rows."""

    def split(self) -> Iterator[LogFragment]:
        """Yield smaller fragments with known numbers of rows that together make up this one."""


@dataclass(frozen=True)
class LogSource:
    """A log before its columns have roles.

    Attributes
    ----------
    name : str
        The name used in messages.
    kinds : mapping of str to str
        The columns in order, with the kind of each.
    columns : sequence of str
        The column names as the source lists them, duplicates included.
    fragments : sequence of LogFragment
        The rows.
    roles : mapping
        The roles that the source itself declares.
    spool : Spool or None
        The temporary folder of the rows, if they were copied from a stream or a database.
    """

    name: str
    kinds: Mapping[str, str]
    columns: Sequence[str]
    fragments: Sequence[LogFragment]
    roles: Mapping[str, Any]
    spool: Any = None
