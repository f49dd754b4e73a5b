"""Blocks of JSON lines as Arrow tables, with errors that name the first invalid line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairbandits.logs.byte_kernels import NO_DELIMITER
from fairbandits.logs.column_kinds import BOOLEAN, ID, INTEGER, NULL, NUMBER, OTHER, TEXT, TIME, kind_of
from fairbandits.logs.csv_parsing import decode
from fairbandits.logs.errors import Location, LogError, short_repr
from fairbandits.logs.missing_values import replace_tokens
from fairbandits.logs.text_blocks import Block, as_arrow_stream, prefix_of_rows

_TEXT_KINDS = (TEXT, TIME, NULL)
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    INTEGER: (int,),
    NUMBER: (int, float),
    BOOLEAN: (bool,),
    **dict.fromkeys(_TEXT_KINDS, (str,)),
}


@dataclass(frozen=True)
class JsonFormat:
    """One JSON object per line.

    Attributes
    ----------
    na : tuple of str
        Texts that stand for missing values. A null or an absent key is always a missing value.
    """

    na: tuple[str, ...] = ()

    @property
    def delimiter(self) -> int:
        """`NO_DELIMITER`, because quotes never hide the end of a line."""
        return NO_DELIMITER

    def read_header(self, block: Block, location: Location) -> tuple[tuple[str, ...], int]:
        """Return the keys of the first objects as columns; the header has no bytes."""
        if not bytes(block).strip():
            raise location.error("file is empty; every line must hold a JSON object")
        sample = block[: prefix_of_rows(block, NO_DELIMITER, 1000) or None]
        return tuple(self.infer_kinds(sample, (), location)), 0

    def infer_kinds(self, sample: Block, columns: Sequence[str], location: Location) -> dict[str, str]:
        """Infer the kinds of all columns from the first rows."""
        schema = self._read(sample, {}, {}, location, infer=True).schema
        found = {name: kind_of(kind) for name, kind in zip(schema.names, schema.types, strict=True)}
        return {**dict.fromkeys(columns, NULL), **found}

    def parse(self, block: Block, columns: Sequence[str], kinds: Mapping[str, str], location: Location) -> Any:
        """Parse the requested columns of a block."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        arrow_types = {INTEGER: pa.int64(), NUMBER: pa.float64(), BOOLEAN: pa.bool_()}
        # An id has the same key as text and as an integer, so each block may use the type that Arrow infers.
        known = {name: kind for name, kind in kinds.items() if kind not in (ID, OTHER)}
        types = {name: arrow_types.get(kind, pa.string()) for name, kind in known.items()}
        table = self._read(block, types, known, location, infer=len(known) < len(kinds))
        for name in kinds:
            if name not in table.column_names:
                table = table.append_column(name, pa.nulls(len(table)))
        return replace_tokens(table.select(list(kinds)), self.na)

    @staticmethod
    def _read(
        block: Block, types: Mapping[str, Any], kinds: Mapping[str, str], location: Location, *, infer: bool
    ) -> Any:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import json as arrow_json  # noqa: PLC0415

        behaviour = "infer" if infer else "ignore"
        try:
            return arrow_json.read_json(
                as_arrow_stream(block),
                arrow_json.ReadOptions(block_size=len(block) + 1),
                arrow_json.ParseOptions(explicit_schema=pa.schema(types), unexpected_field_behavior=behaviour),
            )
        except pa.ArrowInvalid as error:
            raise _diagnose(block, kinds, location, error) from None


def _diagnose(block: Block, kinds: Mapping[str, str], location: Location, error: Exception) -> LogError:
    """Return the error for the first invalid line of a block that Arrow could not parse."""
    lines = (line for line in decode(block, location).split("\n") if line.strip())
    for number, line in enumerate(lines):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            return location.error(f"row must be a JSON object, got {short_repr(line)}", None, number)
        for name, kind in kinds.items():
            value = row.get(name)
            expected = _PYTHON_TYPES.get(kind, ())
            is_valid = value is None or (
                isinstance(value, expected) and isinstance(value, bool) <= (kind == BOOLEAN)
            )
            if expected and not is_valid:
                what = {NUMBER: "a number", INTEGER: "an integer", BOOLEAN: "true or false"}.get(kind, "text")
                return location.error(
                    f"value must be {what} as in the rest of the log, got {short_repr(value)}", name, number
                )
    return LogError(f"{location.file}, from row {location.row + 1:,} on: cannot be read ({error})")
