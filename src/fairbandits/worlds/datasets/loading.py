"""Find, download and load the datasets, or fall back to the stand-in.

Datasets are looked for in a folder (an argument, or the environment variable FAIRBANDITS_DATA), in the user's
cache, and on the network. `published.py` names the place of each file in a folder, such as `adult/adult.data`.
Every file must have the sha256 of the published one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairbandits.extras import install_hint
from fairbandits.storage import atomic_write
from fairbandits.worlds.datasets.errors import DataError, DataMissingError
from fairbandits.worlds.datasets.published import DATASETS, Dataset
from fairbandits.worlds.datasets.tables import Table
from fairbandits.worlds.datasets.verification import check_published, file_version, find_problem, read_dataset

VARIABLE = "FAIRBANDITS_DATA"

#: The values of `data`, for messages.
SOURCES = "'auto', 'local', 'real', 'stand-in' or an existing folder"


@dataclass(frozen=True)
class DatasetFile:
    """A verified file of a dataset, and the kind of place it is in."""

    name: str
    path: Path
    where: Literal["folder", "cache"]


def find_dataset(name: str, folder: str | Path | None = None) -> DatasetFile | None:
    """Find a dataset on this machine.

    Parameters
    ----------
    name : str
        The dataset, one of those that `dataset_status` lists.
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

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from fairbandits.worlds import find_dataset
    >>> with TemporaryDirectory() as folder:
    ...     found = find_dataset("adult", folder)
    >>> found is None or found.where == "cache"
    True
    """
    dataset = _dataset(name)
    for where, path in candidate_paths(dataset, folder):
        if path.is_file():
            problem = find_problem(dataset, file_version(path))
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
            content = check_published(dataset, get())
            path = cache / dataset.member
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, content)
        except Exception as error:
            attempts.append(f"{source}: {type(error).__name__}: {error}")
        else:
            return path
    raise DataMissingError(_unavailable(dataset, attempts))


def load_students(source: str | Path = "auto") -> Table:
    """Load the students.

    Parameters
    ----------
    source : {"auto", "local", "real", "stand-in"} or a folder
        "real" looks in the folder that FAIRBANDITS_DATA names, then in the cache, then downloads. "auto" does the
        same, and falls back to the stand-in. "local" falls back to the stand-in without trying a download. A
        folder replaces the one that FAIRBANDITS_DATA names.

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
    return _load_or_stand_in("adult", source)


def load_videos(source: str | Path = "auto") -> Table:
    """Load the videos; `source` and errors are as for `load_students`.

    Examples
    --------
    >>> len(load_videos("stand-in"))
    1580
    """
    return _load_or_stand_in("youtube", source)


def load_dataset(name: str, source: str | Path = "auto") -> Table:
    """Load a dataset for a world of real data, for which no stand-in is taken unless `source` names it.

    Parameters
    ----------
    name : str
        The dataset, one of those that `dataset_status` lists.
    source : {"auto", "local", "real", "stand-in"} or a folder
        "auto" and "real" look in the folder that FAIRBANDITS_DATA names, then in the cache, then download; "auto"
        does not repeat a download that failed in this process. "local" does not download. A folder replaces the
        one that FAIRBANDITS_DATA names. "stand-in" is for tests: synthetic rows with the same columns.

    Raises
    ------
    DataError
        If a file is damaged.
    DataMissingError
        If the dataset is not available.

    Examples
    --------
    >>> load_dataset("german", "stand-in").real
    False
    """
    dataset = _dataset(name)
    if not isinstance(source, str | Path):
        raise ValueError(f"data must be {SOURCES}, got {source!r}")
    if source == "stand-in":
        return dataset.stand_in()
    folder = None if source in {"auto", "local", "real"} else source
    if folder is not None and not Path(folder).is_dir():
        raise DataError(f"data must be {SOURCES}, got {str(folder)!r}")
    file = find_dataset(name, folder)
    if file is not None:
        return read_dataset(name, file.path)
    if source == "local":
        raise DataMissingError(_unavailable(dataset, ["data='local' allows no download"]))
    return read_dataset(name, _fetch_once(name) if source == "auto" else fetch_dataset(name))


def _load_or_stand_in(name: str, source: str | Path) -> Table:
    try:
        return load_dataset(name, source)
    except DataMissingError:
        if source not in {"auto", "local"}:
            raise
        return DATASETS[name].stand_in()


_failed_downloads: dict[str, str] = {}


def _fetch_once(name: str) -> Path:
    """Fetch a dataset, or raise the error of an earlier attempt of this process.

    So all worlds of a run use the same data, and only the first world waits if there is no network. Only "auto"
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


def candidate_paths(dataset: Dataset, folder: str | Path | None) -> list[tuple[Literal["folder", "cache"], Path]]:
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


def _unavailable(dataset: Dataset, attempts: list[str]) -> str:
    lines = "".join(f"\n- {attempt}" for attempt in attempts) + "\n"
    problem = f"has no download: {dataset.route}. " if dataset.route else f"could not be downloaded:{lines}"
    return (
        f"{dataset.title} is not on this machine and {problem}"
        f"Put the file at {dataset.member} in a folder and set {VARIABLE} to that folder, or use the stand-in."
    )
