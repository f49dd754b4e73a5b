"""Sources of logs, and the fragments of which they consist.

A fragment is a range of rows that can be read independently, here or on another machine: some row groups of a
Parquet file, a byte range of a CSV file, a slice of a dataframe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.errors import Location
from fairbandits.logs.formats import DataFile

#: The number of rows read at a time.
BATCH_ROWS = 1 << 18


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
        """The number of the first row within the log; None if the preceding rows have not been counted."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if they have not been counted."""

    @property
    def size(self) -> int:
        """The size relative to other fragments of the same log."""

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Location, Any]]:
        """Read columns, given by name and kind; yield Arrow record batches of at most `rows` rows."""

    def split(self) -> Iterator[LogFragment]:
        """Yield smaller fragments with known numbers of rows that together make up this one."""


@dataclass(frozen=True)
class FileFragment:
    """The base class of fragments of files.

    Attributes
    ----------
    source : DataFile
        The file.
    partition : mapping
        The partition columns, with the value that all rows share.
    """

    source: DataFile
    partition: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def file(self) -> str:
        """The name used in error messages."""
        return self.source.name

    @property
    def path(self) -> str:
        """The file that holds the rows."""
        return str(self.source.path)

    @property
    def absolute_source(self) -> DataFile:
        """The file for processes that may have another working directory."""
        return replace(self.source, path=self.source.path.absolute())


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
        The column names as listed by the source, including duplicates.
    fragments : sequence of LogFragment
        The rows.
    roles : mapping
        The roles that the source itself declares.
    spool : Spool or None
        The temporary folder of the rows, if they were copied from a stream or a database.
    note : str or None
        A sentence about the rows that is stored in the source itself.
    """

    name: str
    kinds: Mapping[str, str]
    columns: Sequence[str]
    fragments: Sequence[LogFragment]
    roles: Mapping[str, Any]
    spool: Any = None
    note: str | None = None


def read_batches(
    fragments: Sequence[LogFragment], kinds: Mapping[str, str], rows: int, dropped: NDArray[np.int64] | None
) -> Iterator[tuple[Location, Any, int]]:
    """Read columns, skipping some rows of the log, whose numbers are given in order.

    Yields
    ------
    tuple of Location, record batch and int
        The rows, and the number of the first row among all remaining rows.
    """
    dropped = np.empty(0, np.int64) if dropped is None else dropped
    row = 0
    for fragment in fragments:
        row = row if fragment.first_row is None else fragment.first_row
        for location, batch in fragment.batches(kinds, rows):
            before, end = np.searchsorted(dropped, [row, row + len(batch)])
            first, row = row, row + len(batch)
            if end == before:
                yield location, batch, first - int(before)
                continue
            left = np.delete(np.arange(len(batch)), dropped[before:end] - first)
            if left.size:
                yield replace(location, rows=left), batch.take(left), first - int(before)


def count_rows(fragments: Sequence[LogFragment]) -> int:
    """Return the number of rows, for which text files must be read."""
    counts = [fragment.n_rows for fragment in fragments]
    if None in counts:
        counts = [small.n_rows for fragment in fragments for small in fragment.split()]
    return sum(n or 0 for n in counts)


def split_fragments(fragments: Sequence[LogFragment], n: int) -> list[list[LogFragment]]:
    """Split fragments into at most n consecutive lists of similar size, each with known first rows."""
    smallest: list[LogFragment] = []
    row = 0
    for small in (small for fragment in fragments for small in fragment.split()):
        smallest.append(small if small.first_row is not None else replace(small, first_row=row))  # type: ignore[type-var]
        row += small.n_rows or 0
    total = sum(fragment.size for fragment in smallest)
    bins: list[list[LogFragment]] = [[] for _ in range(n)]
    before = 0
    for fragment in smallest:
        bins[min((2 * before + fragment.size) * n // (2 * total), n - 1)].append(fragment)
        before += fragment.size
    return [chosen for chosen in bins if chosen]
