"""The users, read from files of any size in blocks of a fixed number of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fairbandits.contexts import ContextEncoder
from fairbandits.logs.column_kinds import ID, TEXT
from fairbandits.logs.fingerprint import hash_rows
from fairbandits.logs.fragments import LogSource, count_rows
from fairbandits.logs.sources import open_source
from fairbandits.recommendations.tables import kinds_to_read, read_tables, require_columns

#: The number of users in a block. It is a constant, regardless of memory or workers, because the random draws for
#: a user depend on the block, and must not depend on where the work runs.
BLOCK_USERS = 10_000

# Possible names of the column of ids, unless the column is specified.
_ID_COLUMNS = ("user", "user_id", "id")


@dataclass(frozen=True, eq=False)
class UserBlock:
    """Consecutive users.

    Attributes
    ----------
    number : int
        The number of the block.
    first : int
        The number of the block's first row in the table.
    table : pyarrow.Table
        The columns that a recommender needs.
    """

    number: int
    first: int
    table: Any


@dataclass(frozen=True, eq=False)
class UserTable:
    """A table of users.

    Attributes
    ----------
    source : LogSource
        The files of the table.
    kinds : dict of str to str
        The columns to read, and the kind that each is read as.
    id_column : str or None
        The column of ids; None if users are identified by their row numbers, counted from 0.
    n_users : int
        The number of rows.
    """

    source: LogSource
    kinds: dict[str, str]
    id_column: str | None
    n_users: int

    @classmethod
    def open(cls, users: Any, encoder: ContextEncoder, groups: Collection[str], user_id: str | None) -> UserTable:
        """Open a table of users, and check that it has the columns that a recommender needs."""
        source = open_source(users)
        id_column = _find_ids(source, user_id)
        matched = [of_user for of_user, _ in encoder.matches.values()]
        ids = [] if id_column is None else [id_column]
        require_columns(source, groups, "group of users")
        require_columns(source, matched, "value to compare items with")
        kinds = kinds_to_read(source, encoder.users, [*ids, *groups, *matched])
        if id_column is not None and kinds[id_column] == TEXT:
            kinds[id_column] = ID  # a dictionary of all ids would grow with the number of users
        return cls(source, kinds, id_column, count_rows(source.fragments))

    @property
    def name(self) -> str:
        """The name of the table, for use in messages."""
        return self.source.name

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return -(-self.n_users // BLOCK_USERS)

    def stored_type(self, column: str) -> Any:
        """Return the Arrow type of a column in the first rows, or None if there are no rows."""
        first = next(read_tables(self.source, {column: self.kinds[column]}, 1), None)
        return None if first is None else first.schema.field(column).type

    def fingerprint(self) -> str:
        """Return a hash of the users, with their number, which the hash would not reflect without columns."""
        digest = hash_rows(self.source.fragments, self.kinds, is_copy=self.source.spool is not None)
        return f"{digest}-{self.n_users}"

    def blocks(self, numbers: Collection[int]) -> Iterator[UserBlock]:
        """Read some blocks in order."""
        tables = read_tables(self.source, self.kinds, BLOCK_USERS)
        wanted = {*numbers}
        for number, table in enumerate(_in_blocks(tables, BLOCK_USERS)):
            if number in wanted:
                yield UserBlock(number, number * BLOCK_USERS, table)


def _find_ids(source: LogSource, user_id: str | None) -> str | None:
    if user_id is not None:
        require_columns(source, [user_id], "id of users")
        return user_id
    named = [column for column in _ID_COLUMNS if column in source.kinds]
    return named[0] if len(named) == 1 else None


def _in_blocks(tables: Iterable[Any], size: int) -> Iterator[Any]:
    """Cut tables of any sizes into tables of one size; the last one may be smaller."""
    held: list[Any] = []
    for table in tables:
        rest = table
        while (head := size - sum(map(len, held))) <= len(rest):
            yield _joined([*held, rest.slice(0, head)])
            held, rest = [], rest.slice(head)
        held.append(rest)
    if any(map(len, held)):
        yield _joined(held)


def _joined(tables: list[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - an extra

    # Files of one table may store integers of different widths, or a column without any values.
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()
