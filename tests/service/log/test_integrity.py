"""Damage of stored entries and snapshots: each is found, wherever it is."""

import random
import struct

import pytest
from sqlalchemy import delete, select, update

from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.errors import LogDamagedError
from fairbandits.service.log.events import ArmAdded, Rewarded
from fairbandits.service.log.integrity import check_log, check_snapshots
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import events, snapshots
from tests.service.logs import decided

COLUMNS = ("body", "salt", "digest", "chain", "key", "kind", "time", "seq", "writer", "n")
FLIPS = 200


def fill(store, first, n=10):
    """Append decisions, every other one with its reward."""
    for number in range(first, first + n):
        made = [decided(number)] + [Rewarded(decided(number).id, 5.0, 0.5)] * (number % 2)
        append(store, [AppendEvents(events=made)], 0)


@pytest.fixture
def log(store, store_url):
    """A store with the entries of two writers."""
    append(store, [AppendEvents(events=[ArmAdded("chess", 1, 1.5, {"hours": 0.1}, {})])], 0)
    other = Store(store_url)
    for first in (0, 20, 40):
        fill(store, first)
        fill(other, first + 10)
    other.close()
    return store


def check(store):
    with store.connection() as connection:
        return check_log(connection)


def change(store, seq, column, value):
    with store.transaction() as connection:
        connection.execute(update(events).where(events.c.seq == seq).values({column: value}))


def flipped(value, rng):
    """The value with one byte changed."""
    if isinstance(value, int):
        # Not the highest byte, which would leave the range of PostgreSQL's order.
        return value ^ (rng.randrange(1, 256) << 8 * rng.randrange(4))
    if isinstance(value, float):
        plain = bytearray(struct.pack(">d", value))
        plain[rng.randrange(1, 8)] ^= rng.randrange(1, 256)  # the first byte could make it infinite
        return struct.unpack(">d", plain)[0]
    plain = bytearray(value.encode() if isinstance(value, str) else value)
    place = rng.randrange(len(plain))
    if isinstance(value, bytes):
        plain[place] ^= rng.randrange(1, 256)
        return bytes(plain)
    plain[place] = rng.choice([each for each in range(32, 127) if each != plain[place]])
    return plain.decode()


def test_a_sound_log(log):
    found = check(log)
    assert (found.entries, found.deleted, found.writers) == (91, 0, 2)
    assert found.kinds == {"arm_added": 1, "decided": 60, "rewarded": 30}
    assert found.last == log.last_seq()


def test_every_flipped_byte_is_found(log):
    rng = random.Random(18)
    with log.connection() as connection:
        rows = connection.execute(select(events).order_by(events.c.seq)).mappings().all()
    missed, n_flips = [], 0
    for number in range(FLIPS):
        row = rng.choice(rows)
        column = COLUMNS[number % len(COLUMNS)]
        value = bytes(row[column]) if isinstance(row[column], memoryview) else row[column]
        wrong = flipped(value, rng)
        while column == "seq" and any(wrong == each["seq"] for each in rows):
            wrong = flipped(value, rng)  # two entries cannot have one number
        n_flips += 1
        change(log, row["seq"], column, wrong)
        try:
            check(log)
            missed.append((row["seq"], column, value, wrong))
        except LogDamagedError:
            pass
        change(log, wrong if column == "seq" else row["seq"], column, value)
    assert missed == []
    assert n_flips == FLIPS
    check(log)


def test_flipped_bytes_of_the_file_are_found(tmp_path):
    """Of text, numbers, lengths and indices alike: wherever the bytes of an entry are in the file."""
    path = tmp_path / "log.db"
    store = Store(f"sqlite:///{path}")
    store.open("columns")
    fill(store, 0, 20)
    with store.connection() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        stored = connection.exec_driver_sql("SELECT body, digest, chain, salt, writer, key FROM events").all()
    store.close()
    sound, rng = path.read_bytes(), random.Random(19)
    for number in range(60):
        value = rng.choice(stored)[number % 6]
        content = value.encode() if isinstance(value, str) else value
        at = sound.index(content) + rng.randrange(len(content))
        spoilt = bytearray(sound)
        spoilt[at] ^= rng.randrange(1, 256)
        path.write_bytes(spoilt)
        with pytest.raises(LogDamagedError):
            check(store)
        store.close()
    path.write_bytes(sound)
    check(store)
    store.close()


