"""The description of the data on which a report is based."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fairbandits.worlds import StudentsAndVideos, load_students, load_videos
from fairbandits.worlds.datasets.published import DATASETS


def load_and_describe_data(data: str | Path) -> tuple[str | Path, dict[str, Any]]:
    """Load the data once, and return the source that runs should use and a description of the data.

    After this, every dataset that can be downloaded is in the cache. "auto" therefore becomes "local", and no run
    waits for a download that would fail.
    """
    tables = {"adult": load_students(data), "youtube": load_videos(data)}
    source = StudentsAndVideos(train=1, test=0, data=data).data_source
    description: dict[str, Any] = {"source": source}
    for name, table in tables.items():
        description[name] = {
            "real": table.real,
            "rows": len(table),
            "sha256": DATASETS[name].sha256 if table.real else None,
        }
    return "local" if data == "auto" else data, description


def check_same_source(sources: Iterable[str], expected: str) -> None:
    """Raise ValueError if a run used different data, because files were replaced in the meantime."""
    for source in sources:
        if source != expected:
            raise ValueError(f"the data changed during the runs, from {expected!r} to {source!r}; run again")
