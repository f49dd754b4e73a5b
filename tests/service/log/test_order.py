"""The order of entries in PostgreSQL, where writers do not wait for each other."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass

import httpx
import pytest
from sqlalchemy import text

from fairbandits.service.log import reading
from fairbandits.service.log.appender import AppendEvents, AppendRequest, Settlement, append
from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.events import Rewarded
from fairbandits.service.log.insertion import NewEvent, insert_entries
from fairbandits.service.log.requests import IdempotencyKey, RefusalReason
from fairbandits.service.log.store import Store
from tests.polling import DEADLINE, wait_until
from tests.service.logs import decided

OPEN_TRANSACTION = """
import sys, time
from fairbandits.service.log.store import Store
with Store(sys.argv[1], 2.0).transaction() as connection:
    connection.exec_driver_sql("INSERT INTO facts VALUES ('frozen', '1')")
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def url(postgres):
    url = postgres.new_database()
    store = Store(url)
    store.open("columns")
    store.close()
    return url


@pytest.fixture
def stores(url):
    stores = [Store(url) for _ in range(3)]
    yield stores
    for store in stores:
        store.close()


def appending(*numbers, **how):
    return AppendEvents(events=[decided(number) for number in numbers], reply=b"done", **how)


def ids(entries):
    return [entry.event.id for entry in entries]


def test_entries_are_read_once_every_earlier_transaction_has_ended(stores):
    one, two, reader = stores
    with one.transaction() as connection:
        connection.execute(text("INSERT INTO facts VALUES ('open', '1')"))  # it has an id now
        # The other one is acknowledged, and no reader sees what might not be the next entry.
        appended = append(two, [appending(1)], 0)
        assert appended.outcomes == [b"done"]
        assert appended.entries == reader.read(0) == []
        assert two.last_own == reader.last_seq() > 0
    assert ids(reader.read(0)) == ids(two.read(0)) == [decided(1).id]


def test_a_transaction_that_appends_earlier_and_commits_later_comes_first(stores):
    one, two, reader = stores
    with one.transaction() as connection:
        first = connection.exec_driver_sql("SELECT pg_current_xact_id()::text::bigint").scalar()
        append(two, [appending(2)], 0)
        assert reader.read(0) == []
        [inserted] = _insert(one, connection, decided(1))
        assert inserted >> 20 == first
    assert ids(reader.read(0)) == [decided(1).id, decided(2).id]


def _insert(store, connection, event):
    new = [NewEvent(event.KIND, event.key, event.to_json())]
    return [insert_entries(connection, store.head, 0, 1.0, new, []).base]


def test_a_reward_comes_after_its_decision(stores):
    one, two, reader = stores
    append(one, [appending(1)], 0)
    append(two, [AppendEvents(events=[Rewarded(decided(1).id, 5.0, 0.5)])], 0)
    assert [entry.event.KIND for entry in reader.read(0)] == ["decided", "rewarded"]
    assert reader.read(0)[1].decided == decided(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Racing(AppendRequest):
    """A request of which another writer appends the same event after it was settled for the first time."""

    other: Store
    seen: list

    def settle(self, found):
        self.seen.append(dict(found))
        if len(self.seen) == 1:
            append(self.other, [appending(1)], 0)
        return Settlement([] if found else [decided(1)], b"again" if found else b"new")


def test_of_two_writers_of_one_key_the_second_settles_again(stores):
    one, two, reader = stores
    request = Racing(depends_on=[decided(1).key], other=two, seen=[])
    assert append(one, [request], 0).outcomes == [b"again"]
    assert request.seen == [{}, {decided(1).key: decided(1)}]
    assert len(reader.read(0)) == 1


def test_one_idempotency_key_at_many_writers_has_one_effect(url):
    key = IdempotencyKey("key", "digest")
    outcomes, start = [], threading.Barrier(4)

    def write(number):
        store = Store(url)
        start.wait()
        request = AppendEvents(events=[decided(number)], reply=b"%d" % number, idempotency=key)
        outcomes.extend(append(store, [request], 0).outcomes)
        store.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = Store(url)
    [entry] = reader.read(0)
    reader.close()
    assert len(outcomes) == 4
    assert {decided(int(reply)).id for reply in outcomes} == {entry.event.id}


def test_after_a_failure_another_chain_begins(stores):
    one, _, reader = stores
    append(one, [appending(1)], 0)
    writer = one.head.writer
    with pytest.raises(StoreDownError), one.appending() as connection:
        connection.exec_driver_sql("SELECT no_such_function()")
    append(one, [appending(2)], 0)
    assert [(entry.writer == writer, entry.n) for entry in reader.read(0)] == [(True, 1), (False, 1)]


def test_a_log_from_a_cluster_with_higher_transaction_ids(url, stores):
    one, two, reader = stores
    append(one, [appending(1)], 0)
    with one.transaction() as connection:
        connection.exec_driver_sql("UPDATE events SET seq = seq + (1::bigint << 45)")
    two.open("columns")
    append(two, [appending(2)], 0)
    assert ids(reader.read(0)) == [decided(1).id, decided(2).id]
    assert reader.read(0)[0].seq >> 45 == 1
    two.open("columns")
    assert ids(reader.read(0)) == [decided(1).id, decided(2).id]


def test_a_worker_that_is_stopped_within_a_transaction_holds_nobody_up(serving, students, postgres):
    """It holds a lock and a transaction id. Others decide and acknowledge, and learn when its time is up."""
    url = postgres.new_database()
    server = serving(store={"url": url, "timeout_seconds": 2})
    command = [sys.executable, "-c", OPEN_TRANSACTION, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as frozen:
        try:
            assert frozen.stdout.readline() == "open\n"
            os.kill(frozen.pid, signal.SIGSTOP)
            with httpx.Client(base_url=server.url, timeout=DEADLINE) as client:
                made = [client.post("/v1/decisions", json=students.request(n)).json() for n in range(20)]
                reward = {"decision": made[0]["decision"], "reward": 0.5}
                assert client.post("/v1/rewards", json=reward).status_code == 200
                assert client.get("/ready").status_code == 200
                store = Store(url)
                last = store.last_seq()
                store.close()
                # PostgreSQL ends the transaction of the stopped process after its time-out.
                wait_until(lambda: client.get("/ready").json()["seq"] == last)
        finally:
            os.kill(frozen.pid, signal.SIGCONT)
            frozen.kill()


def test_no_lock_is_held_while_deciding(stores, monkeypatch):
    """One writer's batch is held between its reading and its writing; the other one appends meanwhile."""
    one, two, reader = stores
    reached, release = threading.Event(), threading.Event()
    find = reading.find

    def held(connection, keys):
        found = find(connection, keys)
        reached.set()
        assert release.wait(DEADLINE)
        return found

    monkeypatch.setattr("fairbandits.service.log.appender.find", held)
    thread = threading.Thread(target=append, args=(one, [appending(1)], 0))
    thread.start()
    assert reached.wait(DEADLINE)
    monkeypatch.undo()
    assert append(two, [appending(2)], 0).outcomes == [b"done"]
    assert ids(reader.read(0)) == [decided(2).id], "and it is settled"
    release.set()
    thread.join()
    assert ids(reader.read(0)) == [decided(2).id, decided(1).id]


def test_conflicts_are_refused_not_repeated(stores):
    one, two, _ = stores
    append(one, [appending(1)], 0)
    [refused] = append(two, [appending(1, depends_on=[decided(1).key])], 0).outcomes
    assert refused.reason is RefusalReason.CONFLICT
    with pytest.raises(StoreDownError, match="the keys of the events are already in use"):
        append(two, [appending(1)], 0)
