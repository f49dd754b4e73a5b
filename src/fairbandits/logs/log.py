"""A log of decisions: one row each, read in chunks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.csv_files import open_csv
from fairbandits.logs.dependencies import need_arrow
from fairbandits.logs.encoder import ContextEncoder
from fairbandits.logs.errors import LogError, nearest
from fairbandits.logs.frames import open_frame
from fairbandits.logs.parquet_files import open_parquet
from fairbandits.logs.parts import SUFFIXES, LogPart, Source, find_files
from fairbandits.logs.reader import Reader, make_encoder
from fairbandits.logs.roles import Roles, checked_roles, find_roles
from fairbandits.validation import check_integer

_OPEN = {"Parquet": open_parquet, "CSV": open_csv}


@dataclass(frozen=True, eq=False)
class Log:
    """A log of decisions: for each the arm, its reward, the user's groups, and what else is known.

    Open one with `Log.open`. It is read in chunks, so that it may be larger than memory.

    Attributes
    ----------
    name : str
        What to call it: the path, or "dataframe".
    roles : Roles
        Which column plays which role.
    guessed : mapping
        The roles that were guessed from the names of columns, each with its column or columns.

    Examples
    --------
    >>> import pandas as pd
    >>> log = Log.open(pd.DataFrame({"arm": ["a", "b", "a"], "reward": [1, None, 0], "sex": ["f", "m", "f"]}))
    >>> log.guessed
    {'arm': 'arm', 'reward': 'reward', 'groups': ('sex',)}
    >>> [chunk] = log.chunks()
    >>> chunk.arm.codes.tolist(), chunk.arm.labels, chunk.reward.tolist()
    ([0, 1, 0], ['a', 'b'], [1.0, nan, 0.0])
    """

    name: str
    roles: Roles
    guessed: Mapping[str, Any]
    parts: Sequence[LogPart]
    kinds: Mapping[str, str]
    declared: ContextEncoder | None = None

    @classmethod
    def open(cls, source: Any, roles: Roles | None = None, *, guess: bool = True, **named_roles: Any) -> Self:
        """Open a log.

        Parameters
        ----------
        source : path or dataframe
            A CSV file, a Parquet file, a folder of either, a dataset partitioned by folders named `column=value`,
            or a dataframe of any kind that narwhals knows.
        roles : Roles, optional
            Which column plays which role; nothing is guessed then.
        guess : bool
            Whether roles that are not given are guessed from the names of the columns.
        **named_roles
            Roles one by one: `arm="video", groups=["sex", "race"]`. They go before those of `roles`.
        """
        found = look(source)
        given = dict(found.roles)
        if roles is not None:
            given = {f.name: getattr(roles, f.name) for f in fields(roles)}
        given = checked_roles(given | {name: value for name, value in named_roles.items() if value is not None})
        all_roles, guessed = find_roles(found.columns, given, guess and roles is None, found.name)
        if not found.parts:
            raise LogError(f"{found.name}: it holds no rows; expected one for each decision")
        return cls(found.name, all_roles, guessed, found.parts, found.kinds)

    def chunks(
        self, *, contexts: bool = False, rows: int = 1 << 18, columns: Collection[str] | None = None
    ) -> Iterator[Chunk]:
        """Read it from its first row to its last, checked, a chunk at a time.

        Parameters
        ----------
        contexts : bool
            Whether the users' features are read too.
        rows : int
            How many rows a chunk has at most.
        columns : collection of str, optional
            The columns to read beside those of the arm and the reward; left out, all that have a role.
        """
        check_integer("rows", rows, 1)
        reader = Reader(self.roles, self.kinds, columns, self.encoder() if contexts else None)
        return self._chunks(reader, rows)

    def _chunks(self, reader: Reader, rows: int) -> Iterator[Chunk]:
        row = 0
        for part in self.parts:
            row = row if part.first_row is None else part.first_row
            for place, batch in part.batches(reader.kinds, rows):
                yield reader.chunk(batch, place, row)
                row += len(batch)

    def encoder(self) -> ContextEncoder:
        """Give the encoder of the users' features; where words are among them, all of the log is read once."""
        return self._encoder if self.declared is None else self.declared

    @cached_property
    def _encoder(self) -> ContextEncoder:
        return make_encoder(self.parts, self.roles.contexts, self.kinds)

    def with_encoder(self, encoder: ContextEncoder) -> Log:
        """Give the same log with another encoder: that of a policy, say, which knows other words."""
        for column in encoder.columns:
            if column not in self.kinds:
                raise LogError(
                    f"{self.name}: there is no column {column!r}, of which features are made; "
                    f"{nearest(column, self.kinds)}expected all contexts of the policy"
                )
        return replace(self, roles=replace(self.roles, contexts=encoder.columns), declared=encoder)

    def split(self, n: int) -> list[Log]:
        """Cut it into at most n logs of about the same size, which follow each other and can be read apart."""
        if check_integer("n", n, 1) == 1:
            return [self]
        pieces = _numbered(self.parts)
        total = sum(piece.size for piece in pieces)
        bins: list[list[LogPart]] = [[] for _ in range(n)]
        before = 0
        for piece in pieces:
            bins[min((2 * before + piece.size) * n // (2 * total), n - 1)].append(piece)
            before += piece.size
        return [replace(self, parts=parts) for parts in bins if parts]


def _numbered(parts: Sequence[LogPart]) -> list[LogPart]:
    """Cut parts into their pieces, each of which knows its first row."""
    pieces: list[LogPart] = []
    row = 0
    for part in parts:
        for piece in part.pieces():
            pieces.append(piece if piece.first_row is not None else replace(piece, first_row=row))  # type: ignore[type-var]
            row += piece.n_rows or 0
    return pieces


def as_log(log: Any, roles: Roles | None = None, **named_roles: Any) -> Log:
    """Take a log as it is; open whatever else `Log.open` takes."""
    return log if isinstance(log, Log) else Log.open(log, roles, **named_roles)


def look(source: Any) -> Source:
    """Look at what is kept in files or in a dataframe, before its columns have roles."""
    need_arrow()
    if not isinstance(source, str | os.PathLike):
        return open_frame(source)
    path = Path(source)
    if path.is_dir():
        files, kind = find_files(path)
        return _OPEN[kind](str(path), files, path)
    if not path.exists():
        raise LogError(f"{path}: there is no such file or folder")
    kind = SUFFIXES.get(path.suffix.lower(), "")
    if not kind:
        raise LogError(f"{path}: a log is a .csv or .parquet file, or a folder of such; got {path.suffix!r}")
    return _OPEN[kind](str(path), [path], None)
