"""The engine: how it opens a log, and how it stops."""

import asyncio
import signal
import threading
import time
from functools import partial

import numpy as np
import psycopg
import pytest
from sqlalchemy import func, insert, select

from fairbandits.service import server
from fairbandits.service.engine import Engine
from fairbandits.service.lifecycle import background
from fairbandits.service.lifecycle.background import LifecycleTasks
from fairbandits.service.log import snapshot_rows
from fairbandits.service.log.log_facts import read_fact
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import answers, snapshots
from fairbandits.service.state.decider import DecisionRequest
from fairbandits.service.state.recommender import ServedRecommender
from tests.polling import DEADLINE
from tests.service.lifecycle.services import checksum, opened, visit
from tests.service.small import USER, small_config

DAY = 86400.0
WEEK = {"retention": {"decisions": "7 days"}, "reward": {"window_days": 2}}


def test_an_engine_has_a_recommender(tmp_path):
    engine = Engine(small_config(store={"url": f"sqlite:///{tmp_path}/log.db"}))
    assert isinstance(engine.recommender, ServedRecommender)


def test_an_arm_without_a_feature_that_has_lost_its_default_is_refused_at_the_start(tmp_path):
    hours = {"low": 0, "high": 40}
    how = {"store": {"url": f"sqlite:///{tmp_path}/log.db"}, "arms": [{"arm": "chess"}]}
    engine = Engine(small_config(arm_features={"hours": hours | {"default": 10}}, **how))
    engine._open()
    engine.store.close()
    engine = Engine(small_config(arm_features={"hours": hours}, **how | {"arms": []}))
    with pytest.raises(
        ValueError,
        match=r"arm_features\.hours must have a default, because arm 'chess' of the log has no value for it",
    ):
        engine._open()
    engine.store.close()


@pytest.mark.parametrize(
    ("policy", "warns"),
    [
        ("EvenLinUCB", True),
        ("EvenLinUCB(min_probability=0.001)", False),
        ("EpsilonGreedy(epsilon=0.1)", False),
        ("Uniform", False),
    ],
)
def test_a_service_whose_log_cannot_be_evaluated_says_so(policy, warns, caplog):
    server._warn_of_certainty(small_config(policy=policy))
    message = (
        "EvenLinUCB always picks the arm with the highest score, so all propensities in its log are 1, and no "
        "other policy can be evaluated on it; to change that, set min_probability, as in "
        "EvenLinUCB(min_probability=0.001)"
    )
    assert caplog.messages == [message] * warns


# -- how it stops ----------------------------------------------------------------------------------------


def run_in_time(serve):
    """Run a coroutine in a thread that nobody waits for longer than it may take."""
    results = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(serve())), daemon=True)
    thread.start()
    thread.join(DEADLINE / 2)
    assert not thread.is_alive()
    return results[0]


async def until(condition):
    """Wait until a function of a store returns something true; return that."""
    async with asyncio.timeout(DEADLINE / 4):
        while not (result := await asyncio.to_thread(condition)):
            await asyncio.sleep(0.01)
    return result


def n_rows(store):
    with store.connection() as connection:
        return connection.execute(select(func.count()).select_from(snapshots)).scalar()


def test_a_snapshot_that_is_being_written_hurries_when_the_server_stops(store_url, monkeypatch, caplog):
    monkeypatch.setattr(snapshot_rows, "_PIECE", 500)
    monkeypatch.setattr(snapshot_rows, "_PAUSE", 1e6)  # times what a piece takes
    store = Store(store_url)

    async def serve():
        engine = Engine(small_config(store={"url": store_url, "snapshot_every": 5}))
        await engine.start()
        for _ in range(5):
            await engine.writer.write(DecisionRequest(users=[USER]))
        await until(partial(n_rows, store))
        await engine.stop()
        return engine.follower.seq, engine.follower.snapshot_seq, checksum(engine)

    seq, saved, state = run_in_time(serve)
    assert saved == store.last_snapshot_seq() > 0
    assert caplog.messages == []
    store.close()
    with opened(store_url) as engine:
        assert (engine.follower.seq, checksum(engine)) == (seq, state)
        assert engine.follower.snapshot_seq == saved


def test_a_server_that_has_no_time_for_a_snapshot_stops_without_an_error(serving, students, postgres):
    url = postgres.new_database()
    server = serving(store={"url": url})
    with server.client() as client:
        answer = client.post("/v1/decisions", json=students.request(0))
        assert answer.status_code == 200
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE snapshots IN EXCLUSIVE MODE")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(DEADLINE) == -signal.SIGTERM  # as uvicorn ends when it has stopped
    assert server.said().count("the last snapshot did not finish within 2.5 s; the next start") == 1
    assert "could not stop" not in server.said()


def old_log(url, **changed):
    """Fill a log with visits of a month ago."""
    began = time.time() - 30 * DAY
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "time", lambda: began)
        with opened(url, **changed) as engine:
            rng = np.random.default_rng(0)
            for number in range(5):
                visit(engine, number, rng)


def test_pruning_ends_when_the_server_stops(store_url, monkeypatch, caplog):
    monkeypatch.setattr(background, "_REST", 1.0 - 1e-7)  # of the time that each piece takes
    old_log(store_url, **WEEK)
    store = Store(store_url)

    def lease():
        with store.connection() as connection:
            return float(read_fact(connection, "pruning") or 0.0)

    async def serve():
        engine = Engine(small_config(store={"url": store_url}, **WEEK))
        await engine.start()
        await until(lease)
        await engine.stop()

    run_in_time(serve)
    assert lease() == 0.0, "another server may prune at once"
    assert store.read_pruned().decisions == 0
    assert caplog.messages == []
    store.close()


@pytest.mark.parametrize(("changed", "ages"), [({}, [1, 6]), (WEEK | {"retention": {"decisions": "3 days"}}, [1])])
def test_old_replies_are_dropped_when_a_server_starts(store_url, changed, ages):
    config = small_config(store={"url": store_url}, **changed)
    now = time.time()
    with opened(store_url, **changed) as engine, engine.store.transaction() as connection:
        rows = [
            {"key": str(age), "time": now - age * DAY, "digest": "", "status": 200, "body": b""}
            for age in (1, 6, 8, 100)
        ]
        connection.execute(insert(answers), rows)
    store = Store(store_url)

    def held():
        with store.connection() as connection:
            return [
                int(key)
                for key in connection.execute(select(answers.c.key).order_by(answers.c.time.desc())).scalars()
            ]

    async def serve():
        engine = Engine(config)
        await engine.start()
        await until(lambda: held() == ages)
        await engine.stop()

    run_in_time(serve)
    assert held() == ages
    store.close()


def test_a_replay_ends_when_the_server_stops(store_url):
    old_log(store_url)
    with opened(store_url) as engine:
        tasks = LifecycleTasks(engine.config, engine.follower)
        tasks._load(engine.store)
        tasks.stop()
        with pytest.raises(background._StoppingError):
            tasks._load(engine.store)
