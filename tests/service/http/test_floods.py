"""Floods: from one address, with wrong keys, of logins and of readers. Others and health checks are answered."""

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress

import httpx
import pytest

from fairbandits.service.auth.key_store import MAX_KEY_SESSIONS, read_keys
from fairbandits.service.demo import demo_config
from fairbandits.service.log.store import open_store
from fairbandits.service.page.live_feed import READ_SECONDS
from tests.polling import wait_until
from tests.service.key_issuer import KeyIssuer, bearer
from tests.service.small import PLAIN, USER, small_config

HALF = b"GET /v1/arms HTTP/1.1\r\nHost: local"
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
# Two addresses of this machine.
ONE, OTHER = "127.0.0.1", "127.0.0.2"


def connect(server, source):
    url = httpx.URL(server.url)
    return socket.create_connection((url.host, url.port), timeout=10, source_address=(source, 0))


@contextmanager
def flood(server, n, source, sent=HALF):
    """Hold connections on which requests are half sent."""
    held = [connect(server, source) for _ in range(n)]
    try:
        for talk in held:
            send(talk, sent)
        yield held
    finally:
        for talk in held:
            talk.close()


def send(talk, content):
    """Send bytes, unless the server has closed the connection already."""
    with suppress(BrokenPipeError, ConnectionResetError):
        talk.sendall(content)


def status(server, source, request=HEALTH):
    """The status that an address gets for a request, 0 if the connection is closed."""
    with connect(server, source) as talk:
        send(talk, request)
        try:
            answer = talk.recv(100)
        except ConnectionResetError:
            answer = b""
        return int(answer.split()[1]) if answer else 0


def ask_arms(token):
    return b"GET /v1/arms HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n\r\n" % token.encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return {"url": f"sqlite:///{tmp_path_factory.mktemp('flooded')}/log.db"}


@pytest.fixture(scope="module")
def issuer(place):
    return KeyIssuer(small_config(store=place))


@pytest.fixture(scope="module")
def token(issuer):
    return issuer.make("decide", "read")[1]


@pytest.fixture(scope="module")
def server(serving_module, place, token):
    limits = {"connections": 30, "address_connections": 10, "head_seconds": 2.0, "request_seconds": 3.0}
    limits["guest_burst"] = 5.0
    return serving_module(**PLAIN, store=place, limits=limits)


@pytest.fixture(scope="module")
def proxied(serving_module, place, token):
    limits = {"connections": 30, "address_connections": 3, "head_seconds": 2.0}
    return serving_module(**PLAIN, store=place, limits=limits, server={"proxies": [f"{ONE}/32"]})


# -- connections -----------------------------------------------------------------------------------------


def test_half_sent_requests_of_one_address_lock_out_nobody_else(server, token):
    with flood(server, 40, ONE):
        assert status(server, OTHER, ask_arms(token)) == 200
        assert status(server, OTHER) == 200
        # Health checks of the address itself are answered as soon as one of its own requests was refused.
        wait_until(lambda: status(server, ONE) == 200)
    wait_until(lambda: status(server, ONE, ask_arms(token)) == 200)


def test_half_sent_requests_of_many_addresses_leave_health_checks(server, token):
    held = [connect(server, f"127.0.1.{number + 1}") for number in range(30)]
    try:
        for talk in held:
            talk.sendall(HALF)
        wait_until(lambda: status(server, OTHER, ask_arms(token)) == 503)
        assert status(server, OTHER) == 200
    finally:
        for talk in held:
            talk.close()


def test_an_address_is_told_why_it_is_refused(server):
    with flood(server, 10, ONE):
        answers = []
        for _ in range(5):
            with connect(server, ONE) as talk:
                send(talk, HALF + b"host\r\n\r\n")
                answers.append(talk.recv(10_000))
        assert any(b"limits.address_connections" in answer for answer in answers)


def test_only_few_requests_of_an_address_may_arrive_slowly(server):
    with flood(server, 9, ONE) as held:
        answers = [talk.recv(10_000) for talk in held]
    assert all(b"408" in answer for answer in answers)
    assert sum(b"arriving slowly" in answer for answer in answers) == 9 - 10 // 5


def forwarded(address, token):
    return ask_arms(token)[:-2] + b"X-Forwarded-For: %b\r\n\r\n" % address.encode()


def test_connections_of_a_proxy_count_for_the_addresses_behind_it(proxied, token):
    # Requests whose bodies are awaited belong to the address that the proxy names.
    head = b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Authorization: Bearer %b\r\nContent-Length: 99\r\n" % token.encode()
    with flood(proxied, 3, ONE, head + b"X-Forwarded-For: 192.0.2.7\r\n\r\n"):
        wait_until(lambda: status(proxied, ONE, forwarded("192.0.2.7", token)) == 503)
        assert status(proxied, ONE, forwarded("192.0.2.8", token)) == 200
    # One connection of the proxy may serve many addresses, one after the other.
    with proxied.client(headers=bearer(token)) as client:
        for number in range(10):
            answer = client.get("/v1/arms", headers={"X-Forwarded-For": f"192.0.2.{number}"})
            assert answer.status_code == 200


