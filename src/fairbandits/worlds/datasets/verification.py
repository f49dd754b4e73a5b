"""Compare files with the published ones, and read those that match."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from fairbandits.worlds.datasets.errors import REMEDY, DataError
from fairbandits.worlds.datasets.published import DATASETS, Dataset
from fairbandits.worlds.datasets.tables import Table

#: A file at one time: its path, size and time of change.
Version = tuple[Path, int, int]


def file_version(path: Path) -> Version:
    """Return the path, the size and the time of change: the cache key for the content of a file."""
    stat = path.stat()
    return path, stat.st_size, stat.st_mtime_ns


def read_dataset(name: str, path: Path) -> Table:
    """Read a verified file, once per process."""
    return _read(name, file_version(path))


@lru_cache(maxsize=16)
def digest(version: Version) -> str:
    """Return the sha256 of a file."""
    return hashlib.sha256(version[0].read_bytes()).hexdigest()


def find_problem(dataset: Dataset, version: Version) -> str:
    """Return a description of what is wrong with a file; empty if it is the published one."""
    sha256 = digest(version)
    if sha256 == dataset.sha256:
        return ""
    path, size, _ = version
    return (
        f"{path} must be the published file of {dataset.title}, {dataset.size} bytes with sha256 "
        f"{dataset.sha256}, got {size} bytes with sha256 {sha256}. {_diagnosis(dataset, path, size)}"
    )


def check_published(dataset: Dataset, content: bytes) -> bytes:
    """Return the content if it is the published file, and raise DataError if not."""
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != dataset.sha256:
        raise DataError(f"sha256 must be {dataset.sha256}, got {sha256}")
    return content


@lru_cache(maxsize=16)
def _read(name: str, version: Version) -> Table:
    return DATASETS[name].read(version[0])


def _diagnosis(dataset: Dataset, path: Path, size: int) -> str:
    """Return the probable cause, as far as reading the file reveals it, and the remedy."""
    shorter = "The file is too short, perhaps an incomplete copy. " if size < dataset.size else ""
    try:
        rows = len(dataset.read(path))
    except DataError as error:
        return f"{shorter}{error}"
    return f"{shorter}It can be read and has {rows} rows; the published file has {dataset.rows}. {REMEDY}"
