"""Columns of labels as numbers, the same numbers in all of a log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical, Label
from fairbandits.jit import kernel
from fairbandits.logs.errors import Place, shortened

Codes = NDArray[np.int32]

# Whole numbers that lie this close together are looked up in a table; others are hashed.
_SPAN = 1 << 22


class Labels:
    """The labels of a column, numbered as they come.

    No object is made for a row: words come from Arrow as numbers with a dictionary, and one small table for each
    dictionary says which of ours those numbers are.

    Parameters
    ----------
    column : str
        The name of the column.
    is_text : bool
        Whether its labels are words, rather than whole numbers.
    """

    def __init__(self, column: str, is_text: bool) -> None:
        self.column = column
        self.is_text = is_text
        self.labels: list[Label] = []
        self._code: dict[Label, int] = {}
        self._last: tuple[Any, Codes, bool] | None = None
        # The codes of the whole numbers from `_low` on, -1 for those that did not come yet.
        self._low = 0
        self._table: Codes = np.empty(0, np.int32)

    def code(self, array: Any, place: Place) -> Categorical:
        """Give the numbers of the labels of an Arrow array."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        kind = array.type
        if pa.types.is_null(kind):
            return Categorical(np.full(len(array), -1, np.int32), self.labels)
        if pa.types.is_boolean(kind):
            array = array.cast(pa.string())
        if not (is_text(array.type) or _is_number(array.type)):
            raise place.error(f"it holds {kind}; expected labels, words or whole numbers", self.column, 0)
        if is_text(array.type) != self.is_text:
            ours = "words" if self.is_text else "whole numbers"
            raise place.error(
                f"it holds {kind} here, and {ours} before; write one type in all of the log", self.column, 0
            )
        if self.is_text:
            return Categorical(self._by_dictionary(encoded(array)), self.labels)
        return Categorical(self._by_value(as_whole(array, self.column, place)), self.labels)

    def _by_dictionary(self, array: Any) -> Codes:
        dictionary, numbers = array.dictionary, array.indices
        if self._last is None or not dictionary.equals(self._last[0]):
            # The last entry is for rows without a label, whose number is -1.
            table = np.array([*map(self._claim, dictionary.to_pylist()), -1], np.int32)
            self._last = dictionary, table, bool((table[:-1] == np.arange(len(table) - 1)).all())
        _, table, is_same = self._last
        if numbers.null_count:
            numbers = numbers.cast("int32").fill_null(-1)
        codes: Codes = numbers.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        return codes if is_same else _looked_up(table, codes)

    def _by_value(self, array: Any) -> Codes:
        """Give the numbers of labels that are whole numbers: by a table, where they lie close together."""
        import pyarrow.compute as pc  # noqa: PLC0415

        bounds = pc.min_max(array).as_py()
        if bounds["min"] is None:
            return np.full(len(array), -1, np.int32)
        if not self._reach(bounds["min"], bounds["max"]):
            return self._by_dictionary(encoded(array))
        places = array.fill_null(bounds["min"]).to_numpy() - self._low
        codes: Codes = self._table[places]
        new = codes < 0
        if array.null_count:
            missing = array.is_null().to_numpy(zero_copy_only=False)
            new &= ~missing
        if new.any():
            for at in dict.fromkeys(places[new].tolist()):
                self._table[at] = self._claim(at + self._low)
            codes = self._table[places]
        if array.null_count:
            codes[missing] = -1
        return codes

    def _reach(self, low: int, high: int) -> bool:
        """Have the table reach from the lowest to the highest number; False where that is too far."""
        if self._table.size:
            low, high = min(low, self._low), max(high, self._low + self._table.size - 1)
        if high - low >= _SPAN:
            return False
        if low != self._low or high - low >= self._table.size:
            table = np.full(high - low + 1, -1, np.int32)
            table[self._low - low : self._low - low + self._table.size] = self._table
            self._low, self._table = low, table
        return True

    def _claim(self, label: Any) -> int:
        if label is None:
            return -1
        code = self._code.setdefault(label, len(self.labels))
        if code == len(self.labels):
            self.labels.append(label)
        return code


@kernel()
def _looked_up(table: Codes, codes: Codes) -> Codes:
    """Give `table[codes]`: NumPy would turn the numbers into wider ones first."""
    found = np.empty_like(codes)
    for i in range(codes.size):
        found[i] = table[codes[i]]
    return found


def as_whole(array: Any, column: str, place: Place) -> Any:
    """Give an Arrow array of numbers as whole ones; refuse those that are not."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        broken = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False) & ~(values == np.floor(values)))
        if broken.size:
            raise place.error(
                f"{shortened(array[int(broken[0])].as_py())} came; expected a label, a word or a whole number. "
                "Bin numbers first",
                column,
                broken[0],
            )
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        at = first_refused(array, pa.int64())
        came = shortened(array[at].as_py())
        raise place.error(f"{came} came, too large for a label; write it as a word", column, at) from None


def first_refused(array: Any, kind: Any) -> int:
    """Find the first entry of an Arrow array that does not convert."""
    import pyarrow as pa  # noqa: PLC0415

    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            array[low:middle].cast(kind)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low


def encoded(array: Any) -> Any:
    """Give an Arrow array as numbers with a dictionary."""
    import pyarrow as pa  # noqa: PLC0415

    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of words, as they are or in a dictionary."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(kind):
        return _is_number(kind.value_type)
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
