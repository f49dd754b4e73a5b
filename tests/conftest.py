"""What the tests share."""

import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres import Postgres

# Doctests are looked for in all modules; this one would be executed for that, and does more than define things.
collect_ignore = ["preloaded.py"]

# Examples have no time limit: machines are busy, and the first one may compile kernels.
settings.register_profile("fairbandits", deadline=None)
settings.load_profile("fairbandits")


@pytest.fixture(scope="module")
def two_workers():
    """The address of a Dask cluster with two workers."""
    # Not for all tests: its threads would disturb those of other files.
    import distributed

    how = {"host": "127.0.0.1", "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**how, processes=True) as workers:
        yield workers.scheduler_address


@pytest.fixture(scope="session")
def postgres():
    """One PostgreSQL for all tests."""
    if find_spec("pgserver") is None:
        pytest.skip("pgserver has no wheel for this version of Python")
    # Not in pytest's folder: if root runs the tests, PostgreSQL runs as a user who may not read it.
    with tempfile.TemporaryDirectory(prefix="fairbandits-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = Postgres(Path(folder) / "data")
        yield server
        server.close()
