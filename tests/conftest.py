"""What the tests share."""

import tempfile
from pathlib import Path

import pytest

from tests.postgres import Postgres


def _drop_stale_kernels() -> None:
    """Compile anew where a kernel has changed: numba looks at the file of a kernel, not of those that it calls."""
    source = Path(__file__).parents[1] / "src"
    kernels = [path for path in source.rglob("*.py") if "numba" in path.read_text(encoding="utf-8")]
    changed = max(path.stat().st_mtime for path in kernels)
    compiled = list(source.rglob("*.nb[ci]"))
    if any(path.stat().st_mtime < changed for path in compiled):
        for path in compiled:
            path.unlink(missing_ok=True)


_drop_stale_kernels()


@pytest.fixture(scope="session")
def postgres():
    """One PostgreSQL for all tests."""
    # Not in pytest's folder: if root runs the tests, PostgreSQL runs as a user who may not read it.
    with tempfile.TemporaryDirectory(prefix="fairbandits-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = Postgres(Path(folder) / "data")
        yield server
        server.close()
