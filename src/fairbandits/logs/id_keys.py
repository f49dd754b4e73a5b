"""Ids of users and decisions as 64-bit keys, which are equal if and (with near certainty) only if the ids are.

A key depends on the id alone: it is the same in every process, in every part of a log and in every storage format.
An integer and its decimal text have the same key (17 in Parquet is '17' in CSV), but '017' is a different id.
Among two million users, the probability that any two share a key is 1e-7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.logs.byte_kernels import Bytes, Keys, Offsets, bytes_keys, integer_keys
from fairbandits.logs.column_kinds import is_number, is_text
from fairbandits.logs.errors import Location
from fairbandits.logs.labels import as_integers

#: The key of an id that is missing; no other id has it.
UNKNOWN = 0


def as_keys(array: Any, column: str, location: Location) -> Keys:
    """Return the keys of an Arrow array of ids (text or integers), or 0 where an id is missing or empty."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    if isinstance(array, pa.ExtensionArray):
        array = array.storage  # a UUID
    if pa.types.is_dictionary(array.type):
        if len(array.dictionary) <= len(array):
            keys = np.append(as_keys(array.dictionary, column, location), np.uint64(UNKNOWN))
            indices = array.indices.cast(pa.int64()).fill_null(-1)
            return np.asarray(keys[indices.to_numpy(zero_copy_only=False)])
        array = array.dictionary_decode()  # only part of a long dictionary is used: decode only that
    if pa.types.is_null(array.type):
        return np.full(len(array), UNKNOWN, np.uint64)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.string())
    if is_number(array.type):
        keys = integer_keys(_as_unsigned(array, column, location))
    elif is_text(array.type) or _is_binary(array.type):
        keys = bytes_keys(*text_buffers(array))
    else:
        raise location.error(f"ids must be text or integers, got {array.type}", column, 0)
    if array.null_count:
        keys[array.is_null().to_numpy(zero_copy_only=False)] = UNKNOWN
    return keys


def _is_binary(arrow_type: Any) -> bool:
    from pyarrow import types  # noqa: PLC0415

    tests = types.is_binary, types.is_large_binary, types.is_fixed_size_binary
    return any(matches(arrow_type) for matches in tests)


def _as_unsigned(array: Any, column: str, location: Location) -> Keys:
    """Return integers modulo 2^64; where an integer is missing, the value is arbitrary."""
    import pyarrow as pa  # noqa: PLC0415

    if not pa.types.is_uint64(array.type):
        array = as_integers(array, column, location, "id", "ids are text or integers")
    return np.asarray(array.fill_null(0).to_numpy(zero_copy_only=False)).view(np.uint64)


def text_buffers(array: Any) -> tuple[Offsets, Bytes]:
    """Return the offsets at which each text of an Arrow array begins and ends, and the bytes."""
    import pyarrow as pa  # noqa: PLC0415

    array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return ends, np.frombuffer(data if data is not None else b"", np.uint8)
