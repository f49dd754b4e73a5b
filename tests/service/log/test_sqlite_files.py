"""Files of SQLite that are replaced or removed under a running server: nothing that is acknowledged is lost."""

import os
import shutil
import stat

import pytest

from fairbandits.service.config import load_config
from fairbandits.service.log.errors import StoreReplacedError
from fairbandits.service.log.store import Store
from tests.polling import wait_until
from tests.service.clients import Client, Replay
from tests.service.log.test_hung_database import is_ready, timed


def removed(folder):
    for path in list(folder.iterdir()):
        path.unlink()


def replaced_by_a_copy(folder):
    copy = folder.parent / "copy.db"
    shutil.copy(folder / "log.db", copy)
    os.replace(copy, folder / "log.db")


def folder_replaced(folder):
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    folder.rename(folder.with_name("old"))
    copy.rename(folder)


def without_its_log(folder):
    (folder / "log.db-wal").unlink()


@pytest.mark.parametrize("replace", [removed, replaced_by_a_copy, folder_replaced, without_its_log])
def test_a_replaced_file_is_noticed_before_anything_is_acknowledged(serving, students, tmp_path, replace):
    folder = tmp_path / "data"
    server = serving(store={"url": f"sqlite:///{folder}/log.db"})
    client = Client(0, students, seed=0)
    client.follow(server.url)
    wait_until(lambda: client.acknowledged > 20)
    kept = tmp_path / "kept"
    kept.mkdir()
    for path in folder.iterdir():  # other names of the same files
        os.link(path, kept / path.name)
    replace(folder)
    wait_until(lambda: not is_ready(server), seconds=5)
    acknowledged = client.acknowledged
    statuses = [timed(server, "/v1/decisions", students.request(number))[0] for number in range(5)]
    assert statuses == [503] * 5
    assert timed(server, "/health")[0] == 200
    client.stop()
    assert client.acknowledged == acknowledged
    assert (
        server.said().count("was replaced or removed while the service was using it; put the file back, or") == 1
    )
    server.kill()
    config = load_config(server.arguments[0])
    store = config.store.model_copy(update={"url": f"sqlite:///{kept}/log.db"})
    replay = Replay(config.model_copy(update={"store": store}))
    replay.check([client])
    replay.close()


def test_files_that_are_put_back_are_used_again(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.open("columns")
    store.probe()
    (tmp_path / "log.db").rename(tmp_path / "other.db")
    for _ in range(2):
        with pytest.raises(
            StoreReplacedError, match="put the file back, or restart the service to continue with the file"
        ):
            store.probe()
    (tmp_path / "other.db").rename(tmp_path / "log.db")
    store.probe()
    store.close()


def test_another_database_is_not_opened_in_its_place(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.open("columns")
    store.close()
    (tmp_path / "log.db").rename(tmp_path / "other.db")
    with pytest.raises(StoreReplacedError):
        store.last_seq()
    assert not (tmp_path / "log.db").exists()


def test_the_files_are_private(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/folder/log.db")
    store.open("columns")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "folder").iterdir()}
    assert modes == {"log.db": 0o600, "log.db-wal": 0o600, "log.db-shm": 0o600}
    store.close()
