"""Logs of decisions, one row each, read in chunks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.csv_files import open_csv
from fairbandits.logs.dependencies import require_arrow
from fairbandits.logs.encoder import ContextEncoder
from fairbandits.logs.errors import LogError, suggest
from fairbandits.logs.fragments import FORMATS, LogFragment, LogSource, find_files
from fairbandits.logs.frames import open_frame
from fairbandits.logs.parquet_files import open_parquet
from fairbandits.logs.reader import BATCH_ROWS, ChunkReader, fit_encoder
from fairbandits.logs.roles import Roles, resolve_roles, validate_roles
from fairbandits.validation import check_integer

_OPENERS = {"Parquet": open_parquet, "CSV": open_csv}


@dataclass(frozen=True, eq=False)
class Log:
    """A log of decisions: the arm, the reward, the user's groups and further columns of each.

    Open a log with `Log.open`. It is read in chunks, so it may be larger than memory.

    Attributes
    ----------
    name : str
        The path, or "dataframe".
    roles : Roles
        The roles of the columns.
    guessed : mapping
        The roles that were guessed from column names, with their column or columns.
    fragments : sequence of LogFragment
        The rows.
    kinds : mapping of str to str
        The columns in order, with the kind of each.
    given_encoder : ContextEncoder or None
        The encoder set by `with_encoder`.

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
    fragments: Sequence[LogFragment]
    kinds: Mapping[str, str]
    given_encoder: ContextEncoder | None = None

    @classmethod
    def open(cls, source: Any, roles: Roles | None = None, *, guess: bool = True, **named_roles: Any) -> Self:
        """Open a log.

        Parameters
        ----------
        source : path or dataframe
            A CSV or Parquet file, a folder of either, a Hive-partitioned dataset (folders named `column=value`),
            or a dataframe of any kind that narwhals supports.
        roles : Roles, optional
            The roles of the columns; disables guessing.
        guess : bool
            Whether to guess the remaining roles from the column names.
        **named_roles
            Individual roles: `arm="video", groups=["sex", "race"]`. They take precedence over `roles`.
        """
        found = open_source(source)
        given = dict(found.roles)
        if roles is not None:
            given = {f.name: getattr(roles, f.name) for f in fields(roles)}
        given = validate_roles(given | {name: value for name, value in named_roles.items() if value is not None})
        all_roles, guessed = resolve_roles(found.columns, given, guess and roles is None, found.name)
        if not found.fragments:
            raise LogError(f"{found.name}: has no rows; a log has one row per decision")
        return cls(found.name, all_roles, guessed, found.fragments, found.kinds)

    def chunks(
        self, *, contexts: bool = False, rows: int = BATCH_ROWS, columns: Collection[str] | None = None
    ) -> Iterator[Chunk]:
        """Iterate over the log in validated chunks, from the first row to the last.

        Parameters
        ----------
        contexts : bool
            Whether to read the users' features.
        rows : int
            The maximum number of rows in a chunk.
        columns : collection of str, optional
            The columns to read in addition to arm and reward; by default all that have a role, except the
            decision, which is read only if it is named here.
        """
        check_integer("rows", rows, 1)
        reader = ChunkReader(self.roles, self.kinds, columns, self.encoder() if contexts else None)
        return self._chunks(reader, rows)

    def _chunks(self, reader: ChunkReader, rows: int) -> Iterator[Chunk]:
        row = 0
        for fragment in self.fragments:
            row = row if fragment.first_row is None else fragment.first_row
            for location, batch in fragment.batches(reader.kinds, rows):
                yield reader.read(batch, location, row)
                row += len(batch)

    def encoder(self) -> ContextEncoder:
        """Return the encoder of the users' features; if they include text, the log is read once for it."""
        return self._encoder if self.given_encoder is None else self.given_encoder

    @cached_property
    def _encoder(self) -> ContextEncoder:
        return fit_encoder(self.fragments, self.roles.contexts, self.kinds)

    def with_encoder(self, encoder: ContextEncoder) -> Log:
        """Return the same log with another encoder, such as that of a policy fitted to another log."""
        for column in encoder.columns:
            if column not in self.kinds:
                raise LogError(
                    f"{self.name}: there is no column {column!r}, which the encoder needs; "
                    f"{suggest(column, self.kinds)}The log must have all context columns of the policy"
                )
        return replace(self, roles=replace(self.roles, contexts=encoder.columns), given_encoder=encoder)

    def split(self, n: int) -> list[Log]:
        """Split into at most n consecutive logs of similar size that can be read independently."""
        if check_integer("n", n, 1) == 1:
            return [self]
        fragments = _split_fragments(self.fragments)
        total = sum(fragment.size for fragment in fragments)
        bins: list[list[LogFragment]] = [[] for _ in range(n)]
        before = 0
        for fragment in fragments:
            bins[min((2 * before + fragment.size) * n // (2 * total), n - 1)].append(fragment)
            before += fragment.size
        return [replace(self, fragments=chosen) for chosen in bins if chosen]


def _split_fragments(fragments: Sequence[LogFragment]) -> list[LogFragment]:
    """Split fragments into the smallest ones possible, each with a known first row."""
    smallest: list[LogFragment] = []
    row = 0
    for fragment in fragments:
        for small in fragment.split():
            smallest.append(small if small.first_row is not None else replace(small, first_row=row))  # type: ignore[type-var]
            row += small.n_rows or 0
    return smallest


def as_log(log: Any, roles: Roles | None = None, **named_roles: Any) -> Log:
    """Return a log unchanged; open anything else with `Log.open`."""
    return log if isinstance(log, Log) else Log.open(log, roles, **named_roles)


def open_source(source: Any) -> LogSource:
    """Open files or a dataframe as a table whose columns have no roles yet."""
    require_arrow()
    if not isinstance(source, str | os.PathLike):
        return open_frame(source)
    path = Path(source)
    if path.is_dir():
        files, file_format = find_files(path)
        return _OPENERS[file_format](str(path), files, path)
    if not path.exists():
        raise LogError(f"{path}: there is no such file or folder")
    file_format = FORMATS.get(path.suffix.lower(), "")
    if not file_format:
        raise LogError(f"{path}: a log must be a .csv or .parquet file or a folder of them, got {path.suffix!r}")
    return _OPENERS[file_format](str(path), [path], None)
