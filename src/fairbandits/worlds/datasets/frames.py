"""Published datasets as data frames, for the worlds that are built from tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairbandits.extras import install_hint
from fairbandits.worlds.datasets.loading import load_dataset
from fairbandits.worlds.datasets.published import DATASETS
from fairbandits.worlds.datasets.tables import Table

Clean = Callable[[Table], Table]


def load_frame(name: str, data: str | Path, clean: Clean | None = None) -> tuple[Any, str]:
    """Return a dataset as a data frame, cleaned, and one line that names the data.

    `data` and errors are as for `load_dataset`.
    """
    table = load_dataset(name, data)
    title = DATASETS[name].title
    source = f"real data: {title}" if table.real else f"STAND-IN data: synthetic rows with the columns of {title}"
    return _as_frame(table, clean), source


# Frames are created once per process, and shared by the worlds of all seeds.
@lru_cache(maxsize=16)
def _as_frame(table: Table, clean: Clean | None) -> Any:
    try:
        import pyarrow  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise ImportError(f"worlds of real data need pyarrow; {install_hint('logs')}") from None
    columns = (table if clean is None else clean(table)).columns
    return pyarrow.table({name: pyarrow.array(column.tolist()) for name, column in columns.items()})
