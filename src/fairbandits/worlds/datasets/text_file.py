"""Reading published text files: their columns, and messages that name the line of a problem."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.errors import REMEDY, DataError


class TextFile:
    """A file being read: its rows, and their line numbers for error messages."""

    def __init__(self, path: Path, fields: Sequence[str]) -> None:
        self.path = path
        self._fields = tuple(fields)
        self._line_numbers: list[int] = []
        self._rows: list[list[str]] = []

    @classmethod
    def with_header(cls, path: Path, delimiter: str, needed: Sequence[str]) -> TextFile:
        """Read a file whose first line names its columns; it must have the needed ones."""
        file = cls(path, ())
        # Only commas separate values that may be quoted.
        quote = '"' if delimiter == "," else None
        lines = csv.reader(file._text().split("\n"), delimiter=delimiter, quotechar=quote)
        file._fields = tuple(next(lines, ()))
        for name in needed:
            if name not in file._fields:
                raise file.malformed(1, f"the first line must name the column {name!r}", f"{file._fields[:5]}")
        # Some files end with a line of empty fields.
        for row in filter(any, lines):
            if len(row) < len(file._fields):
                rule = f"the line must have {len(file._fields)} fields, one for each name of the first line"
                raise file.too_short(lines.line_num, rule, row)
            file.add(lines.line_num, row)
        return file

    def lines(self) -> list[tuple[int, str]]:
        """Return the non-blank lines, each with its number."""
        return [(number, line) for number, line in enumerate(self._text().split("\n"), start=1) if line.strip()]

    def add(self, number: int, row: list[str]) -> None:
        """Add the row of a line."""
        self._line_numbers.append(number)
        self._rows.append(row)

    def malformed(self, number: int, rule: str, value: str) -> DataError:
        """Return the error for a line that breaks a rule."""
        return DataError(f"{self.path}, line {number}: {rule}, got {value}. {REMEDY}")

    def too_short(self, number: int, rule: str, fields: list[str]) -> DataError:
        """Return the error for a line with too few fields."""
        value = f"{len(fields)} fields, with none for {self._fields[len(fields)]!r}"
        return self.malformed(number, rule, value)

    def codes(self, name: str, categories: tuple[str, ...]) -> NDArray[np.intp]:
        """Return a categorical column as indices into its categories."""
        code = {value: index for index, value in enumerate(categories)}
        values = self._column(name)
        for row, value in enumerate(values):
            if value not in code:
                rule = f"{name} must be one of {', '.join(categories)}"
                raise self.malformed(self._line_numbers[row], rule, repr(value))
        return np.array([code[value] for value in values], dtype=np.intp)

    def text(self, name: str) -> NDArray[np.str_]:
        """Return a column as text, without the spaces around it."""
        return np.array([value.strip() for value in self._column(name)])

    def numbers(
        self, name: str, least: float = -np.inf, most: float = np.inf, *, missing: Sequence[str] = ()
    ) -> NDArray[np.float64]:
        """Return a numeric column; every value must be finite and between `least` and `most`.

        The texts in `missing` stand for values that are not known, and become NaN.
        """
        values = self._column(name)
        column = np.array([_number(value) for value in values])
        is_missing = np.array([value in missing for value in values])
        invalid = np.flatnonzero(~(is_missing | (np.isfinite(column) & (least <= column) & (column <= most))))
        if invalid.size:
            bounds = "" if least == -np.inf else f" from {least:g} to {most:g}"
            rule = f"{name} must be a number{bounds}"
            raise self.malformed(self._line_numbers[invalid[0]], rule, repr(values[invalid[0]]))
        return column

    def _text(self) -> str:
        # Latin-1 decodes any bytes, so that a damaged file leads to a message about its lines.
        return self.path.read_text(encoding="latin-1")

    def _column(self, name: str) -> list[str]:
        if not self._rows:
            raise self.malformed(1, "the file must have at least one row", "none")
        index = self._fields.index(name)
        return [row[index] for row in self._rows]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
