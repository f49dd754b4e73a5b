"""What the tests share."""

import tempfile
from pathlib import Path

import pytest

from tests.postgres import Postgres


@pytest.fixture(scope="session")
def postgres():
    """One PostgreSQL for all tests."""
    # Not in pytest's folder: if root runs the tests, PostgreSQL runs as a user who may not read it.
    with tempfile.TemporaryDirectory(prefix="fairbandits-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = Postgres(Path(folder) / "data")
        yield server
        server.close()
