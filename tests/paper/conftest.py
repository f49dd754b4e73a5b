"""What the tests of the paper share: the data that is there."""

import os

import pytest

from fairbandits.worlds.datasets.loading import VARIABLE


@pytest.fixture(scope="session")
def source():
    """The real data where the environment names it, the stand-in elsewhere."""
    return os.environ.get(VARIABLE) or "standin"
