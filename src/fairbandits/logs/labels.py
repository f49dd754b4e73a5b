"""Columns of labels as integer codes that are consistent throughout a log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical, Label
from fairbandits.jit import kernel
from fairbandits.logs.column_kinds import is_number, is_text
from fairbandits.logs.errors import Location, short_repr

Codes = NDArray[np.int32]

# Integers within a range of this size are encoded through a lookup table, other integers through a dictionary.
_TABLE_SIZE = 1 << 22


class LabelEncoder:
    """The labels of one column, coded 0, 1, 2, ... in order of appearance.

    No Python object is created per row: Arrow delivers strings as indices into a dictionary, and one small table
    per dictionary maps those indices to codes.

    Parameters
    ----------
    column : str
        The name of the column.
    is_text : bool
        Whether the labels are strings rather than integers.
    """

    def __init__(self, column: str, is_text: bool) -> None:
        self.column = column
        self.is_text = is_text
        self.labels: list[Label] = []
        self._code: dict[Label, int] = {}
        # The last dictionary, the codes of its entries, and whether indices and codes are the same.
        self._last: tuple[Any, Codes, bool] | None = None
        # The codes of the integers starting at `_low`, with -1 for integers not seen yet.
        self._low = 0
        self._table: Codes = np.empty(0, np.int32)

    def encode(self, array: Any, location: Location) -> Categorical:
        """Return the codes of an Arrow array of labels."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        if pa.types.is_null(array.type):
            return Categorical(np.full(len(array), -1, np.int32), self.labels)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.string())
        if not (is_text(array.type) or is_number(array.type)):
            raise location.error(f"labels must be text or integers, got {array.type}", self.column, 0)
        if is_text(array.type) != self.is_text:
            expected = "text" if self.is_text else "integers"
            raise location.error(
                f"labels must be {expected} as in the rest of the log, got {array.type}", self.column, 0
            )
        if self.is_text:
            return Categorical(self._by_dictionary(dictionary_encoded(array)), self.labels)
        return Categorical(self._by_value(as_integers(array, self.column, location)), self.labels)

    def _by_dictionary(self, array: Any) -> Codes:
        dictionary, indices = array.dictionary, array.indices
        if self._last is None or not dictionary.equals(self._last[0]):
            # The last entry stands for missing labels, whose index is -1.
            table = np.array([*map(self._code_of, dictionary.to_pylist()), -1], np.int32)
            self._last = dictionary, table, bool((table[:-1] == np.arange(len(table) - 1)).all())
        _, table, is_identity = self._last
        if indices.null_count:
            indices = indices.cast("int32").fill_null(-1)
        codes: Codes = indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        return codes if is_identity else _take(table, codes)

    def _by_value(self, array: Any) -> Codes:
        """Return the codes of integers, through a table if they lie close together."""
        import pyarrow.compute as pc  # noqa: PLC0415

        bounds = pc.min_max(array).as_py()
        if bounds["min"] is None:
            return np.full(len(array), -1, np.int32)
        if not self._extend_table(bounds["min"], bounds["max"]):
            return self._by_dictionary(dictionary_encoded(array))
        positions = array.fill_null(bounds["min"]).to_numpy() - self._low
        codes: Codes = self._table[positions]
        new = codes < 0
        if array.null_count:
            missing = array.is_null().to_numpy(zero_copy_only=False)
            new &= ~missing
        if new.any():
            for position in dict.fromkeys(positions[new].tolist()):
                self._table[position] = self._code_of(position + self._low)
            codes = self._table[positions]
        if array.null_count:
            codes[missing] = -1
        return codes

    def _extend_table(self, low: int, high: int) -> bool:
        """Extend the table to cover `low` to `high`; return False if it would become too large."""
        if self._table.size:
            low, high = min(low, self._low), max(high, self._low + self._table.size - 1)
        if high - low >= _TABLE_SIZE:
            return False
        if low != self._low or high - low >= self._table.size:
            table = np.full(high - low + 1, -1, np.int32)
            table[self._low - low : self._low - low + self._table.size] = self._table
            self._low, self._table = low, table
        return True

    def _code_of(self, label: Any) -> int:
        """Return the code of a label; a new label gets a new code."""
        if label is None:
            return -1
        code = self._code.setdefault(label, len(self.labels))
        if code == len(self.labels):
            self.labels.append(label)
        return code


@kernel()
def _take(table: Codes, codes: Codes) -> Codes:
    """Return `table[codes]` without NumPy's conversion of the indices to 64 bits."""
    found = np.empty_like(codes)
    for i in range(codes.size):
        found[i] = table[codes[i]]
    return found


def as_integers(
    array: Any, column: str, location: Location, what: str = "label", remedy: str = "bin continuous values first"
) -> Any:
    """Return an Arrow array of numbers as 64-bit integers; raise if a number is not an integer."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        fractional = np.flatnonzero(
            array.is_valid().to_numpy(zero_copy_only=False) & ~(values == np.floor(values))
        )
        if fractional.size:
            value = short_repr(array[int(fractional[0])].as_py())
            raise location.error(
                f"{what} must be text or an integer, got {value}; {remedy}", column, fractional[0]
            )
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        row = first_failing_cast(array, pa.int64())
        value = short_repr(array[row].as_py())
        raise location.error(
            f"{what} must be a 64-bit integer, got {value}; write it as text", column, row
        ) from None


def first_failing_cast(array: Any, arrow_type: Any) -> int:
    """Return the index of the first entry of an Arrow array that cannot be cast, by bisection."""
    import pyarrow as pa  # noqa: PLC0415

    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            array[low:middle].cast(arrow_type)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low


def dictionary_encoded(array: Any) -> Any:
    """Return an Arrow array in dictionary encoding."""
    import pyarrow as pa  # noqa: PLC0415

    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
