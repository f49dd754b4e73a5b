"""The path of a request: the files that the documents list are those that a request enters, in that order."""

import asyncio
import json
import re
import sys
import threading
from pathlib import Path

import pytest

import fairbandits.service
from fairbandits.service import engine as engine_module
from fairbandits.service.auth import key_cache
from fairbandits.service.http.app import create_app
from tests.service.conftest import new_secret
from tests.service.key_issuer import KeyIssuer
from tests.service.small import USER, small_config

DOCUMENT = Path(__file__).parents[2] / "ARCHITECTURE.md"
SERVICE = Path(fairbandits.service.__file__).parent
MAX_FILES = 22


def listed_path():
    """The files and functions that the document lists, in order."""
    text = DOCUMENT.read_text(encoding="utf-8")
    [section] = re.findall(r"<!-- service path -->\n(.*?)<!-- end -->", text, flags=re.DOTALL)
    lines = [line for line in section.splitlines() if line.strip()]
    found = [re.match(r"\d+\. `([\w/]+\.py)` `([\w.]+)`", line) for line in lines]
    assert all(found), "each line of the list is: 1. `file` `function`, explanation"
    return [(each[1], each[2]) for each in found]


class Tracer:
    """Records which functions of the service are entered, and from which of its files.

    Attributes
    ----------
    entered : list of (file, function, caller)
        Each function in the order of entry. `caller` is the nearest file of the service up the stack, None for
        the first function of a thread or a task.
    """

    def __init__(self):
        self.entered = []
        self.is_recording = False
        # A coroutine that is resumed reports a call of the same frame again.
        self._frames = []

    def profile(self, frame, event, _):
        if not self.is_recording or event != "call" or (file := self._file(frame)) is None:
            return
        if any(frame is seen for seen in self._frames):
            return
        self._frames.append(frame)
        caller = frame.f_back
        while caller is not None and self._file(caller) is None:
            caller = caller.f_back
        function = frame.f_code.co_qualname.replace(".<locals>", "")
        self.entered.append((file, function, caller and self._file(caller)))

    @staticmethod
    def _file(frame):
        path = Path(frame.f_code.co_filename)
        return path.relative_to(SERVICE).as_posix() if path.is_relative_to(SERVICE) else None


@pytest.fixture
def tracer():
    """A tracer of this thread and of threads that are started from now on."""
    tracer, before = Tracer(), sys.getprofile()
    sys.setprofile(tracer.profile)
    threading.setprofile(tracer.profile)
    yield tracer
    threading.setprofile(None)
    sys.setprofile(before)


async def send(app, token, tracer, user):
    """Send a request for a decision; record from its first message to the last one of the response."""
    body = json.dumps(user).encode()
    headers = {
        b"host": b"127.0.0.1",
        b"authorization": b"Bearer " + token.encode(),
        b"content-type": b"application/json",
        b"content-length": b"%d" % len(body),
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/decisions",
        "query_string": b"",
        "scheme": "http",
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8000),
        "headers": list(headers.items()),
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def keep(message):
        sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            tracer.is_recording = False

    tracer.is_recording = True
    await app(scope, receive, keep)
    assert sent[0]["status"] == 200, sent
    return json.loads(sent[1]["body"])


@pytest.fixture(params=[USER, USER | {"user": "somebody"}], ids=["anonymous", "named"])
def entered(request, tmp_path, monkeypatch, tracer):
    """What the second request of an app enters: the first one encodes the catalogue for all."""
    # Nothing but requests does any work.
    monkeypatch.setattr(engine_module, "_POLL_SECONDS", 3600.0)
    monkeypatch.setattr(key_cache, "REFRESH_SECONDS", 3600.0)
    config = small_config(store={"url": f"sqlite:///{tmp_path}/log.db"}, users=new_secret(tmp_path))
    _, token = KeyIssuer(config).make("decide")

    async def trace():
        app = create_app(config)
        async with app.router.lifespan_context(app):
            await send(app, token, tracer, request.param)
            tracer.entered.clear()
            assert "arm" in await send(app, token, tracer, request.param)

    asyncio.run(trace())
    return tracer.entered


def test_a_request_enters_the_listed_files_in_their_order(entered):
    listed = listed_path()
    assert [file for file, _ in listed] == [*dict.fromkeys(file for file, _, _ in entered)]
    assert len(listed) <= MAX_FILES
    functions = {(file, function) for file, function, _ in entered}
    assert [each for each in listed if each not in functions] == []


def test_every_file_is_entered_from_one_file_only(entered):
    """So one function orchestrates each step, and no step reaches back."""
    callers = {}
    for file, _, caller in entered:
        if caller not in (None, file):
            callers.setdefault(file, set()).add(caller)
    assert {file: found for file, found in callers.items() if len(found) > 1} == {}
