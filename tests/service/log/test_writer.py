"""The writer: what happens to requests when the log cannot be written or applied."""

import asyncio
import math
import threading
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import delete

from fairbandits.service.log import writer as module
from fairbandits.service.log.appender import AppendEvents
from fairbandits.service.log.errors import LogBrokenError, LogLostError, LogUnavailableError, StoreDownError
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import events
from fairbandits.service.log.writer import Writer
from tests.polling import DEADLINE
from tests.service.logs import decided


class Seen:
    """A fold that collects what is applied."""

    def __init__(self):
        self.events = []

    def apply(self, entry):
        self.events.append(entry.event)


class CountingEvent(asyncio.Event):
    """An event that counts how often it is waited for: once for every turn of the writer."""

    def __init__(self):
        super().__init__()
        self.waits = 0

    async def wait(self):
        self.waits += 1
        return await super().wait()

    async def wait_turns(self, n):
        goal = self.waits + n
        async with asyncio.timeout(DEADLINE):
            while self.waits < goal:
                await asyncio.sleep(0)


@pytest.fixture
def writer(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.open("columns")
    writer = Writer(store, Follower(lambda: {"seen": Seen()}, 1000), lambda requests: requests)
    writer._wake = CountingEvent()
    return writer


@asynccontextmanager
async def running(writer):
    task = asyncio.create_task(writer.run(0.001))
    try:
        yield
    finally:
        writer.close()
        await task
        await writer.stop()


def append(number):
    return AppendEvents(events=[decided(number)], reply=b"%d" % number)


def applied(writer):
    return [event.id for event in writer._follower.folds["seen"].events]


def remove_events(store):
    with store.transaction() as connection:
        connection.execute(delete(events))


def test_requests_are_answered_once_they_are_applied(writer):
    async def write():
        async with running(writer):
            replies = await asyncio.gather(*(writer.write(append(number)) for number in range(5)))
            assert replies == [b"0", b"1", b"2", b"3", b"4"]
            assert applied(writer) == [decided(number).id for number in range(5)]
        with pytest.raises(LogUnavailableError, match="stopping"):
            await writer.write(append(5))

    asyncio.run(write())


def test_a_store_that_is_down_refuses_requests_until_it_is_back(writer, monkeypatch, caplog):
    async def write():
        async with running(writer):
            with monkeypatch.context() as patched:
                patched.setattr(module, "append", raising(StoreDownError("gone")))
                patched.setattr(writer._store, "probe", raising(StoreDownError("gone")))
                with pytest.raises(LogUnavailableError, match="cannot be written at the moment"):
                    await writer.write(append(1))
                assert writer.down == "gone"
            assert await writer.write(append(1)) == b"1"
            assert writer.down is None

    asyncio.run(write())
    assert caplog.messages == ["the store is down: gone", "the store is available again"]


def test_only_what_was_written_shows_that_the_store_is_back(writer, monkeypatch):
    async def write():
        async with running(writer):
            assert await writer.write(append(1)) == b"1"
            with monkeypatch.context() as patched:
                patched.setattr(writer._store, "probe", raising(StoreDownError("full")))
                writer._tried_at = -math.inf
                while writer.down is None:
                    await writer._wake.wait_turns(1)
                for _ in range(20):
                    assert await writer.write(AppendEvents(events=[], reply=b"known")) == b"known"
                    assert not writer.is_ready
            while not writer.is_ready:  # although requests that write nothing leave the writer no pause
                assert await writer.write(AppendEvents(events=[], reply=b"known")) == b"known"

    asyncio.run(asyncio.wait_for(write(), DEADLINE))


def test_a_log_that_cannot_be_followed_is_reported_once_and_not_read_again(writer, monkeypatch, caplog):
    reads = []

    def read(*_):
        reads.append(1)
        raise KeyError("unknown kind")

    async def write():
        monkeypatch.setattr(writer._store, "read", read)
        async with running(writer):
            while writer.broken is None:
                await writer._wake.wait_turns(1)
            await writer._wake.wait_turns(20)
            assert len(reads) == 1
            with pytest.raises(LogBrokenError, match="could not be applied"):
                await writer.write(append(1))

    asyncio.run(write())
    assert (
        len([text for text in caplog.messages if text.startswith("the log could not be followed: KeyError")]) == 1
    )
    assert "unknown kind" not in caplog.text.replace('raise KeyError("unknown kind")', "")


def test_an_entry_that_cannot_be_applied_breaks_the_log(writer, monkeypatch, caplog):
    monkeypatch.setattr(Seen, "apply", raising(ValueError("a private value")))

    async def write():
        async with running(writer):
            with pytest.raises(ValueError, match="a private value"):
                await writer.write(append(1))
            assert writer.broken == "ValueError: a private value"
            with pytest.raises(LogBrokenError, match="could not be applied"):
                await writer.write(append(2))

    asyncio.run(write())
    assert [entry.event.id for entry in writer._store.read(0)] == [decided(1).id]
    (message,) = caplog.messages
    assert message.startswith("a batch of 1 request(s) failed: ValueError")
    assert "a private value" not in message


def test_a_log_that_was_replaced_by_an_older_copy_is_not_written(writer):
    async def write():
        async with running(writer):
            assert await writer.write(append(1)) == b"1"
            await writer.run_in_store_thread(remove_events, writer._store)
            with pytest.raises(LogLostError, match="the log ends at entry 0, but it was read up to entry 1"):
                await writer.write(append(2))
            with pytest.raises(LogBrokenError, match="could not be applied"):
                await writer.write(append(3))

    asyncio.run(write())
    assert writer._store.read(0) == []


def test_too_many_waiting_requests_are_refused(writer, monkeypatch):
    monkeypatch.setattr(module, "_MAX_WAITING", 1)

    async def write():
        first = asyncio.create_task(writer.write(append(1)))
        await asyncio.sleep(0)  # the task runs up to its first wait
        with pytest.raises(LogUnavailableError, match="too many requests"):
            await writer.write(append(2))
        async with running(writer):
            assert await first == b"1"

    asyncio.run(write())


def test_requests_are_prepared_beside_the_event_loop(writer):
    may_go_on = threading.Event()

    def prepare(requests):
        assert may_go_on.wait(DEADLINE)
        return requests

    writer._prepare = prepare

    async def write():
        async with running(writer):
            first = asyncio.create_task(writer.write(append(1)))
            await asyncio.sleep(0.05)  # other tasks run meanwhile
            assert not first.done()
            may_go_on.set()
            assert await first == b"1"

    asyncio.run(write())


def test_large_requests_do_not_share_a_transaction(writer):
    batches = []

    def prepare(requests):
        batches.append([request.reply for request in requests])
        return requests

    writer._prepare = prepare

    async def write():
        tasks = [asyncio.create_task(writer.write(each)) for each in (append(1), large(2), append(3), large(4))]
        await asyncio.sleep(0)  # all of them wait
        async with running(writer):
            await asyncio.gather(*tasks)

    asyncio.run(write())
    assert batches == [[b"1", b"2"], [b"3", b"4"]]


def test_clients_take_turns_when_not_all_requests_fit_into_a_batch(writer):
    batches = []

    def prepare(requests):
        batches.append([int(request.reply) for request in requests])
        return requests

    writer._prepare = prepare

    async def write():
        sent = [large(number, "flood") for number in range(5)]
        sent += [large(number, "import") for number in (10, 11)] + [append(20), append(21)]
        tasks = [asyncio.create_task(writer.write(each)) for each in sent]
        await asyncio.sleep(0)  # all of them wait
        async with running(writer):
            await asyncio.gather(*tasks)
        assert writer._served == {}

    asyncio.run(write())
    # Each client's requests remain in their order, and whoever was served goes behind the others.
    assert batches == [[0], [10], [20, 1], [11], [21, 2], [3], [4]]


def test_a_probe_that_fails_unexpectedly_does_not_leave_requests_without_an_answer(writer, monkeypatch, caplog):
    async def write():
        async with running(writer):
            monkeypatch.setattr(writer._store, "probe", raising(MemoryError()))
            writer._tried_at = -math.inf
            assert await writer.write(AppendEvents(events=[], reply=b"known")) == b"known"
            while writer.broken is None:
                await asyncio.sleep(0)
            with pytest.raises(LogBrokenError, match="could not be applied"):
                await writer.write(append(1))

    asyncio.run(asyncio.wait_for(write(), DEADLINE))
    (message,) = caplog.messages
    assert message.startswith("the store could not be probed: MemoryError")


def large(number, client=""):
    return AppendEvents(events=[decided(number)], reply=b"%d" % number, size=1000, client=client)


def raising(error):
    def fail(*_, **__):
        raise error

    return fail
