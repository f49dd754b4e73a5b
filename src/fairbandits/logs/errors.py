"""Errors in logs, with the file, column and row where they occur."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LogError(ValueError):
    """A log that cannot be used; the message names the file, the column, the row and the remedy.

    Rows are counted from 1 within their file, without the header line.
    """


@dataclass(frozen=True)
class Location:
    """The location from which a batch of rows was read.

    Attributes
    ----------
    file : str
        The name of the file.
    row : int
        The number of the first row within the file, from 0.
    rows : array of int, optional
        The remaining rows of the batch, counted from its first row; by default all of them.
    """

    file: str
    row: int = 0
    rows: NDArray[np.int64] | None = field(default=None, compare=False)

    def error(self, problem: str, column: str | None = None, offset: int | None = None) -> LogError:
        """Return the error for a column and for the row at index `offset` of the batch."""
        where = [self.file]
        if column is not None:
            where.append(f"column {column!r}")
        if offset is not None:
            within = int(offset if self.rows is None else self.rows[offset])
            where.append(f"row {self.row + within + 1:,}")
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


def after_hint(hint: str, remedy: str) -> str:
    """Join a hint and a remedy; the remedy is capitalised as a new sentence only if there is a hint.

    Examples
    --------
    >>> after_hint("did you mean 'sex'? ", "the columns are sex"), after_hint("", "the columns are sex")
    ("did you mean 'sex'? The columns are sex", 'the columns are sex')
    """
    return f"{hint}{remedy[:1].upper()}{remedy[1:]}" if hint else remedy


def short_repr(value: Any) -> str:
    """Return `repr(value)`, truncated to 40 characters for use in a message."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def damaged(file: str, what: str, error: Exception, row: int | None = None) -> LogError:
    """Return the error for a file that does not have the promised format, or cannot be read beyond some row."""
    if isinstance(error, FileNotFoundError):
        return LogError(f"{file}: no such file")
    where = file if row is None else f"{file}, from row {row + 1:,} on"
    reason = " ".join(str(error).split())
    return LogError(f"{where}: not {what}, or truncated or damaged ({reason}); write it again")
