"""Shared fixtures: the dataset on this machine."""

import os

import pytest

from fairbandits.worlds.datasets.loading import VARIABLE


@pytest.fixture(scope="session")
def source():
    """The real data if the environment variable is set, otherwise the stand-in."""
    return os.environ.get(VARIABLE) or "stand-in"
