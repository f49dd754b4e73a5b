"""The live feed: findings are computed once for all streams, which begin, beat and end in time."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from fairbandits.service.page import live_feed
from fairbandits.service.page.live_feed import LiveFeed, TooManyReadersError
from fairbandits.service.state.monitor import Monitor
from tests.service.logs import entries
from tests.service.small import small_config


class _Engine:
    """The part of an engine that a feed needs."""

    def __init__(self):
        self.config = small_config()
        self.monitor = Monitor(self.config)
        self.taken = 0

    @property
    def follower(self):
        return SimpleNamespace(seq=self.monitor.seq)

    def happen(self):
        [decision, reward] = entries([{"groups": {"gender": "female"}, "reward": 0.5}])
        for entry in (decision, reward):
            self.monitor.apply(type(entry)(self.monitor.seq + 1, entry.event, entry.decided))


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setattr(live_feed, "_INTERVAL", 0.02)
    monkeypatch.setattr(live_feed, "_HEARTBEAT", 0.1)
    engine = _Engine()
    compute = live_feed._compute_view

    def counted(*args):
        engine.taken += 1
        return compute(*args)

    monkeypatch.setattr(live_feed, "_compute_view", counted)
    return engine


async def news(stream):
    """Return the next event that is not a heartbeat."""
    async for event in stream:
        if not event.startswith(b":"):
            return event
    raise AssertionError("the stream has ended")


def test_findings_are_computed_once_for_all_streams(engine):
    async def watch():
        feed = LiveFeed(engine)
        streams = [feed.stream() for _ in range(20)]
        first = await asyncio.gather(*(anext(stream) for stream in streams))
        assert len(set(first)) == 1
        engine.happen()
        second = await asyncio.gather(*(news(stream) for stream in streams))
        assert len(set(second)) == 1
        assert second[0] != first[0]
        assert (engine.taken, feed.streams) == (2, 20)
        for stream in streams:
            await stream.aclose()
        assert feed.streams == 0

    asyncio.run(watch())


def test_an_idle_stream_sends_heartbeats(engine):
    async def watch():
        stream = LiveFeed(engine).stream()
        assert (await anext(stream)).startswith(b"id: 0\ndata: {")
        assert await anext(stream) == b": still here\n\n"
        engine.happen()
        assert (await news(stream)).startswith(b"id: 2\n")
        assert engine.taken == 2
        await stream.aclose()

    asyncio.run(watch())


def test_the_number_of_streams_is_limited(engine, monkeypatch):
    monkeypatch.setattr(live_feed, "_MAX_STREAMS", 1)

    async def watch():
        feed = LiveFeed(engine)
        stream = feed.stream()
        await anext(stream)
        with pytest.raises(TooManyReadersError, match="GET /v1/fairness"):
            feed.stream()
        await stream.aclose()
        await anext(feed.stream())

    asyncio.run(watch())


def test_slow_findings_are_computed_less_often(engine, monkeypatch):
    quick = live_feed._compute_view

    def slow(*args):
        time.sleep(0.1)  # stands for a long computation
        return quick(*args)

    monkeypatch.setattr(live_feed, "_compute_view", slow)

    async def watch():
        stream = LiveFeed(engine).stream()
        await anext(stream)
        engine.happen()
        began = time.monotonic()
        await news(stream)
        # At most a twentieth of the time.
        assert time.monotonic() - began > 1.5
        await stream.aclose()

    asyncio.run(watch())
