"""A PostgreSQL that hangs: requests are answered in time, readiness is honest, nothing acknowledged is lost."""

import json
import os
import signal
import time
from contextlib import contextmanager
from http.client import HTTPConnection

import httpx
import psycopg
import pytest

from fairbandits.service.config import load_config
from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.store import Store
from tests.polling import wait_until
from tests.service.clients import Client, Replay

pytestmark = pytest.mark.slow

#: Seconds in which every request must be answered, and in which a server must stop.
ANSWERED, STOPPED = 5.0, 10.0


@pytest.fixture
def url(postgres):
    return postgres.new_database()


@contextmanager
def locked_tables(url, _postgres):
    """Another client holds a lock on the tables that are written."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE events, facts IN EXCLUSIVE MODE")
        yield
        connection.rollback()


@contextmanager
def stopped_backends(url, _postgres):
    """The processes that serve the connections do not run."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        ).fetchall()
    with stopped(pid for (pid,) in found):
        yield


@contextmanager
def stopped_server(url, postgres):
    """No process of PostgreSQL runs, and the kernel accepts connections for it."""
    with stopped_backends(url, postgres), stopped([postgres.pid]):
        yield


@contextmanager
def stopped(pids):
    pids = list(pids)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def no_server(_url, postgres):
    """Connections are refused."""
    postgres.stop()
    try:
        yield
    finally:
        postgres.start()


def timed(server, path, body=None):
    """Send a request; return the status and the seconds until the response."""
    # Not httpx, which takes longer for a request than the server does.
    http = HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    began = time.monotonic()
    if body is None:
        http.request("GET", path)
    else:
        http.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = http.getresponse()
    answer.read()
    http.close()
    return answer.status, time.monotonic() - began


def is_ready(server):
    return timed(server, "/ready")[0] == 200


def start_clients(server, students):
    """Clients that write all the time."""
    clients = [Client(number, students, seed=number) for number in range(3)]
    for client in clients:
        client.follow(server.url)
    wait_until(lambda: all(client.acknowledged > 20 for client in clients))
    return clients


def stop_clients(clients, server):
    """Let them go on for a while, then compare the log and the state with what was acknowledged."""
    wait_until(lambda: is_ready(server))
    more = sum(client.acknowledged for client in clients) + 50
    wait_until(lambda: sum(client.acknowledged for client in clients) >= more)
    for client in clients:
        client.stop()
    assert max(client.slowest for client in clients) < ANSWERED
    replay = Replay(load_config(server.arguments[0]))
    replay.check(clients)
    state = wait_until(
        lambda: (
            (found := httpx.get(f"{server.url}/ready", timeout=30).json())["seq"] == replay.recommender.seq
            and found
        )
    )
    assert state["checksum"] == replay.checksum()
    replay.close()


@pytest.mark.parametrize("fault", [locked_tables, stopped_server, no_server])
def test_requests_are_answered_while_postgresql_hangs(serving, students, postgres, url, fault):
    server = serving(store={"url": url})
    clients = start_clients(server, students)
    with fault(url, postgres):
        began = time.monotonic()
        wait_until(lambda: not is_ready(server))
        assert time.monotonic() - began < ANSWERED
        for number in range(3):
            status, seconds = timed(server, "/v1/decisions", students.request(number))
            assert (status, seconds < ANSWERED) == (503, True), (status, seconds)
            status, seconds = timed(server, "/health")
            assert (status, seconds < 2.0) == (200, True), (status, seconds)
            assert not is_ready(server)
    stop_clients(clients, server)
    assert "the store is available again" in server.said()


def test_an_idle_server_notices_that_postgresql_hangs(serving, postgres, url):
    server = serving(store={"url": url})
    with locked_tables(url, postgres):
        began = time.monotonic()
        wait_until(lambda: not is_ready(server))
        assert time.monotonic() - began < ANSWERED
    wait_until(lambda: is_ready(server), seconds=10)


def test_a_connection_that_hangs_is_given_up(serving, students, postgres, url):
    """Others may work meanwhile, unless the process that hangs holds a lock."""
    server = serving(store={"url": url})
    clients = start_clients(server, students)
    with stopped_backends(url, postgres):
        for number in range(10):
            status, seconds = timed(server, "/v1/decisions", students.request(number))
            assert (status in (200, 503), seconds < ANSWERED) == (True, True), (status, seconds)
    stop_clients(clients, server)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("fault", [locked_tables, stopped_server])
def test_a_server_can_be_stopped_while_postgresql_hangs(serving, students, postgres, url, fault, workers):
    server = serving("--workers", workers, store={"url": url})
    clients = start_clients(server, students)
    with fault(url, postgres):
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)
        assert time.monotonic() - began < STOPPED
        for client in clients:
            client.stop()
    replay = Replay(load_config(server.arguments[0]))
    replay.check(clients)
    replay.close()


def test_a_server_that_freezes_within_a_transaction_does_not_stop_the_others(serving, students, url):
    one, two = serving(store={"url": url}), serving(store={"url": url})
    client = Client(0, students, seed=0)
    client.follow(one.url)
    wait_until(lambda: client.acknowledged > 50)
    with stopped([one.process.pid]):
        answers = [timed(two, "/v1/decisions", students.request(number)) for number in range(20)]
        assert max(seconds for _, seconds in answers) < ANSWERED
        wait_until(lambda: timed(two, "/v1/decisions", students.request(0))[0] == 200, seconds=10)
    client.stop()


def test_a_statement_that_is_not_answered_fails_in_time(postgres, url):
    store = Store(url, 0.5)
    store.open("columns")
    began = time.monotonic()
    with (
        stopped_backends(url, postgres),
        pytest.raises(StoreDownError, match=r"no answer within 0\.5 s \(store\.timeout_seconds\)"),
    ):
        store.last_seq()
    assert time.monotonic() - began < 2.0
    assert store.last_seq() == 0, "with another connection"
    store.close()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("lock_timeout", "2500ms"),
        ("statement_timeout", "2500ms"),
        ("idle_in_transaction_session_timeout", "2500ms"),
        ("synchronous_commit", "on"),
    ],
)
def test_the_server_keeps_the_deadlines_as_well(url, setting, value):
    store = Store(url, 2.5)
    with store.connection() as connection:
        assert connection.exec_driver_sql(f"SHOW {setting}").scalar() == value
    store.close()
