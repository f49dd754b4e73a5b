"""Limits of real servers: what exceeds them is refused with a problem, and nothing changes."""

import json
import re
import socket
import time

import httpx
import pytest

from tests.polling import wait_until
from tests.service.small import PLAIN, USER

JSON = {"Content-Type": "application/json"}
LIMITS = {
    "body": 4096,
    "batch": 5,
    "arms": 6,
    "head_seconds": 0.4,
    "request_seconds": 0.8,
    "connections": 20,
}


@pytest.fixture(scope="module")
def server(serving_module):
    """One small service with small limits."""
    return serving_module(**PLAIN, limits=LIMITS)


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        yield client


@pytest.fixture(scope="module", autouse=True)
def unchanged(server):
    """Refused requests change neither the state nor the log."""
    before = httpx.get(f"{server.url}/ready").json()
    yield
    assert httpx.get(f"{server.url}/ready").json() == before


def refused(answer, status, words):
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["status"]) == (status, status), answer.text
    assert re.search(words, answer.text), answer.text


def speak(server, *parts, pause=0.0):
    """Send bytes as they are, with pauses; return everything that is received until the connection closes."""
    url = httpx.URL(server.url)
    with socket.create_connection((url.host, url.port), timeout=10) as talk:
        try:
            for part in parts:
                talk.sendall(part)
                time.sleep(pause)  # a slow client is what is tested
        except (BrokenPipeError, ConnectionResetError):
            pass  # it hung up already
        return heard(talk)


def heard(talk):
    came = b""
    try:
        while part := talk.recv(65536):
            came += part
    except ConnectionResetError:
        pass
    return came


def problem_in(came):
    head, _, body = came.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    problem = json.loads(body)
    assert head.startswith(b"HTTP/1.1 %d " % problem["status"])
    return problem


# -- sizes -----------------------------------------------------------------------------------------------


def test_large_bodies(client):
    for path in ("/v1/decisions", "/v1/decisions/batch", "/v1/rewards", "/v1/arms"):
        refused(client.post(path, content=b" " * 4097, headers=JSON), 413, "at most 4,096 bytes")
    refused(client.put("/v1/arms/chess", content=b" " * 4097, headers=JSON), 413, "limits.body")
    refused(client.post("/login", content=b"key=" + b"x" * 4097, headers=JSON), 415, "urlencoded")


def test_a_large_body_is_refused_before_it_arrives(server):
    head = b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert problem_in(speak(server, head + b"Content-Length: 9999999999\r\n\r\n"))["status"] == 413
    expecting = head + b"Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n"
    assert problem_in(speak(server, expecting))["status"] == 413


def test_chunked_and_compressed_bodies(client):
    refused(client.post("/v1/decisions", content=iter([b"{}"]), headers=JSON), 411, "Content-Length")
    packed = {"Content-Encoding": "gzip", **JSON}
    refused(client.post("/v1/decisions", content=b"x", headers=packed), 415, "not compressed")


def test_batches(client):
    refused(client.post("/v1/decisions/batch", json={"decisions": [USER] * 6}), 422, "at most 5 items")
    rewards = [{"decision": f"{number:032x}", "reward": 0.5} for number in range(6)]
    refused(client.post("/v1/rewards", json=rewards), 422, "at most 5 items")
    arms = [{"arm": f"x{number}", "features": {"hours": 1}} for number in range(6)]
    refused(client.post("/v1/arms", json=arms), 422, "at most 5 items")
    refused(client.post("/v1/decisions", json=USER | {"arms": ["a"] * 7}), 422, "at most 6 items")


def test_a_full_catalogue(client):
    arms = [{"arm": f"x{number}", "features": {"hours": 1}} for number in range(4)]
    refused(client.post("/v1/arms", json=arms), 409, "at most 6 arms .limits.arms.; retire some")


# -- not HTTP, or too slow -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/decisions HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
    ],
)
def test_bytes_that_are_not_http(server, sent):
    assert problem_in(speak(server, sent))["status"] == 400


def test_a_head_that_does_not_end(server):
    line = b"X-Filler: " + b"x" * 1000 + b"\r\n"
    problem = problem_in(speak(server, b"GET / HTTP/1.1\r\n", *[line] * 40, pause=0.001))
    assert problem["status"] == 431
    at_once = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + line * 40 + b"\r\n"
    assert problem_in(speak(server, at_once))["status"] == 431
    long_path = b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n"
    assert problem_in(speak(server, long_path))["status"] == 431


@pytest.mark.parametrize("first", [b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_arrive(server, first):
    began = time.monotonic()
    assert problem_in(speak(server, first))["status"] == 408
    assert time.monotonic() - began < 1.5


def test_a_head_that_trickles(server):
    parts = [b"GET /health HTTP/1.1\r\n", *[b"X: y\r\n"] * 12]
    assert problem_in(speak(server, *parts, pause=0.1))["status"] == 408


def test_a_body_that_trickles(server):
    head = b"POST /v1/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 99\r\n\r\n"
    began = time.monotonic()
    came = speak(server, head, *[b" "] * 15, pause=0.1)
    assert problem_in(came)["status"] == 408
    assert time.monotonic() - began < 2.5


def test_too_many_connections(server):
    url = httpx.URL(server.url)
    held = [socket.create_connection((url.host, url.port), timeout=10) for _ in range(25)]
    try:
        answers = [heard(talk) for talk in held]
    finally:
        for talk in held:
            talk.close()
    statuses = [problem_in(answer)["status"] for answer in answers]
    assert statuses.count(503) >= 5
    assert set(statuses) == {503, 408}
    assert httpx.get(f"{server.url}/health").status_code == 200


# -- rates -----------------------------------------------------------------------------------------------


def test_too_many_requests(serving):
    server = serving(**PLAIN, limits={"rate": 5.0, "burst": 10.0})
    with server.client() as client:
        answers = [client.get("/v1/arms") for _ in range(30)]
        late = next(answer for answer in answers if answer.status_code != 200)
        refused(late, 429, "limits.rate")
        assert late.headers["retry-after"] == "1"
        assert 8 <= sum(answer.status_code == 200 for answer in answers) <= 20
        wait_until(lambda: client.get("/v1/arms").status_code == 200, interval=0.3)
        # A large body counts as many requests; the limit lets it in once there is a token again.
        asked = USER | {"arms": ["python"] * 3000}
        wait_until(lambda: client.post("/v1/decisions", json=asked).status_code != 429, interval=0.3)
        blocked = client.get("/v1/arms")
        refused(blocked, 429, "Too many requests")
        assert int(blocked.headers["retry-after"]) >= 3
