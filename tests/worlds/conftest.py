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
