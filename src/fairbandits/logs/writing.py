"""Logs written to files, whole or not at all."""

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
from fairbandits.logs.dependencies import need_arrow
from fairbandits.logs.errors import LogError
from fairbandits.logs.parquet_files import ROLES_KEY
from fairbandits.logs.parts import SUFFIXES
from fairbandits.logs.roles import Roles
from fairbandits.simulate import Trace
from fairbandits.storage import atomic_file

Columns = Mapping[str, Any]


def write_log(
    path: str | os.PathLike[str], log: Trace | Columns | Iterable[Columns], roles: Roles | None = None
) -> int:
    """Write a log; what stood there before is replaced when all is written.

    Parameters
    ----------
    path : path
        A .parquet or .csv file. A Parquet file says itself which column plays which role.
    log : Trace, mapping of str to columns, or an iterable of such mappings
        What happened: a trace; the columns of a log; or those of one stretch of it after the other, for a log that
        is larger than memory. A reward that is NaN is one that never came.
    roles : Roles, optional
        Which column plays which role. A trace knows.

    Returns
    -------
    int
        How many rows were written.

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
    need_arrow()
    target = Path(path)
    kind = SUFFIXES.get(target.suffix.lower())
    if kind is None:
        raise LogError(f"{path}: a log is written to a .csv or .parquet file; got {target.suffix!r}")
    if not target.parent.is_dir():
        raise LogError(f"{path}: its folder does not exist; make it first")
    if isinstance(log, Trace):
        roles, log = _roles_of(log), log.to_log()
    stretches = iter([log] if isinstance(log, Mapping) else log)
    first = _as_table(next(stretches), roles)
    n_rows = 0
    with atomic_file(target) as temporary, _writer(kind, temporary, first.schema) as write:
        for table in chain([first], (_as_table(columns, roles) for columns in stretches)):
            write(table)
            n_rows += len(table)
    return n_rows


@contextmanager
def _writer(kind: str, path: Path, schema: Any) -> Iterator[Any]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    from pyarrow import csv  # noqa: PLC0415

    if kind == "Parquet":
        with pq.ParquetWriter(path, schema) as writer:
            yield writer.write_table
    else:
        with csv.CSVWriter(path, schema, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
            yield writer.write_table


def _as_table(columns: Columns, roles: Roles | None) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    table = pa.table({name: _as_arrow(column) for name, column in columns.items()})
    said = {} if roles is None else {ROLES_KEY: json.dumps(roles.to_dict()).encode()}
    return table.replace_schema_metadata(said)


def _as_arrow(column: Any) -> Any:
    """Give a column as Arrow has it: labels in words, NaN as nothing."""
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(column, Categorical):
        codes = pa.array(column.codes, mask=column.codes < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.labels)).dictionary_decode()
    return pa.array(column, from_pandas=True)


def _roles_of(trace: Trace) -> Roles:
    propensity = None if np.isnan(trace.probability).any() else "propensity"
    return Roles("arm", "reward", tuple(trace.group), propensity, decision="decision")
