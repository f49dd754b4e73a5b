"""What the tests of the worlds share: the data that is there, and no network."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fairbandits.worlds.datasets import loading

REAL = os.environ.get(loading.VARIABLE)

needs_real = pytest.mark.skipif(not REAL, reason=f"{loading.VARIABLE} names no folder with the real data")


def _no_network():
    raise ConnectionError("tests have no network")


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Give every test an empty cache, and sources that never answer."""
    routes = (("a far server", _no_network), ("another", _no_network))
    for name, dataset in loading.DATASETS.items():
        monkeypatch.setitem(loading.DATASETS, name, replace(dataset, routes=routes))
    monkeypatch.setattr(loading, "_failed", {})
    monkeypatch.setattr(loading, "_cache", lambda: tmp_path / "cache")


@pytest.fixture(scope="session", params=["standin", pytest.param(REAL, marks=needs_real, id="real")])
def source(request):
    """Each kind of data that there is on this machine, as worlds take it."""
    return request.param


@pytest.fixture(scope="session")
def real_folder():
    if not REAL:
        pytest.skip(f"{loading.VARIABLE} names no folder with the real data")
    return Path(REAL)
