"""Stretches of a log that can be read alone, here or on another machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fairbandits.logs.errors import LogError, Place
from fairbandits.logs.labels import is_text

# What a column holds: words, whole numbers, numbers, yes or no, times, something else, or nothing at all.
TEXT, WHOLE, NUMBER, TRUTH, TIME, OTHER, NOTHING = "text", "whole", "number", "truth", "time", "other", "nothing"


class LogPart(Protocol):
    """A stretch of a log. It can be pickled, so that another process can read it."""

    @property
    def file(self) -> str:
        """What errors call it."""

    @property
    def first_row(self) -> int | None:
        """The number of its first row in the log; None where nobody has counted those before it."""

    @property
    def n_rows(self) -> int | None:
        """How many rows it has; None where nobody has counted them."""

    @property
    def size(self) -> int:
        """How large it is beside others of its log."""

    def batches(self, kinds: Mapping[str, str], rows: int) -> Iterator[tuple[Place, Any]]:
        """Read some columns, by name with what each is to hold: Arrow record batches, and where each stands."""

    def pieces(self) -> Iterator[LogPart]:
        """Give smaller stretches, which together are this one; they know how many rows they have."""


@dataclass(frozen=True)
class Source:
    """A log before its columns have roles.

    Attributes
    ----------
    name : str
        What to call it.
    kinds : mapping of str to str
        Its columns in their order, and what each holds.
    columns : sequence of str
        The same columns, those of one name as often as they stand there.
    parts : sequence of LogPart
        What it is made of.
    roles : mapping
        The roles of columns, where the log itself says them.
    """

    name: str
    kinds: Mapping[str, str]
    columns: Sequence[str]
    parts: Sequence[LogPart]
    roles: Mapping[str, Any]


def kind_of(kind: Any) -> str:
    """Say what a column of an Arrow type holds."""
    from pyarrow import types  # noqa: PLC0415 - an extra

    if types.is_dictionary(kind):
        return kind_of(kind.value_type)
    known = (
        (TEXT, is_text),
        (WHOLE, types.is_integer),
        (NUMBER, types.is_floating),
        (NUMBER, types.is_decimal),
        (TRUTH, types.is_boolean),
        (TIME, types.is_timestamp),
        (TIME, types.is_date),
        (NOTHING, types.is_null),
    )
    return next((name for name, fits in known if fits(kind)), OTHER)


def find_files(folder: Path) -> tuple[list[Path], str]:
    """Find the files of a folder and of those below it, in order, and what they are: one kind in all."""
    found = sorted(
        path
        for path in folder.rglob("*")
        # What writers of datasets leave beside the data begins with a dot or an underscore.
        if path.suffix.lower() in SUFFIXES and not any(n[0] in "._" for n in path.relative_to(folder).parts)
    )
    formats = sorted({SUFFIXES[path.suffix.lower()] for path in found})
    if len(formats) > 1:
        raise LogError(f"{folder}: it holds {' and '.join(formats)} files; keep a log in files of one kind")
    if not found:
        raise LogError(f"{folder}: there is no .parquet or .csv file in this folder")
    return found, formats[0]


SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".csv": "CSV"}
