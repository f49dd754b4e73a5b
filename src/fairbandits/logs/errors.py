"""Errors in logs, with the file, column and row where they occur."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class LogError(ValueError):
    """A log that cannot be used; the message names the file, the column, the row and the remedy.

    Rows are counted from 1 within their file, without the header line.
    """


@dataclass(frozen=True)
class Location:
    """Where a batch of rows comes from: the file, and the number of the first row within it, from 0."""

    file: str
    row: int = 0

    def error(self, problem: str, column: str | None = None, offset: int | None = None) -> LogError:
        """Return the error for a column and for the row `offset` rows after the first."""
        where = [self.file]
        if column is not None:
            where.append(f"column {column!r}")
        if offset is not None:
            where.append(f"row {self.row + int(offset) + 1:,}")
        return LogError(f"{', '.join(where)}: {problem}")


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the known names closest to a wrong one, or an empty string.

    Examples
    --------
    >>> suggest("rewrad", ["arm", "reward"])
    "did you mean 'reward'? "
    >>> suggest("price", ["arm", "reward"])
    ''
    """
    lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(name.lower(), lower, n=2)
    return f"did you mean {' or '.join(repr(lower[word]) for word in found)}? " if found else ""


def short_repr(value: Any) -> str:
    """Return `repr(value)`, cut to 40 characters for use in a message."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
