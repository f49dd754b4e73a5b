"""Logs of decisions, one row each, read in chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

from fairbandits.contexts import TableEncoder
from fairbandits.contexts.table_statistics import TableStatistics
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.duplicates import Rows, find_duplicates
from fairbandits.logs.errors import LogError, after_hint, suggest
from fairbandits.logs.features import plain_encoder, survey_features
from fairbandits.logs.fingerprint import Fingerprint, hash_rows
from fairbandits.logs.fragments import BATCH_ROWS, LogFragment, count_rows, read_batches, split_fragments
from fairbandits.logs.label_kinds import settle_label_kinds
from fairbandits.logs.reader import ChunkReader
from fairbandits.logs.roles import Roles, resolve_roles, validate_roles
from fairbandits.logs.sources import open_source
from fairbandits.validation import check_integer


@dataclass(frozen=True, eq=False)
class Log:
    """A log of decisions, each with its arm, its reward, the user's groups and further columns.

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
    given_encoder : TableEncoder or None
        The encoder set by `with_encoder`.
    dropped : array of int or None
        The numbers of the rows that are skipped because they repeat a decision, in order; None if all are kept.
    is_copy : bool
        Whether the rows were copied from a database, so that the files are not the user's own.
    spool : Spool or None
        The temporary folder of the rows, if they were copied from a stream or a database.
    note : str or None
        A sentence about the rows that is stored in the file, for example on decisions that are missing from it.

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
    given_encoder: TableEncoder | None = None
    dropped: Rows | None = None
    is_copy: bool = False
    spool: Any = None
    note: str | None = None

    @classmethod
    def open(
        cls,
        source: Any,
        roles: Roles | None = None,
        *,
        guess: bool = True,
        query: str | None = None,
        format: str | None = None,
        na: Sequence[str] = (),
        duplicates: Literal["keep", "drop"] = "keep",
        **named_roles: Any,
    ) -> Self:
        """Open a log.

        Parameters
        ----------
        source : path, address, list of paths, or dataframe
            A file (CSV, TSV or JSON lines, optionally compressed with gzip or zstd; Parquet; Arrow IPC or
            Feather), a folder or a list of files of one format, a pattern such as `logs/*.csv`, or a
            Hive-partitioned dataset (folders named `column=value`); a database, given by a DuckDB file or an
            SQLAlchemy URL; "-" for the standard input; or a dataframe of any kind that narwhals supports.
        roles : Roles, optional
            The roles of the columns; disables guessing.
        guess : bool
            Whether to guess the remaining roles from the column names.
        query : str, optional
            The rows to read from a database: a SELECT statement or the name of a table. The rows are copied to a
            temporary folder, which is deleted with the log.
        format : str, optional
            The format, given as a suffix such as "csv.gz", if the file name has no suffix; by default "csv" for
            the standard input.
        na : sequence of str
            Texts that stand for missing values, such as "NA". In CSV, an empty cell is always a missing value.
        duplicates : {"keep", "drop"}
            Whether to keep or skip rows that repeat the decision and the arm of an earlier row. To skip them, two
            columns are read once more. `count_duplicates` counts them in either case.
        **named_roles
            Individual roles: `arm="video", groups=["sex", "race"]`. They take precedence over `roles`.
        """
        if duplicates not in ("keep", "drop"):
            raise ValueError(f"duplicates must be 'keep' or 'drop', got {duplicates!r}")
        found = open_source(source, query=query, format=format, na=na)
        given = dict(found.roles)
        if roles is not None:
            given = {f.name: getattr(roles, f.name) for f in fields(roles)}
        given = validate_roles(given | {name: value for name, value in named_roles.items() if value is not None})
        all_roles, guessed = resolve_roles(found.columns, given, guess and roles is None, found.name)
        if not found.fragments:
            raise LogError(f"{found.name}: has no rows; a log has one row per decision")
        kinds = settle_label_kinds(found.fragments, found.kinds, (all_roles.arm, *all_roles.groups))
        log = cls(
            found.name,
            all_roles,
            guessed,
            found.fragments,
            kinds,
            is_copy=query is not None,
            spool=found.spool,
            note=found.note,
        )
        return log if duplicates == "keep" else replace(log, dropped=log._duplicates)

    def chunks(
        self,
        *,
        contexts: bool = False,
        rows: int = BATCH_ROWS,
        columns: Collection[str] | None = None,
        unchanged: Collection[str] = (),
    ) -> Iterator[Chunk]:
        """Iterate over the log in validated chunks, from the first row to the last.

        Parameters
        ----------
        contexts : bool
            Whether to read the users' features.
        rows : int
            The maximum number of rows in a chunk.
        columns : collection of str, optional
            The columns to read in addition to the arm and the reward; by default all columns that have a role,
            except the decision and the position, which are read only if they are named here.
        unchanged : collection of str
            Columns to read into `Chunk.columns` as they are, whether or not they have a role.
        """
        check_integer("rows", rows, 1)
        reader = ChunkReader(self.roles, self.kinds, columns, self.encoder() if contexts else None, unchanged)
        return self._chunks(reader, rows)

    def _chunks(self, reader: ChunkReader, rows: int) -> Iterator[Chunk]:
        for location, batch, first_row in read_batches(self.fragments, reader.kinds, rows, self.dropped):
            yield reader.read(batch, location, first_row)

    def count_duplicates(self) -> int | None:
        """Return the number of rows that repeat the decision and the arm of an earlier row.

        Duplicates are found by one pass over the whole log, in this process, the first time that they are needed.
        If they are dropped, `open` has made that pass, and the parts returned by `split` know the rows to skip. If
        they are kept, call this method before the log is split, because a part does not know the rows of the
        others.

        Returns
        -------
        int or None
            None if the log has no decision column.
        """
        if self.roles.decision is None:
            return None
        return len(self._duplicates if self.dropped is None else self.dropped)

    @cached_property
    def _duplicates(self) -> Rows:
        return find_duplicates(self.fragments, self.roles, self.name)

    def fingerprint(self) -> Fingerprint:
        """Return a hash of the log's data and the number of its rows, including duplicates.

        The hash of files is that of their bytes, one file after another (`cat FILES | sha256sum`). The rows of
        dataframes and databases have no bytes of their own, so the values of all columns that have a role are
        hashed, in the order of the rows.
        """
        kinds = {column: self.kinds[column] for column in self.roles.columns}
        digest = hash_rows(self.fragments, kinds, is_copy=self.is_copy)
        return Fingerprint(digest, count_rows(self.fragments))

    def encoder(self) -> TableEncoder:
        """Return the encoder of the users' features, for which the log is read once."""
        return self._encoder if self.given_encoder is None else self.given_encoder

    @cached_property
    def _encoder(self) -> TableEncoder:
        return self.feature_statistics().encoder()

    def feature_statistics(self) -> TableStatistics:
        """Return the statistics of user features that an encoder needs; those of parts of a log can be merged."""
        return survey_features(self.fragments, self.roles.contexts, self.kinds)

    def plain_encoder(self) -> TableEncoder:
        """Return the encoder for models from other libraries: unscaled numbers, dates in seconds, all categories.

        A given encoder keeps its categories. Otherwise the log is read once.
        """
        given = self.given_encoder
        return plain_encoder(self.feature_statistics()) if given is None else given.unscaled()

    def with_encoder(self, encoder: TableEncoder) -> Log:
        """Return the same log with another encoder, such as that of a policy fitted to another log."""
        for column in encoder.columns:
            if column not in self.kinds:
                remedy = "the log must have all context columns of the policy"
                raise LogError(
                    f"{self.name}: there is no column {column!r}, which the encoder needs; "
                    f"{after_hint(suggest(column, self.kinds), remedy)}"
                )
        return replace(self, roles=replace(self.roles, contexts=encoder.columns), given_encoder=encoder)

    def split(self, n: int) -> list[Log]:
        """Split the log into at most n consecutive logs of similar size that can be read independently."""
        if check_integer("n", n, 1) == 1:
            return [self]
        return [replace(self, fragments=chosen) for chosen in split_fragments(self.fragments, n)]


def as_log(log: Any, roles: Roles | None = None, **named_roles: Any) -> Log:
    """Return a log unchanged; open anything else with `Log.open`."""
    return log if isinstance(log, Log) else Log.open(log, roles, **named_roles)
