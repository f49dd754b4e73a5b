"""The state of the datasets on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fairbandits.worlds.datasets.loading import VARIABLE, candidate_paths
from fairbandits.worlds.datasets.published import DATASETS, Dataset
from fairbandits.worlds.datasets.verification import digest, file_version, find_problem, read_dataset


@dataclass(frozen=True)
class DatasetStatus:
    """The state of a dataset on this machine; `where` is its path, or the reason why it cannot be used."""

    name: str
    title: str
    state: Literal["ok", "missing", "damaged"]
    where: str
    sha256: str | None
    rows: int | None


def dataset_status(folder: str | Path | None = None) -> list[DatasetStatus]:
    """Return the status of every dataset on this machine; nothing is downloaded.

    A damaged file in the cache counts as missing, as for `find_dataset`.

    Raises
    ------
    DataError
        If the folder, or the one that FAIRBANDITS_DATA names, does not exist.

    Examples
    --------
    >>> [status.name for status in dataset_status()][:3]
    ['adult', 'youtube', 'compas']
    """
    return [_status(dataset, folder) for dataset in DATASETS.values()]


def _status(dataset: Dataset, folder: str | Path | None) -> DatasetStatus:
    reasons = []
    for where, path in candidate_paths(dataset, folder):
        if not path.is_file():
            reasons.append(f"not at {path}")
            continue
        version = file_version(path)
        problem = find_problem(dataset, version)
        if not problem:
            rows = len(read_dataset(dataset.name, path))
            return DatasetStatus(dataset.name, dataset.title, "ok", str(path), digest(version), rows)
        if where == "folder":
            return DatasetStatus(dataset.name, dataset.title, "damaged", problem, digest(version), None)
        reasons.append(f"damaged in the cache, at {path}; a download will replace it")
    # Without pooch and without a folder there is no candidate.
    reasons = reasons or [f"{VARIABLE} is not set, and there is no cache"]
    reasons += [f"there is no download: {dataset.route}"] if dataset.route else []
    return DatasetStatus(dataset.name, dataset.title, "missing", "; ".join(reasons), None, None)
