"""Ids of users and decisions as 64-bit keys, which are equal if and (all but certainly) only if the ids are.

A key depends on the id alone: it is the same in every process, in every part of a log and in every storage format.
An integer and its decimal text have the same key (17 in Parquet is '17' in CSV); '017' is another id. Among two
million users, the probability that any two share a key is 1e-7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel
from fairbandits.logs.column_kinds import is_number, is_text
from fairbandits.logs.errors import Location
from fairbandits.logs.labels import as_integers

Keys = NDArray[np.uint64]

#: The key of an id that is missing; no other id has it.
UNKNOWN = 0
# Unsigned constants: Numba turns the sum of a signed and an unsigned integer into a float.
_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_U0, _U1, _U8, _U10, _U27, _U30, _U31 = (np.uint64(n) for n in (0, 1, 8, 10, 27, 30, 31))
_MINUS, _ZERO, _NINE = (ord(letter) for letter in "-09")
# Every number of this many digits fits into 64 bits.
_MAX_DIGITS = 19


def as_keys(array: Any, column: str, location: Location) -> Keys:
    """Return the keys of an Arrow array of ids, text or integers; 0 where an id is missing or empty."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    if pa.types.is_dictionary(array.type):
        if len(array.dictionary) <= len(array):
            keys = np.append(as_keys(array.dictionary, column, location), np.uint64(UNKNOWN))
            indices = array.indices.cast(pa.int64()).fill_null(-1)
            return np.asarray(keys[indices.to_numpy(zero_copy_only=False)])
        array = array.dictionary_decode()  # a part of a long dictionary: decode only what is used
    if pa.types.is_null(array.type):
        return np.full(len(array), UNKNOWN, np.uint64)
    if is_number(array.type):
        keys = _integer_keys(_as_unsigned(array, column, location))
    elif is_text(array.type) or _is_binary(array.type):
        keys = _bytes_keys(*_buffers(array))
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
    """Return integers modulo 2^64; any value where they are missing."""
    import pyarrow as pa  # noqa: PLC0415

    if not pa.types.is_uint64(array.type):
        array = as_integers(array, column, location, "id", "ids are text or integers")
    return np.asarray(array.fill_null(0).to_numpy(zero_copy_only=False)).view(np.uint64)


def _buffers(array: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where the bytes of each entry begin and end, and the bytes."""
    import pyarrow as pa  # noqa: PLC0415

    array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return ends, np.frombuffer(data if data is not None else b"", np.uint8)


@helper()
def _mix(value: Any) -> Any:
    """Return a key whose bits all depend on all bits of a value (the finaliser of SplitMix64); never 0."""
    value = (value ^ (value >> _U30)) * _FIRST
    value = (value ^ (value >> _U27)) * _SECOND
    value ^= value >> _U31
    return value if value != _U0 else _U1


@kernel()
def _integer_keys(values: Keys) -> Keys:
    keys = np.empty(values.size, np.uint64)
    for i in range(values.size):
        keys[i] = _mix(values[i] + _STEP)
    return keys


@kernel()
def _bytes_keys(ends: NDArray[np.int64], data: NDArray[np.uint8]) -> Keys:
    keys = np.empty(ends.size - 1, np.uint64)
    for i in range(keys.size):
        start, end = ends[i], ends[i + 1]
        if start == end:
            keys[i] = _U0
            continue
        is_integer, value = _parse_integer(data, start, end)
        keys[i] = _mix(value + _STEP) if is_integer else _hash_bytes(data, start, end)
    return keys


@helper()
def _parse_integer(data: NDArray[np.uint8], start: int, end: int) -> tuple[bool, Any]:
    """Return whether an entry is written as an integer is, without leading zeros, and the integer modulo 2^64."""
    is_negative = data[start] == _MINUS
    first = start + 1 if is_negative else start
    value = _U0
    n_digits = end - first
    has_leading_zero = n_digits > 0 and data[first] == _ZERO and (n_digits > 1 or is_negative)
    if n_digits == 0 or n_digits > _MAX_DIGITS or has_leading_zero:
        return False, value
    for i in range(first, end):
        if data[i] < _ZERO or data[i] > _NINE:
            return False, value
        value = value * _U10 + np.uint64(data[i] - _ZERO)
    return True, _U0 - value if is_negative else value


@helper()
def _hash_bytes(data: NDArray[np.uint8], start: int, end: int) -> Any:
    """Return the key of an entry, eight bytes at a time."""
    found = np.uint64(end - start) * _STEP
    i = start
    while i + 8 <= end:
        word = _U0
        for k in range(8):
            word |= np.uint64(data[i + k]) << (_U8 * np.uint64(k))
        found = _mix(found ^ word) + _STEP
        i += 8
    word = _U0
    while i < end:
        word = (word << _U8) | np.uint64(data[i])
        i += 1
    return _mix(found ^ word)
