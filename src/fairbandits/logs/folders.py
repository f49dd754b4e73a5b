"""Columns that are written in the names of folders: `column=value`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from fairbandits.logs.errors import LogError
from fairbandits.logs.parts import TEXT, WHOLE

# The columns of a file that its folders name, and the value that all of its rows have.
Folders = Mapping[str, str | int | None]

# What the folder of rows without a value is called.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def read_folders(files: Sequence[Path], root: Path | None) -> list[Folders]:
    """Read the values that the names of folders give to each file: whole numbers where all are.

    Parameters
    ----------
    files : sequence of Path
        In their order.
    root : Path, optional
        The folder below which names of folders count; left out, none do.
    """
    if root is None:
        return [{} for _ in files]
    found = [
        dict(part.split("=", 1) for part in file.relative_to(root).parts[:-1] if "=" in part) for file in files
    ]
    for file, values in zip(files, found, strict=True):
        if values.keys() != found[0].keys():
            raise LogError(
                f"{file}: its folders name {list(values)}, and those of {files[0]} name {list(found[0])}"
            )
    whole = {
        name for name in found[0] if all(_is_whole(values[name]) for values in found if values[name] != _NO_VALUE)
    }
    return [
        {
            name: None if value == _NO_VALUE else int(value) if name in whole else unquote(value)
            for name, value in values.items()
        }
        for values in found
    ]


def folder_kinds(folders: Sequence[Folders]) -> dict[str, str]:
    """Say what the columns hold that folders name."""
    return {
        column: TEXT if any(isinstance(values[column], str) for values in folders) else WHOLE
        for column in folders[0]
    }


def with_folders(batch: Any, folders: Folders, kinds: Mapping[str, str]) -> Any:
    """Add those columns of folders to a batch of a file that are to be read."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    for name, value in folders.items():
        if name in kinds:
            codes = pa.array(np.zeros(len(batch), np.int32), mask=np.full(len(batch), value is None))
            # A whole number is one as a label, a feature or a time; where words are wanted, it is a word.
            values = pa.array([value], pa.string() if isinstance(value, str) else pa.int64())
            if kinds[name] == TEXT:
                values = values.cast(pa.string())
            batch = batch.append_column(name, pa.DictionaryArray.from_arrays(codes, values))
    return batch


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and str(int(text)) == text and -(2**63) <= int(text) < 2**63
