"""Hive partitioning: columns encoded in folder names as `column=value`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fairbandits.logs.column_kinds import INTEGER, TEXT
from fairbandits.logs.errors import LogError

#: The partition columns of a file, and the value that all of its rows share.
PartitionValues = Mapping[str, str | int | None]


def read_partitions(files: Sequence[Path], root: Path | None) -> list[PartitionValues]:
    """Return the partition values of each file; a column holds integers if all of its values are, otherwise text.

    Parameters
    ----------
    files : sequence of Path
        The files of the log, in order.
    root : Path, optional
        The folder below which folder names are parsed; if omitted, none are.
    """
    none: list[PartitionValues] = [{} for _ in files]
    if root is None:
        return none
    paths = [file.relative_to(root) for file in files]
    names = _column_names(files, paths)
    if not names:
        return none
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.dataset as ds  # noqa: PLC0415

    # Values are read as text first, because pyarrow's type inference stops at 32 bits and reads 007 as 7.
    partitioning = ds.partitioning(pa.schema([(name, pa.string()) for name in names]), flavor="hive")
    try:
        keys = [ds.get_partition_keys(partitioning.parse(path.as_posix())) for path in paths]
    except pa.ArrowInvalid as error:
        raise LogError(f"{root}: folder names must be UTF-8, URL-encoded or not ({error})") from None
    columns = {name: _as_integers([values[name] for values in keys]) for name in names}
    return [{name: column[i] for name, column in columns.items()} for i in range(len(files))]


def partition_kinds(partitions: Sequence[PartitionValues]) -> dict[str, str]:
    """Return the kinds of the partition columns."""
    return {
        column: TEXT if any(isinstance(values[column], str) for values in partitions) else INTEGER
        for column in partitions[0]
    }


def with_partition_columns(batch: Any, values: PartitionValues, kinds: Mapping[str, str]) -> Any:
    """Append the requested partition columns to a batch of a file."""
    import pyarrow as pa  # noqa: PLC0415

    for name, value in values.items():
        if name in kinds:
            # One dictionary entry instead of a copy of the value per row.
            codes = pa.repeat(pa.scalar(None if value is None else 0, pa.int32()), len(batch))
            dictionary = pa.array([value], pa.string() if isinstance(value, str) else pa.int64())
            if kinds[name] == TEXT:
                dictionary = dictionary.cast(pa.string())
            batch = batch.append_column(name, pa.DictionaryArray.from_arrays(codes, dictionary))
    return batch


def _column_names(files: Sequence[Path], paths: Sequence[Path]) -> list[str]:
    """Return the partition columns, which all files must share.

    pyarrow discovers the names only while it opens and reads the files, and it accepts files without some of the
    columns. The names, unlike the values, are therefore read from the folders here.
    """
    names = [
        list(dict.fromkeys(unquote(folder.partition("=")[0]) for folder in path.parts[:-1] if "=" in folder))
        for path in paths
    ]
    for file, mine in zip(files, names, strict=True):
        if set(mine) != set(names[0]):
            raise LogError(f"{file}: partition columns must be {names[0]} as in {files[0]}, got {mine}")
    return names[0]


def _as_integers(values: list[str | None]) -> list[Any]:
    """Return values as integers if all of them are written as integers, otherwise unchanged."""
    import pyarrow as pa  # noqa: PLC0415

    text = pa.array(values, pa.string())
    try:
        numbers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        return values
    return list(numbers.to_pylist()) if numbers.cast(pa.string()).equals(text) else values
