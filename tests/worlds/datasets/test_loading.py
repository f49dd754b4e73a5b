"""Finding and loading the datasets: folder, cache, download, stand-in, and damaged files."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from fairbandits.worlds.datasets import loading
from fairbandits.worlds.datasets.errors import DataError, DataMissingError
from fairbandits.worlds.datasets.status import dataset_status

VIDEO = b"an-id\tsomeone\t100\tComedy\t60\t1000\t4.5\t8\t6\n"


@pytest.fixture
def small(monkeypatch):
    """Pretend that the published file has two videos, and unset the environment variable."""
    content = VIDEO * 2
    published = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "rows": 2}
    monkeypatch.setitem(loading.DATASETS, "youtube", replace(loading.DATASETS["youtube"], **published))
    monkeypatch.delenv(loading.VARIABLE, raising=False)
    return content


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine/youtube/0302").mkdir(parents=True)
    return tmp_path / "mine"


def write_videos(folder, content):
    path = folder / "youtube/0302/1.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def set_download(monkeypatch, get):
    downloads = (("a source", get),)
    monkeypatch.setitem(loading.DATASETS, "youtube", replace(loading.DATASETS["youtube"], downloads=downloads))


def test_the_folder_comes_before_the_cache(small, folder, tmp_path):
    write_videos(tmp_path / "cache", small)
    path = write_videos(folder, small)
    assert loading.find_dataset("youtube", folder) == loading.DatasetFile("youtube", path, "folder")
    assert loading.find_dataset("youtube") == loading.DatasetFile(
        "youtube", tmp_path / "cache/youtube/0302/1.txt", "cache"
    )


def test_the_variable_names_a_folder_and_the_argument_comes_first(small, folder, tmp_path, monkeypatch):
    monkeypatch.setenv(loading.VARIABLE, str(folder))
    path = write_videos(folder, small)
    assert loading.find_dataset("youtube").path == path
    other = write_videos(tmp_path / "other", small)
    assert loading.find_dataset("youtube", tmp_path / "other").path == other


def test_a_missing_dataset_is_not_found(small, folder):
    assert loading.find_dataset("youtube") is None
    assert loading.find_dataset("youtube", folder) is None


def test_a_missing_folder_is_an_error(small, tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"folder must be an existing folder that contains youtube/0302/1\.txt, got"
    ):
        loading.find_dataset("youtube", tmp_path / "nowhere")
    monkeypatch.setenv(loading.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=f"{loading.VARIABLE} must be an existing folder"):
        loading.find_dataset("youtube")
    with pytest.raises(DataError, match=f"{loading.VARIABLE} must be an existing folder"):
        dataset_status()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-5], r"too short, perhaps an incomplete copy\. .* line 2: .* got 7 fields"),
        (lambda _: VIDEO, "too short.* It can be read and has 1 rows; the published file has 2"),
        # Every line lacks its last column: not a truncated copy.
        (
            lambda _: b"an-id\tsomeone\t100\tComedy\t60\t1000\t4.5\t8\n" * 2,
            "got 8 fields, with none for 'comments'",
        ),
        (lambda content: content + b"id\tonly\n", "line 3: .* got 2 fields"),
        (lambda content: content + VIDEO, "It can be read and has 3 rows; the published file has 2"),
    ],
)
def test_a_damaged_file_in_a_folder_is_an_error(small, folder, damage, message):
    path = write_videos(folder, damage(small))
    with pytest.raises(DataError, match=message) as caught:
        loading.load_videos(folder)
    text = str(caught.value)
    assert str(path) in text
    assert loading.DATASETS["youtube"].sha256 in text
    assert text.count("Replace the file with the original") == 1
    assert dataset_status(folder)[1].state == "damaged"


def test_a_damaged_file_in_the_cache_is_replaced(small, tmp_path, monkeypatch):
    write_videos(tmp_path / "cache", b"rubbish")
    assert loading.find_dataset("youtube") is None
    set_download(monkeypatch, lambda: small)
    assert len(loading.load_videos("real")) == 2
    assert loading.find_dataset("youtube").where == "cache"
    assert [path.name for path in (tmp_path / "cache/youtube/0302").iterdir()] == ["1.txt"]


def test_a_failed_write_leaves_no_file_behind(small, tmp_path, monkeypatch):
    (tmp_path / "cache/youtube/0302/1.txt").mkdir(parents=True)
    set_download(monkeypatch, lambda: small)
    with pytest.raises(DataMissingError, match="a source: "):
        loading.fetch_dataset("youtube")
    assert [path.name for path in (tmp_path / "cache/youtube/0302").iterdir()] == ["1.txt"]


def test_a_damaged_file_in_the_cache_counts_as_missing_until_it_is_fetched(small, tmp_path, monkeypatch):
    path = write_videos(tmp_path / "cache", b"rubbish")
    status = dataset_status()[1]
    assert (status.state, status.rows, status.sha256) == ("missing", None, None)
    assert status.where == f"damaged in the cache, at {path}; a download will replace it"
    set_download(monkeypatch, lambda: small)
    loading.fetch_dataset("youtube")
    assert dataset_status()[1].state == "ok"


def test_a_damaged_file_in_the_folder_of_the_variable_is_not_replaced_by_the_cache(
    small, folder, tmp_path, monkeypatch
):
    write_videos(folder, b"rubbish")
    write_videos(tmp_path / "cache", small)
    monkeypatch.setenv(loading.VARIABLE, str(folder))
    assert dataset_status()[1].state == "damaged"


def test_a_file_that_changed_is_read_again(small, folder):
    write_videos(folder, small)
    assert len(loading.load_videos(folder)) == 2
    write_videos(folder, small + VIDEO)
    with pytest.raises(DataError, match="3 rows"):
        loading.load_videos(folder)


def test_a_download_with_the_wrong_hash_is_not_kept(small, tmp_path, monkeypatch):
    set_download(monkeypatch, lambda: b"an error page")
    with pytest.raises(DataMissingError, match=r"a source: DataError: sha256 must be \w+, got \w+"):
        loading.fetch_dataset("youtube")
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_counts_as_no_source(small, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where a folder should be")
    set_download(monkeypatch, lambda: small)
    with pytest.raises(DataMissingError, match=r"a source: (NotADirectory|FileExists)Error"):
        loading.fetch_dataset("youtube")
    assert not loading.load_videos("auto").real


def test_the_error_lists_all_attempts(small):
    with pytest.raises(DataMissingError) as caught:
        loading.fetch_dataset("youtube")
    text = str(caught.value)
    assert "- a far server: ConnectionError: tests have no network" in text
    assert "- another: ConnectionError" in text
    assert "youtube/0302/1.txt" in text
    assert loading.VARIABLE in text


def test_without_pooch_there_is_no_download(small, monkeypatch):
    monkeypatch.setattr(loading, "_cache_folder", lambda: None)
    with pytest.raises(DataMissingError, match=r"fairbandits\[data\]"):
        loading.fetch_dataset("youtube")
    assert dataset_status()[1].where == f"{loading.VARIABLE} is not set, and there is no cache"


def test_local_takes_the_stand_in_without_a_download(small, monkeypatch):
    monkeypatch.setattr(loading, "fetch_dataset", None)
    monkeypatch.setattr(loading, "_fetch_once", None)
    assert not loading.load_students("local").real


def test_auto_takes_the_stand_in_after_one_attempt(small, monkeypatch):
    attempts = []

    def refuse():
        attempts.append(1)
        raise ConnectionError

    set_download(monkeypatch, refuse)
    assert not loading.load_videos("auto").real
    assert not loading.load_videos().real
    assert len(attempts) == 1


@pytest.mark.parametrize("explicit", ["real", "folder"])
def test_asking_for_the_real_data_tries_again(small, folder, monkeypatch, explicit):
    source = folder if explicit == "folder" else explicit
    assert not loading.load_videos("auto").real
    with pytest.raises(DataMissingError, match="not on this machine"):
        loading.load_videos(source)
    set_download(monkeypatch, lambda: small)  # the network is back
    assert loading.load_videos(source).real
    assert loading.load_videos("auto").real


def test_unknown_names_are_refused(small):
    with pytest.raises(ValueError, match=r"name must be one of 'adult', 'youtube', .*, got 'iris'"):
        loading.find_dataset("iris")
    with pytest.raises(ValueError, match=r"name must be one of 'adult', 'youtube', .*, got 'iris'"):
        loading.fetch_dataset("iris")
    with pytest.raises(
        DataError, match="data must be 'auto', 'local', 'real', 'stand-in' or an existing folder, got 'reel'"
    ):
        loading.load_students("reel")


def test_status_of_present_and_missing_datasets(small, folder):
    write_videos(folder, small)
    adult, youtube, *_, warfarin = dataset_status(folder)
    assert (adult.state, adult.rows, adult.sha256) == ("missing", None, None)
    assert (youtube.state, youtube.rows) == ("ok", 2)
    assert youtube.where.endswith("1.txt")
    assert warfarin.where.endswith("repository chuchro3/Warfarin")


def test_the_real_files(real_folder):
    for status, rows in zip(dataset_status(real_folder)[:2], (32_561, 1_580), strict=True):
        assert (status.state, status.rows) == ("ok", rows)
        assert Path(status.where).stat().st_size == loading.DATASETS[status.name].size


def test_real_data_has_no_stand_in_unless_asked_for(small):
    assert not loading.load_dataset("german", "stand-in").real
    for source in ("auto", "real"):
        with pytest.raises(DataMissingError, match="German Credit is not on this machine and could not be"):
            loading.load_dataset("german", source)
    with pytest.raises(DataMissingError, match="- data='local' allows no download"):
        loading.load_dataset("german", "local")


def test_a_dataset_without_download_names_its_route_in_one_line(small, monkeypatch):
    monkeypatch.setitem(loading.DATASETS, "warfarin", replace(loading.DATASETS["warfarin"], downloads=()))
    with pytest.raises(DataMissingError) as caught:
        loading.load_dataset("warfarin")
    assert str(caught.value) == (
        "IWPC Warfarin is not on this machine and has no download: get data/warfarin.csv of the public GitHub "
        "repository chuchro3/Warfarin. Put the file at warfarin/warfarin.csv in a folder and set FAIRBANDITS_DATA "
        "to that folder, or use the stand-in."
    )


def test_fetching_twice_leaves_the_same_file(small, tmp_path, monkeypatch):
    set_download(monkeypatch, lambda: small)
    assert loading.fetch_dataset("youtube") == loading.fetch_dataset("youtube")
    assert [path.name for path in (tmp_path / "cache/youtube/0302").iterdir()] == ["1.txt"]
