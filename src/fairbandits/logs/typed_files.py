"""Logs in files that declare the types of their columns: Parquet and Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairbandits.logs.column_kinds import NULL, kind_of
from fairbandits.logs.formats import DataFile
from fairbandits.logs.fragments import LogFragment, LogSource
from fairbandits.logs.partitions import PartitionValues, partition_kinds, read_partitions

#: The metadata key under which a file declares the roles of its columns.
ROLES_KEY = b"fairbandits.roles"
#: The metadata key of a sentence about its rows.
NOTE_KEY = b"fairbandits.note"


def open_typed(
    name: str,
    files: Sequence[DataFile],
    root: Path | None,
    open_file: Callable[[DataFile, int, PartitionValues], tuple[Any, LogFragment]],
) -> LogSource:
    """Open files that declare types.

    Parameters
    ----------
    name : str
        The name of the log.
    files : sequence of DataFile
        The files, in order.
    root : Path or None
        The folder below which `column=value` folders are partition columns.
    open_file : callable
        A function that returns the Arrow schema and the rows of a file, given the number of its first row and its
        partition.
    """
    partitions = read_partitions([file.path for file in files], root)
    fragments: list[LogFragment] = []
    kinds: dict[str, str] = {}
    schemas, first_row = [], 0
    for file, values in zip(files, partitions, strict=True):
        schema, fragment = open_file(file, first_row, values)
        schemas.append(schema)
        for column, arrow_type in zip(schema.names, schema.types, strict=True):
            if kinds.get(column, NULL) == NULL:  # a file without any values leaves the kind open
                kinds[column] = kind_of(arrow_type)
        if fragment.n_rows:
            fragments.append(fragment)
            first_row += fragment.n_rows
    # Some writers also store the partition columns in the files; the partition takes precedence.
    columns = [*(column for column in schemas[0].names if column not in partitions[0]), *partitions[0]]
    kinds |= partition_kinds(partitions)
    metadata = schemas[0].metadata or {}
    note = metadata.get(NOTE_KEY, b"").decode(errors="replace") or None
    return LogSource(name, kinds, columns, fragments, _declared_roles(metadata, columns), note=note)


def _declared_roles(metadata: Mapping[bytes, bytes], columns: Sequence[str]) -> dict[str, Any]:
    """Return the roles that a file declares, except those of columns that have since been removed."""
    try:
        declared = dict(json.loads(metadata.get(ROLES_KEY, b"{}")))
    except (ValueError, TypeError):
        return {}
    present = {
        role: [column for column in given if column in columns] if isinstance(given, list) else given
        for role, given in declared.items()
    }
    return {role: given for role, given in present.items() if isinstance(given, list) or given in columns}