def last_of(store, kind):
    return [entry.seq for entry in store.read(0) if kind == entry.event.KIND][-1]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("UPDATE events SET salt = NULL WHERE seq = {seq}", "entry {seq}: only a part of its content was deleted"),
        ("UPDATE events SET kind = 'x' WHERE seq = {seq}", "entry {seq}: its content does not match its digest"),
        (
            "UPDATE events SET body = NULL, salt = NULL, time = 5 WHERE seq = {seq}",
            "entry {seq}: it does not match the chain of writer",
        ),
        ("UPDATE events SET n = 50 WHERE seq = {seq}", "entry {seq}: number 50 of writer"),
    ],
)
def test_findings(log, spoil, message):
    seq = last_of(log, "decided")
    with log.transaction() as connection:
        connection.exec_driver_sql(spoil.format(seq=seq))
    with pytest.raises(LogDamagedError, match=message.format(seq=seq)):
        check(log)


def test_a_value_of_another_type(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.open("columns")
    fill(store, 0, 2)
    with store.transaction() as connection:
        connection.exec_driver_sql("UPDATE events SET time = 'noon' WHERE seq = 2")
    with pytest.raises(LogDamagedError, match="entry 2: a column has no valid value"):
        check(store)
    with store.transaction() as connection:
        connection.exec_driver_sql("UPDATE events SET salt = 1000000000000 WHERE seq = 1")
    with pytest.raises(LogDamagedError, match="entry 1: a column has no valid value"):
        check(store)
    store.close()


def test_a_missing_entry(log):
    seq = log.read(0)[40].seq
    with log.transaction() as connection:
        connection.execute(delete(events).where(events.c.seq == seq))
    with pytest.raises(LogDamagedError, match="entries are missing"):
        check(log)


def test_a_reward_without_its_decision(store):
    append(store, [AppendEvents(events=[Rewarded(decided(1).id, 5.0, 0.5)])], 0)
    with pytest.raises(LogDamagedError, match=f"entry {store.last_seq()}: a reward without its decision"):
        check(store)


def test_deleted_content_is_no_damage(log, store_url):
    with log.transaction() as connection:
        connection.exec_driver_sql("UPDATE events SET body = NULL, salt = NULL WHERE kind <> 'arm_added'")
    assert check(log).deleted == 90
    other = Store(store_url)
    assert [entry.event for entry in other.read(0)[1:]] == [None] * 90
    other.close()


def test_an_entry_that_is_not_as_it_was_written_is_not_read(log, store_url):
    change(log, last_of(log, "rewarded"), "body", '{"decision":"0","time":5.0,"reward":1.0}')
    other = Store(store_url)
    with pytest.raises(LogDamagedError, match=r"the entry with key r:\w+ was changed after it was written; run"):
        other.read(0)


def test_snapshots(log):
    last = log.last_seq()
    log.save_start(b"start")
    for seq in (last - 1, last):
        log.save_snapshot(seq, {"one": b"1", "two": b"2"})
    with log.connection() as connection:
        assert check_snapshots(connection, last) == [last, last - 1]
        with pytest.raises(LogDamagedError, match=f"the log ends at entry {last - 1}, before the snapshot"):
            check_snapshots(connection, last - 1)
    with log.transaction() as connection:
        newest = (snapshots.c.seq == last) & (snapshots.c.part == "two")
        connection.execute(update(snapshots).where(newest).values(sha256="x"))
        with pytest.raises(LogDamagedError, match=f"the snapshot at entry {last} does not match its checksum"):
            check_snapshots(connection, last)
        connection.exec_driver_sql("DELETE FROM snapshots WHERE seq > 0")
        connection.exec_driver_sql("UPDATE snapshots SET sha256 = 'x'")
        with pytest.raises(LogDamagedError, match="the recommender that the log starts with does not match"):
            check_snapshots(connection, last)
