"""Snapshots in pieces: others write in between, and one that is not finished does not count."""

import pytest
from sqlalchemy import func, select, text

from fairbandits.service.log import snapshot_rows
from fairbandits.service.log.snapshot_rows import Pace
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import snapshots

BODY = bytes(range(256)) * 20


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(snapshot_rows, "_PIECE", 1000)


def n_rows(store):
    with store.connection() as connection:
        return connection.execute(select(func.count()).select_from(snapshots)).scalar()


def test_a_large_part_is_stored_in_pieces(store):
    parts = {"one": BODY, "two": b"", "three": BODY[:1000], "four": BODY[:1001]}
    store.save_snapshot(10, parts, pace=Pace())
    assert n_rows(store) == 6 + 1 + 1 + 2
    assert list(store.read_snapshots()) == [(10, parts)]


def test_a_snapshot_that_is_not_finished_does_not_count_and_is_dropped(store, monkeypatch):
    store.save_snapshot(10, {"one": BODY})
    with monkeypatch.context() as patched:
        patched.setattr(snapshot_rows, "_last_row", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.save_snapshot(20, {"one": BODY})
    assert store.last_snapshot_seq() == 10
    assert [seq for seq, _ in store.read_snapshots()] == [10]
    for seq in (30, 40):
        store.save_snapshot(seq, {"one": BODY})
    assert [seq for seq, _ in store.read_snapshots()] == [40, 30]
    assert n_rows(store) == 12


def test_others_write_between_the_pieces(store, store_url, monkeypatch):
    other = Store(store_url, 1.0)
    insert, written = snapshot_rows._insert, []

    def insert_and_let_others_write(*args):
        insert(*args)
        written.append(1)

    monkeypatch.setattr(snapshot_rows, "_insert", insert_and_let_others_write)
    monkeypatch.setattr(Pace, "pause", lambda *_: other.probe())
    store.save_snapshot(10, {"one": BODY}, pace=Pace())
    assert len(written) == 6
    assert list(store.read_snapshots()) == [(10, {"one": BODY})]
    other.close()


def test_others_write_between_pieces_that_are_deleted(store, store_url, monkeypatch):
    other, pauses = Store(store_url, 1.0), []

    def let_others_write(*_):
        other.probe()
        pauses.append(n_rows(store))

    monkeypatch.setattr(Pace, "pause", let_others_write)
    for seq in (10, 20):
        store.save_snapshot(seq, {"one": BODY})
    store.save_snapshot(30, {"one": BODY}, pace=Pace())
    assert pauses == [13, 14, 15, 16, 17, 17, 16, 15, 14, 13, 12]
    other.close()


def test_a_damaged_piece_is_noticed(store, caplog):
    store.save_snapshot(10, {"one": BODY})
    with store.transaction() as connection:
        connection.execute(text("DELETE FROM snapshots WHERE part LIKE 'one#%#000002'"))
    assert list(store.read_snapshots()) == []
    assert caplog.messages == ["the snapshot at entry 10 is damaged; reading more of the log instead"]


def test_pieces_of_two_workers_are_not_mixed(store):
    """Both save the state after one entry, as different bytes; one was stopped before it had finished."""
    with store.transaction() as connection:
        for row in snapshot_rows._pieces(10, "one", BODY[::-1]):
            snapshot_rows._insert(store, connection, row)
    store.save_snapshot(10, {"one": BODY})
    assert list(store.read_snapshots()) == [(10, {"one": BODY})]
