"""What the tests of the worlds share: the data that is there, and no network."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fairbandits.worlds import data

REAL = os.environ.get(data.VARIABLE)

needs_real = pytest.mark.skipif(not REAL, reason=f"{data.VARIABLE} names no folder with the real data")


def _no_network():
    raise ConnectionError("tests have no network")


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Give every test an empty cache, and sources that never answer."""
    routes = (("a far server", _no_network), ("another", _no_network))
    for name, dataset in data.DATASETS.items():
        monkeypatch.setitem(data.DATASETS, name, replace(dataset, routes=routes))
    monkeypatch.setattr(data, "_failed", {})
    monkeypatch.setattr(data, "_cache", lambda: tmp_path / "cache")


@pytest.fixture(scope="session", params=["standin", pytest.param(REAL, marks=needs_real, id="real")])
def source(request):
    """Each kind of data that there is on this machine, as worlds take it."""
    return request.param


@pytest.fixture(scope="session")
def real_folder():
    if not REAL:
        pytest.skip(f"{data.VARIABLE} names no folder with the real data")
    return Path(REAL)
