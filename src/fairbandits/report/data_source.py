"""Which data a report shows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fairbandits.worlds import StudentsAndVideos, load_students, load_videos
from fairbandits.worlds.datasets.loading import DATASETS


def about_data(data: str | Path) -> tuple[str | Path, dict[str, Any]]:
    """Load the data once, to say what it is, and so that no other process has to look for it in vain."""
    loaded = {"adult": load_students(data), "youtube": load_videos(data)}
    source = StudentsAndVideos(train=1, test=0, data=data).data_source
    about: dict[str, Any] = {"source": source}
    for name, table in loaded.items():
        about[name] = {
            "real": table.real,
            "rows": len(table),
            "sha256": DATASETS[name].sha256 if table.real else None,
        }
    # What could be had is in the cache by now: the runs need not look for the rest again.
    return "local" if data == "auto" else data, about


def check_source(sources: Iterable[str], expected: str) -> None:
    """Refuse a mixture: somebody may have put other data in place while the runs went on."""
    for source in sources:
        if source != expected:
            raise ValueError(f"the data changed during the runs, from {expected!r} to {source!r}; run again")
