"""Without keys: open to this machine, not to a proxy on it, unless the operator says otherwise."""

import os
import signal
import socket
import stat
import subprocess
import sys

import httpx
import pytest

from fairbandits.service.config import load_config
from tests.commands import run_command
from tests.polling import DEADLINE, wait_until
from tests.service.conftest import Server, write_config
from tests.service.key_issuer import KeyIssuer, bearer

FORWARDING = {
    "Forwarded": "for=192.0.2.7",
    "X-Forwarded-For": "192.0.2.7",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "example.org",
    "Via": "1.1 proxy",
    "X-Real-IP": "192.0.2.7",
    "CF-Connecting-IP": "192.0.2.7",
}


@pytest.fixture(scope="module")
def server(serving_module):
    return serving_module()


@pytest.mark.parametrize("name", FORWARDING)
def test_forwarded_requests_are_refused(client, name):
    answer = client.get("/v1/arms", headers={name: FORWARDING[name]})
    assert answer.status_code == 403
    assert "the request came through a proxy, or server.proxies names one" in answer.json()["detail"]
    assert client.get("/v1/arms").status_code == 200
    # Health checks are answered, without details.
    assert client.get("/ready", headers={name: FORWARDING[name]}).json() == {"ready": True}
    assert "seq" in client.get("/ready").json()


def test_requests_of_proxies_that_add_no_header(server):
    """Many proxies speak HTTP/1.0 by default, and name the server as they were told to."""
    url = httpx.URL(server.url)
    with socket.create_connection((url.host, url.port), timeout=10) as talk:
        talk.sendall(b"GET /v1/arms HTTP/1.0\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % url.port)
        assert talk.recv(100).startswith(b"HTTP/1.1 403 ")


def test_without_a_key_every_request_may_come_from_a_configured_proxy(serving, tmp_path):
    """nginx from 1.29.7 on speaks HTTP/1.1 by default, and adds no header by which it could be recognised."""
    server = serving(server={"proxies": ["127.0.0.1"]}, store={"url": f"sqlite:///{tmp_path}/log.db"})
    with server.client() as client:
        answer = client.get("/v1/arms")
        assert answer.status_code == 403
        assert "server.proxies names one" in answer.json()["detail"]
        assert client.get("/ready").json() == {"ready": True}, "without details"
        _, token = KeyIssuer(load_config(server.arguments[0])).make("read")
        wait_until(lambda: client.get("/v1/arms", headers=bearer(token)).status_code == 200)


def test_forwarded_requests_are_allowed_explicitly(tmp_path):
    config = write_config(tmp_path, server={"proxies": ["127.0.0.1"]})
    server = Server(tmp_path, str(config), "--insecure").start().wait()
    try:
        with server.client() as client:
            assert client.get("/v1/arms", headers=FORWARDING).status_code == 200
            assert client.get("/v1/arms", headers={"Host": "example.org"}).status_code == 200
    finally:
        server.stop()


# -- a local socket --------------------------------------------------------------------------------------


def serve_locally(folder, path, *arguments):
    command = [sys.executable, "-m", "fairbandits", "serve", str(write_config(folder)), "--uds", str(path)]
    return subprocess.Popen(
        [*command, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ask_locally(path, target, **headers):
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://service") as client:
        return client.get(target, headers=headers, timeout=DEADLINE)


def is_ready(path):
    try:
        return ask_locally(path, "/ready").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_local_socket(tmp_path, workers):
    path = tmp_path / "service.sock"
    with socket.socket(socket.AF_UNIX) as abandoned:
        abandoned.bind(str(path))  # by a server that was killed
    process = serve_locally(tmp_path, path, "--workers", workers)
    try:
        assert process.stdout.readline() == f"listening on unix:{path}\n"
        wait_until(lambda: is_ready(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert ask_locally(path, "/v1/arms").status_code == 200
        # Who made the socket accessible to a proxy has decided so.
        assert ask_locally(path, "/v1/arms", **FORWARDING).status_code == 200
        second = run_command("serve", write_config(tmp_path), "--uds", path, folder=tmp_path)
        assert second.stderr.splitlines()[-1].startswith("error: server.socket must be")
        assert second.returncode == 2
        assert ask_locally(path, "/health").status_code == 200
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=DEADLINE)
