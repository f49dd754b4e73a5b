"""The fingerprint of a log: a hash of its data, by which a report identifies the data on which it is based."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairbandits.logs.column_kinds import BOOLEAN, INTEGER, NUMBER, TEXT, TIME, kind_of
from fairbandits.logs.errors import LogError
from fairbandits.logs.fragments import BATCH_ROWS, LogFragment
from fairbandits.logs.id_keys import text_buffers

_READ_SIZE = 1 << 20


@dataclass(frozen=True)
class Fingerprint:
    """A hash of a log's data, and its number of rows.

    Attributes
    ----------
    sha256 : str
        The hash, in hexadecimal digits.
    rows : int
        The number of rows, including duplicates.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbandits.logs import Log
    >>> frame = pd.DataFrame({"arm": ["a", "b"], "reward": [1.0, 0.0]})
    >>> fingerprint = Log.open(frame).fingerprint()
    >>> fingerprint.rows, fingerprint == Log.open(frame).fingerprint()
    (2, True)
    >>> fingerprint == Log.open(frame[::-1]).fingerprint()  # the same rows in another order
    False
    """

    sha256: str
    rows: int


def hash_rows(fragments: Sequence[LogFragment], kinds: Mapping[str, str], *, is_copy: bool) -> str:
    """Return the hash of a table: of its files or, if it has none of its own, of the values of some columns."""
    if is_copy or any(fragment.path is None for fragment in fragments):
        return hash_values(fragments, kinds)
    return hash_files(fragments)


def hash_files(fragments: Sequence[LogFragment]) -> str:
    """Return the SHA-256 of the files of a log, one after another, as `cat FILES | sha256sum` prints it.

    In a partitioned dataset, each file is preceded by its partition values, since they are data too.
    """
    digest = hashlib.sha256()
    partitions = {str(fragment.path): fragment.partition for fragment in fragments}
    for path, partition in partitions.items():
        if partition:
            digest.update(json.dumps(dict(partition), sort_keys=True).encode())
        try:
            with Path(path).open("rb") as file:
                while block := file.read(_READ_SIZE):
                    digest.update(block)
        except OSError as error:
            raise LogError(f"{path}: cannot be read ({error.strerror})") from None
    return digest.hexdigest()


def hash_values(fragments: Iterable[LogFragment], kinds: Mapping[str, str]) -> str:
    """Return the SHA-256 of the values of some columns, whatever batches and types they are stored in.

    Each column is hashed separately: first a mask of the missing entries, then the values, with the lengths of
    texts.
    """
    columns = {name: _ColumnHash() for name in kinds}
    for fragment in fragments:
        for _, batch in fragment.batches(kinds, BATCH_ROWS):
            for name, array in zip(batch.schema.names, batch.columns, strict=True):
                columns[name].update(array)
    digests = {name: column.hexdigest() for name, column in columns.items()}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


class _ColumnHash:
    """The hash of a column that is read in batches; it does not depend on the batch boundaries."""

    def __init__(self) -> None:
        self._streams = [hashlib.sha256() for _ in range(3)]

    def update(self, array: Any) -> None:
        """Add the values of a batch."""
        for stream, part in zip(self._streams, _parts(array), strict=False):
            stream.update(np.ascontiguousarray(part).data)

    def hexdigest(self) -> str:
        """Return the hash of all values so far."""
        return hashlib.sha256(b"".join(stream.digest() for stream in self._streams)).hexdigest()


def _parts(array: Any) -> list[Any]:
    """Return a mask of the valid entries, the values, and the lengths of texts."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = kind_of(array.type)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    types = {INTEGER: pa.int64(), NUMBER: pa.float64(), BOOLEAN: pa.uint8(), TIME: pa.timestamp("us")}
    if kind in types:
        # Arrow keeps the UTC time when it drops a time zone.
        values = array.cast(types[kind], safe=False)
        values = values.cast(pa.int64()) if kind == TIME else values
        return [valid, values.fill_null(0).to_numpy(zero_copy_only=False)]
    if kind != TEXT:
        array = pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string())
    ends, data = text_buffers(array.cast(pa.large_string()).fill_null(""))
    # The lengths are included, since bytes could otherwise move from one text to the next without changing the
    # hash.
    return [valid, data[ends[0] : ends[-1]], np.diff(ends)]
