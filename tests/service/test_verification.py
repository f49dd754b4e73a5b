"""`fairbandits verify`, and damaged logs that other commands meet: one line and status 2."""

import pytest
from sqlalchemy import delete, update

from fairbandits.service.config import load_config
from fairbandits.service.engine import Engine
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.events import Rewarded
from fairbandits.service.log.store import open_store
from fairbandits.service.log.tables import events, snapshots
from fairbandits.service.state.decider import decide
from fairbandits.service.verification import verify
from tests.commands import run_command
from tests.service.conftest import write_config
from tests.service.small import PLAIN, USER


@pytest.fixture
def path(tmp_path, store_url):
    """The configuration of a service with a log and two snapshots."""
    path = write_config(tmp_path, **PLAIN, store={"url": store_url})
    engine = Engine(load_config(path))
    engine._open()
    for _ in range(2):
        for number in range(6):
            decided = decide(engine.recommender, USER["features"], USER["groups"])
            made = [decided, Rewarded(decided.id, decided.time, number / 6)]
            engine.follower.apply(append(engine.store, [AppendEvents(events=made)], engine.follower.seq).entries)
        seq, serialise = engine.follower.snapshot()
        engine.store.save_snapshot(seq, serialise())
    engine.store.close()
    return path


def spoil(path, statement):
    with open_store(load_config(path)) as store, store.transaction() as connection:
        connection.execute(statement)


def command(*arguments, folder):
    ended = run_command(*arguments, folder=folder)
    return ended.returncode, ended.stdout, ended.stderr


def test_a_sound_service(path, tmp_path):
    status, out, err = command("verify", path, folder=tmp_path)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "log: 27 entries of 2 writer(s), all intact (3 arm_added, 12 decided, 12 rewarded)"
    assert lines[1] == "snapshots: 2, all intact"
    assert lines[2].startswith("state: a replay from entry 0 to ")


def test_the_state_between_snapshots_is_verified_where_content_was_deleted(path):
    with open_store(load_config(path)) as store:
        (newest, _), (oldest, _) = store.read_snapshots()
    spoil(
        path,
        update(events).where(events.c.kind != "arm_added", events.c.seq <= oldest).values(body=None, salt=None),
    )
    found = verify(load_config(path))
    assert (found.log.deleted, found.replayed) == (12, (oldest, newest))


def test_a_snapshot_that_is_not_the_state_of_the_log(path):
    with open_store(load_config(path)) as store:
        (newest, _), (_, parts) = store.read_snapshots()
        spoil(path, delete(snapshots).where(snapshots.c.seq == newest))
        store.save_snapshot(newest, parts)
    with pytest.raises(ValueError, match=f"the snapshot at entry {newest} differs from the state that a replay"):
        verify(load_config(path))


def test_snapshots_of_another_policy_are_not_compared(path, tmp_path):
    text = path.read_text().replace("FairLinUCB(alpha=0.3, gamma=1)", "LinUCB(alpha=0.3)")
    (tmp_path / "other.toml").write_text(text)
    status, out, _ = command("verify", tmp_path / "other.toml", folder=tmp_path)
    assert status == 0
    assert "state: not compared, because this configuration has fewer than two states to compare" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify",),
        ("export", "log.csv"),
        ("export", "learned.safetensors"),
        ("serve", "--port", "0"),
        ("serve", "--port", "0", "--workers", "2"),
    ],
)
def test_a_damaged_log_is_one_line_and_status_2(path, tmp_path, arguments):
    spoil(path, update(events).where(events.c.kind == "decided").values(body=events.c.body + " "))
    spoil(path, delete(snapshots))
    status, _, err = command(*arguments, path, folder=tmp_path)
    # Workers may report the same, each at its time, before they are stopped.
    lines = [*{line.partition("ERROR")[2] or line for line in err.splitlines() if "no other policy" not in line}]
    assert status == 2
    assert len(lines) == 1, err
    assert (
        "does not match its digest" in lines[0]
        or "was changed after it was written; run `fairbandits verify`" in lines[0]
    )
