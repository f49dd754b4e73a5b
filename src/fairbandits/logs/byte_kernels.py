"""Compiled loops over the bytes of text: rows of a file, integers in its cells, keys of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import helper, kernel

Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Offsets = NDArray[np.int64]

#: The delimiter for files in which every line is a row and quotes have no special meaning.
NO_DELIMITER = 0
#: Forms of cells: 64-bit integers without a leading plus or zero; the same, including forms such as 2.0; and any
#: other text.
INTEGERS, WITH_POINT, OTHER_TEXT = np.int8(0), np.int8(1), np.int8(2)
_POINT = ord(".")
_QUOTE, _NEWLINE, _RETURN, _MINUS, _ZERO, _NINE = (ord(letter) for letter in '"\n\r-09')
# Every number of this many digits fits into 64 bits.
_MAX_DIGITS = 19
# Unsigned constants: Numba turns the sum of a signed and an unsigned integer into a float.
_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_U0, _U1, _U8, _U10, _U27, _U30, _U31 = (np.uint64(n) for n in (0, 1, 8, 10, 27, 30, 31))
_MAX_SIGNED = np.uint64(2**63 - 1)


@kernel()
def scan_rows(block: Bytes, delimiter: int, max_rows: int) -> tuple[int, int]:
    """Scan at most `max_rows` rows; return the end of the last complete row, and the number of complete rows.

    Empty lines are not rows. A quote opens a quoted cell only at the start of a cell; two quotes within quotes are
    an escaped quote.
    """
    end, n_rows, i = 0, 0, 0
    in_quotes, at_cell_start = False, delimiter != NO_DELIMITER
    while i < block.size and n_rows < max_rows:
        letter = block[i]
        if in_quotes:
            if letter == _QUOTE:
                if i + 1 < block.size and block[i + 1] == _QUOTE:
                    i += 1
                else:
                    in_quotes = False
        elif letter == _NEWLINE:
            n_rows += i > end and not (i == end + 1 and block[end] == _RETURN)
            end = i + 1
            at_cell_start = delimiter != NO_DELIMITER
        else:
            in_quotes = at_cell_start and letter == _QUOTE
            at_cell_start = delimiter != NO_DELIMITER and letter == delimiter
        i += 1
    return end, n_rows


@kernel()
def classify_cells(block: Bytes, delimiter: int, na: Bytes, na_ends: Offsets, form: NDArray[np.int8]) -> None:
    """Update the form of each column with the cells of a block, from `INTEGERS` to `WITH_POINT` to `OTHER_TEXT`.

    Empty cells and the tokens in `na` are ignored.
    """
    i, column = 0, 0
    while i < block.size:
        is_quoted = block[i] == _QUOTE
        i += is_quoted
        start = i
        while i < block.size:
            if is_quoted and block[i] == _QUOTE:
                if i + 1 == block.size or block[i + 1] != _QUOTE:
                    break
                i += 1
            elif not is_quoted and (block[i] == delimiter or block[i] == _NEWLINE):
                break
            i += 1
        end = i
        while i < block.size and block[i] != delimiter and block[i] != _NEWLINE:
            i += 1  # skip the closing quote
        if not is_quoted and end > start and block[end - 1] == _RETURN:
            end -= 1
        is_open = column < form.size and form[column] != OTHER_TEXT and end > start
        if is_open and not _is_token(block, start, end, na, na_ends):
            form[column] = max(form[column], _form_of(block, start, end))
        column = column + 1 if i < block.size and block[i] == delimiter else 0
        i += 1


@kernel()
def integer_keys(values: Keys) -> Keys:
    """Return the keys of integers modulo 2^64."""
    keys = np.empty(values.size, np.uint64)
    for i in range(values.size):
        keys[i] = _mix(values[i] + _STEP)
    return keys


@kernel()
def bytes_keys(ends: Offsets, data: Bytes) -> Keys:
    """Return the keys of texts, given the offsets at which each begins and ends, or 0 for empty texts."""
    keys = np.empty(ends.size - 1, np.uint64)
    for i in range(keys.size):
        start, end = ends[i], ends[i + 1]
        if start == end:
            keys[i] = _U0
            continue
        is_written, is_negative, value = _parse_integer(data, start, end)
        if is_written:
            keys[i] = _mix((_U0 - value if is_negative else value) + _STEP)
        else:
            keys[i] = _hash_bytes(data, start, end)
    return keys


@helper()
def _mix(value: Any) -> Any:
    """Return a key whose bits all depend on all bits of a value (the finaliser of SplitMix64); never 0."""
    value = (value ^ (value >> _U30)) * _FIRST
    value = (value ^ (value >> _U27)) * _SECOND
    value ^= value >> _U31
    return value if value != _U0 else _U1


@helper()
def _parse_integer(data: Bytes, start: int, end: int) -> tuple[bool, bool, Any]:
    """Return whether a text is an integer without leading zeros, whether it is negative, and its magnitude."""
    is_negative = data[start] == _MINUS
    first = start + 1 if is_negative else start
    value = _U0
    n_digits = end - first
    has_leading_zero = n_digits > 0 and data[first] == _ZERO and (n_digits > 1 or is_negative)
    if n_digits == 0 or n_digits > _MAX_DIGITS or has_leading_zero:
        return False, is_negative, value
    for i in range(first, end):
        if data[i] < _ZERO or data[i] > _NINE:
            return False, is_negative, value
        value = value * _U10 + np.uint64(data[i] - _ZERO)
    return True, is_negative, value


@helper()
def _form_of(data: Bytes, start: int, end: int) -> Any:
    """Return the form of a cell."""
    has_point = end - start > 2 and data[end - 2] == _POINT and data[end - 1] == _ZERO
    is_written, is_negative, value = _parse_integer(data, start, end - 2 if has_point else end)
    if not is_written or value > _MAX_SIGNED + (_U1 if is_negative else _U0):
        return OTHER_TEXT
    return WITH_POINT if has_point else INTEGERS


@helper()
def _is_token(data: Bytes, start: int, end: int, tokens: Bytes, ends: Offsets) -> bool:
    for k in range(ends.size - 1):
        is_equal = ends[k + 1] - ends[k] == end - start
        for i in range(end - start if is_equal else 0):
            is_equal &= data[start + i] == tokens[ends[k] + i]
        if is_equal:
            return True
    return False


@helper()
def _hash_bytes(data: Bytes, start: int, end: int) -> Any:
    """Return the key of a text, eight bytes at a time."""
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
