"""Writing logs to files, atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from fairbandits.categorical import Categorical
from fairbandits.logs.dependencies import require_arrow
from fairbandits.logs.errors import LogError
from fairbandits.logs.formats import CSV, PARQUET, data_file
from fairbandits.logs.roles import Roles
from fairbandits.logs.typed_files import NOTE_KEY, ROLES_KEY
from fairbandits.simulate import Trace
from fairbandits.storage import atomic_file

Columns = Mapping[str, Any]


def write_log(
    path: str | os.PathLike[str],
    log: Trace | Columns | Iterable[Columns],
    roles: Roles | None = None,
    note: str | None = None,
) -> int:
    """Write a log to a file; an existing file is replaced only once everything is written.

    Parameters
    ----------
    path : path
        A .parquet or .csv file. A Parquet file stores the roles of its columns.
    log : Trace, mapping of str to columns, or an iterable of such mappings
        A trace; the columns of a log; or an iterable over blocks of rows, for a log larger than memory. NaN
        rewards are written as missing.
    roles : Roles, optional
        The roles of the columns; not needed for a trace.
    note : str, optional
        A sentence about the rows, which is stored in a Parquet file and printed by audits of the file.

    Returns
    -------
    int
        The number of rows written.

    Examples
    --------
    >>> import tempfile
    >>> from fairbandits import EpsilonGreedy
    >>> from fairbandits.logs import Log, write_log
    >>> from fairbandits.simulate import simulate
    >>> from fairbandits.worlds import LinearWorld
    >>> trace = simulate(EpsilonGreedy(random_state=0), LinearWorld(), rounds=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_log(f"{folder}/log.parquet", trace)
    ...     log = Log.open(f"{folder}/log.parquet")
    >>> rows, log.roles, log.guessed
    (100, Roles(arm='arm', reward='reward', groups=('group',), propensity='propensity', decision='decision'), {})
    """
    require_arrow()
    target = Path(path)
    file_format = check_log_path(path)
    if isinstance(log, Trace):
        roles, log = _roles_of(log), log.to_log()
    blocks = iter([log] if isinstance(log, Mapping) else log)
    first = _as_table(next(blocks), roles, note)
    n_rows = 0
    with atomic_file(target) as temporary, _writer(file_format, temporary, first.schema) as write:
        for table in chain([first], (_as_table(columns, roles, note) for columns in blocks)):
            write(table)
            n_rows += len(table)
    return n_rows


def check_log_path(path: str | os.PathLike[str]) -> str:
    """Return the format of a log that is to be written; raise LogError if the path does not specify one."""
    target = Path(path)
    file = data_file(target)
    if file is None or file.format not in (CSV, PARQUET) or file.compression is not None:
        raise LogError(f"{path}: a log must be a .csv or .parquet file, got {target.suffix!r}")
    if not target.parent.is_dir():
        raise LogError(f"{path}: the folder does not exist; create it first")
    return file.format


@contextmanager
def _writer(file_format: str, path: Path, schema: Any) -> Iterator[Any]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    from pyarrow import csv  # noqa: PLC0415

    if file_format == PARQUET:
        with pq.ParquetWriter(path, schema) as writer:
            yield writer.write_table
    else:
        with csv.CSVWriter(path, schema, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
            yield writer.write_table


def _as_table(columns: Columns, roles: Roles | None, note: str | None) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    table = pa.table({name: _as_arrow(column) for name, column in columns.items()})
    metadata = {} if roles is None else {ROLES_KEY: json.dumps(roles.to_dict()).encode()}
    if note is not None:
        metadata[NOTE_KEY] = note.encode()
    return table.replace_schema_metadata(metadata)


def _as_arrow(column: Any) -> Any:
    """Return a column as an Arrow array, with labels instead of codes and null instead of NaN."""
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(column, Categorical):
        codes = pa.array(column.codes, mask=column.codes < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.labels)).dictionary_decode()
    return pa.array(column, from_pandas=True)


def _roles_of(trace: Trace) -> Roles:
    propensity = None if np.isnan(trace.probability).any() else "propensity"
    return Roles("arm", "reward", tuple(trace.group), propensity, decision="decision")
