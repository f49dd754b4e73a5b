"""Log lines: time and level, text or JSON, and a limit for each source."""

import json
import logging
import re
import socket
import subprocess
import sys

import httpx
import pytest

from fairbandits.service.log_lines import SourceLimit
from tests.polling import wait_until
from tests.service.conftest import Server, write_config

LINES = """
import logging
from fairbandits.service.log_lines import configure_log_lines
configure_log_lines({!r})
log = logging.getLogger("a.b")
log.warning("two\\nlines of %s", "text")
try:
    raise ValueError("secret")
except ValueError:
    log.exception("failed")
"""


def lines(log_format):
    done = subprocess.run(
        [sys.executable, "-c", LINES.format(log_format)], capture_output=True, text=True, check=True
    )
    return done.stderr


def test_lines_of_text_have_time_level_and_logger():
    said = lines("text")
    first, second, third, *rest = said.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARNING a\.b: two", first)
    assert second == "    lines of text"
    assert third.endswith("Z ERROR a.b: failed: ValueError")
    assert all(line.startswith("    ") for line in rest)
    assert ": secret" not in said


def test_lines_of_json():
    first, second = map(json.loads, lines("json").splitlines())
    assert set(first) == {"time", "level", "logger", "process", "message"}
    assert (first["level"], first["logger"], first["message"]) == ("WARNING", "a.b", "two\nlines of text")
    assert second["message"].startswith("failed: ValueError")


def record(message="said", source=None, line=1):
    made = logging.LogRecord("a.b", logging.WARNING, "file.py", line, "%s", (message,), None)
    if source is not None:
        made.source = source
    return made


def test_sources_are_limited_by_themselves():
    now = [0.0]
    limit = SourceLimit(lambda: now[0])
    assert [limit.filter(record(source="192.0.2.7")) for _ in range(25)] == [True] * 20 + [False] * 5
    assert limit.filter(record(source="192.0.2.8"))
    assert limit.filter(record(source=""))
    now[0] = 60.0
    later = record(source="192.0.2.7")
    assert limit.filter(later)
    assert later.getMessage() == "said (5 earlier lines from this source were suppressed)"
    # Without an address, the line of code is the source.
    assert sum(limit.filter(record(line=2)) for _ in range(100)) == 20
    assert limit.filter(record(line=3))


def test_memory_is_bounded():
    limit = SourceLimit(lambda: 0.0)
    for number in range(3000):
        for _ in range(21):
            limit.filter(record(source=str(number)))
    assert len(limit._left_out) <= 1000


@pytest.mark.parametrize("workers", ["1", "2"])
def test_one_address_cannot_fill_the_log_of_a_server(tmp_path, workers):
    server = (
        Server(tmp_path, str(write_config(tmp_path)), "--log-format", "json", "--workers", workers).start().wait()
    )
    try:
        url = httpx.URL(server.url)
        for _ in range(200):
            with socket.create_connection((url.host, url.port), timeout=10) as talk:
                talk.sendall(b"not HTTP\r\n\r\n")
                assert talk.recv(100).startswith(b"HTTP/1.1 400 ")
        wait_until(lambda: "Invalid HTTP request" in server.said())
    finally:
        server.stop()
    said = [json.loads(line) for line in server.said().splitlines()]
    invalid = [line for line in said if "Invalid HTTP request" in line["message"]]
    assert 20 <= len(invalid) <= 25 * int(workers)