# -- health checks and wrong keys ------------------------------------------------------------------------


def test_wrong_keys_do_not_stop_health_checks(server, token):
    with server.client() as client:
        wrong = bearer(token[:-4] + "0000")
        assert client.get("/v1/arms", headers=wrong).status_code == 401
        # A text that is no key is refused at once, so that requests come faster than they may.
        statuses = {client.get("/v1/arms", headers=bearer("x")).status_code for _ in range(60)}
        assert statuses == {401, 429}
        for _ in range(50):
            assert client.get("/health").status_code == 200
            assert client.get("/ready", headers=wrong).json() == {"ready": True}
        unknown = bearer(f"fb_{'0' * 16}_{'0' * 64}")
        assert client.get("/ready", headers=unknown).status_code == 200


def test_health_checks_can_be_asked_for_their_head(server):
    with server.client() as client:
        for path in ("/health", "/ready"):
            head, full = client.head(path), client.get(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(full.content))
        assert client.post("/health").headers["allow"] == "GET, HEAD"
        assert client.head("/v1/arms").status_code == 405


# -- requests in a row -----------------------------------------------------------------------------------


def converse(server, *parts):
    """Send bytes; return all that is received until the server closes the connection."""
    with connect(server, OTHER) as talk:
        for part in parts:
            talk.sendall(part)
        came = b""
        while part := talk.recv(65536):
            came += part
        return came


def test_requests_before_an_invalid_one_are_answered(server, token):
    body = json.dumps(USER).encode()
    decide = b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    decide += b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b" % (token.encode(), len(body), body)
    for last, refused in (
        (b"not HTTP\r\n\r\n", b"HTTP/1.1 400 "),
        (HALF, b"HTTP/1.1 408 "),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n", b"HTTP/1.1 431 "),
        (decide[:-5], b"HTTP/1.1 408 "),
    ):
        came = converse(server, decide * 3 + HEALTH + last)
        assert came.count(b'"decision":') == 3
        assert came.count(b'{"alive":true}') == 1
        assert came.count(refused) == 1
        assert came.rindex(b"HTTP/1.1 ") == came.index(refused), "after all others"


def test_many_requests_in_a_row_are_not_taken_for_a_long_head(server):
    filler = b"X-Filler: " + b"x" * 2000 + b"\r\n"
    request = HEALTH[:-2] + filler + b"\r\n"
    came = converse(server, request * 40 + request[:-10], request[-10:], HALF)
    assert came.count(b'{"alive":true}') == 41
    assert b" 431 " not in came


# -- logins ----------------------------------------------------------------------------------------------


def test_logins_and_sessions_are_limited(server, issuer, place):
    key_id, token = issuer.make("read")
    with httpx.Client(base_url=server.url, timeout=60) as client:
        statuses = []
        for _ in range(200):
            answer = client.post("/login", data={"key": token})
            statuses.append(answer.status_code)
            if statuses[-1] == 429 and "too many logins" in answer.text:
                break
        else:
            raise AssertionError(f"never refused: {statuses}")
    assert int(answer.headers["retry-after"]) >= 1
    with open_store(small_config(store=place)) as store:
        assert sum(key.parent == key_id for key in read_keys(store)) <= MAX_KEY_SESSIONS


class Reader(threading.Thread):
    """Asks for something again and again."""

    def __init__(self, server, path, token):
        super().__init__()
        self._server, self._path, self._headers = server, path, bearer(token)
        self.is_going = True
        self.read = 0

    def run(self):
        with self._server.client(headers=self._headers) as client:
            while self.is_going:
                status = client.get(self._path).status_code
                assert status in (200, 429)
                self.read += status == 200


@pytest.mark.parametrize("path", ["/v1/fairness", "/metrics"])
def test_the_rate_of_answers_to_readers_is_limited(serving, tmp_path, students, path):
    """`benchmarks/hostile.py` measures how much readers slow decisions down."""
    place = {"url": f"sqlite:///{tmp_path}/log.db"}
    token = KeyIssuer(demo_config(store=place)).make("decide", "read")[1]
    server = serving(store=place)
    readers = [Reader(server, path, token) for _ in range(8)]
    with server.client(headers=bearer(token)) as client:
        began = time.monotonic()
        for reader in readers:
            reader.start()
        try:
            wait_until(lambda: all(reader.read >= 10 for reader in readers))
            for n in range(50):
                assert client.post("/v1/decisions", json=students.request(n)).status_code == 200
        finally:
            for reader in readers:
                reader.is_going = False
            for reader in readers:
                reader.join()
        seconds = time.monotonic() - began
    assert sum(reader.read for reader in readers) <= seconds / READ_SECONDS + 1
