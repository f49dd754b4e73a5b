"""What is wrong with a log, and where."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class LogError(ValueError):
    """A log that cannot be used: which file, which column, which row, and what to do.

    Rows are counted from 1 in their file, and the line with the names of the columns is not one of them.
    """


@dataclass(frozen=True)
class Place:
    """Where rows come from: the file, and the number of the first of them in it, from 0."""

    file: str
    row: int = 0

    def error(self, problem: str, column: str | None = None, offset: int | None = None) -> LogError:
        """Say what is wrong there, so many rows behind the first."""
        where = [self.file]
        if column is not None:
            where.append(f"column {column!r}")
        if offset is not None:
            where.append(f"row {self.row + int(offset) + 1:,}")
        return LogError(f"{', '.join(where)}: {problem}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known names a wrong one may have meant.

    Examples
    --------
    >>> nearest("rewrad", ["arm", "reward"])
    "did you mean 'reward'? "
    >>> nearest("price", ["arm", "reward"])
    ''
    """
    lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(name.lower(), lower, n=2)
    return f"did you mean {' or '.join(repr(lower[word]) for word in found)}? " if found else ""


def shortened(value: Any) -> str:
    """Show a value in a message, however long it is."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
