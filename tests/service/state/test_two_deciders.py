"""Two workers on one PostgreSQL: while one decides, it holds no lock that the other would wait for."""

import asyncio
import json
import threading

import pytest

from fairbandits.service.engine import Engine
from fairbandits.service.log.store import Store
from fairbandits.service.state.decider import DecisionRequest
from tests.polling import DEADLINE
from tests.service.small import USER, small_config


@pytest.fixture
def url(postgres):
    return postgres.new_database()


class BlockedPolicy:
    """Keeps the decisions of an engine waiting, until it is opened."""

    def __init__(self, engine, monkeypatch):
        self.is_reached, self._is_open = threading.Event(), threading.Event()
        policy = engine.recommender.policy
        monkeypatch.setattr(policy, "choose_many", self._delaying(policy.choose_many))

    def _delaying(self, choose_many):
        def delayed(*given, **named):
            self.is_reached.set()
            assert self._is_open.wait(DEADLINE)
            return choose_many(*given, **named)

        return delayed

    def open(self):
        self._is_open.set()


def test_a_worker_answers_while_another_one_is_deciding(url, monkeypatch):
    async def serve():
        one, two = (Engine(small_config(store={"url": url})) for _ in range(2))
        await one.start()
        await two.start()
        blocked = BlockedPolicy(one, monkeypatch)
        waiting = asyncio.create_task(decide(one))
        try:
            assert await asyncio.to_thread(blocked.is_reached.wait, DEADLINE)
            async with asyncio.timeout(DEADLINE / 4):
                made = [await decide(two) for _ in range(20)]
            assert not waiting.done()
            async with asyncio.timeout(DEADLINE / 4):
                # They are settled as well: the other worker has no transaction open.
                while two.recommender.decided < len(made):
                    await asyncio.sleep(0.01)
            assert not waiting.done()
        finally:
            blocked.open()
            made.append(await waiting)
            await one.stop()
            await two.stop()
        return made

    made = asyncio.run(asyncio.wait_for(serve(), DEADLINE))
    store = Store(url)
    logged = [entry.event.id for entry in store.read(0) if entry.event.KIND == "decided"]
    store.close()
    assert sorted(logged) == sorted(made)


async def decide(engine):
    """Request a decision; return its id."""
    reply = await engine.writer.write(DecisionRequest(users=[USER]))
    return json.loads(reply)["decision"]
