"""Users who are forgotten: nothing of them is left, nor of what was learned from them."""

import asyncio
import json
import sqlite3
import struct
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from fairbandits.service.engine import Engine
from fairbandits.service.export import export
from fairbandits.service.lifecycle import erasure
from fairbandits.service.lifecycle.erasure import export_user, forget_user
from fairbandits.service.lifecycle.replacement import replace_policy
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.events import Rewarded, decision_key, reward_key
from fairbandits.service.log.reading import find
from fairbandits.service.log.requests import IdempotencyKey, RefusalReason
from fairbandits.service.log.rewards import settle_reward
from fairbandits.service.log.store import open_store
from fairbandits.service.state.decider import decide
from fairbandits.service.state.recommender import ServedRecommender
from fairbandits.service.verification import verify
from tests.service.lifecycle.services import (
    checksum,
    drop_snapshots_after,
    fill,
    opened,
    pseudonym,
    save_snapshot,
    write,
)
from tests.service.small import small_config

#: A user whose features and pseudonym can be searched for.
RARE = {"features": {"age": 33.123456789, "language": "fr"}, "groups": {"gender": "male", "region": "north"}}
NAME = "feedc0de" * 4
_SCALED = (RARE["features"]["age"] - 20) / 50  # as contexts have it
TRACES = [NAME.encode(), b"33.123456789", str(_SCALED).encode()]


def visit_rare(engine, reward=0.875, key=None):
    """Decide for the rare user; store the reply if there is an idempotency key."""
    decided = replace(decide(engine.recommender, RARE["features"], RARE["groups"]), user=NAME)
    if key is None:
        write(engine, decided)
    else:
        reply = json.dumps({"decision": decided.id}).encode()
        request = AppendEvents(events=[decided], reply=reply, idempotency=IdempotencyKey(key, "digest"))
        append(engine.store, [request], engine.follower.seq)
        write(engine)
    write(engine, Rewarded(decided.id, decided.time + 1, reward))
    return decided


def mixed_log(engine):
    """A log of ten users and the rare one, with snapshots before and after."""
    fill(engine, 20)
    save_snapshot(engine)
    visits = [visit_rare(engine, key="first"), visit_rare(engine)]
    fill(engine, 20, seed=1)
    visits.append(visit_rare(engine))
    save_snapshot(engine)
    fill(engine, 5, seed=2)
    return visits


def coefficients(recommender):
    # Ledgers name the process that replayed the log.
    arrays = recommender.policy.state().arrays
    return {name: array for name, array in arrays.items() if not name.startswith("ledger.")}


def replay_without(engine, user):
    """Fold the log by hand, without the entries of a user."""
    recommender = ServedRecommender(engine.config)
    for entry in engine.store.read(0):
        decided = entry.decided or entry.event
        if getattr(decided, "user", None) != user:
            recommender.apply(entry)
    return recommender


def test_what_was_learned_is_removed(store_url):
    with opened(store_url) as engine:
        mixed_log(engine)
        expected = coefficients(replay_without(engine, NAME))
        learned = coefficients(engine.recommender)
        config = engine.config
    done = forget_user(config, NAME)
    assert (done.decisions, done.rewards, done.replies) == (3, 3, 1)
    assert done.pruned.decisions == 0
    with opened(store_url) as engine:
        found = coefficients(engine.recommender)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-9)
        assert any(not np.array_equal(found[name], learned[name]) for name in found)
        assert engine.monitor.rewards == 16 + 16 + 4
        again = checksum(engine)
        with engine.store.transaction() as connection:
            connection.execute(text("DELETE FROM snapshots"))
    with opened(store_url) as engine:
        assert checksum(engine) == again, "a replay of the whole log gives the same"
    assert verify(config).log.deleted == 6
    assert forget_user(config, NAME).decisions == 0


def test_a_reward_that_arrives_during_the_replay_is_not_learned(store_url):
    with opened(store_url) as engine:
        fill(engine, 20)
        decided = replace(decide(engine.recommender, RARE["features"], RARE["groups"]), user=NAME)
        write(engine, decided)
        fill(engine, 20, seed=1)
        late = [Rewarded(decided.id, decided.time + 1, 1.0)]

        def reward_once(_):
            while late:
                write(engine, late.pop())

        done = forget_user(engine.config, NAME, reward_once)
        assert (done.decisions, done.rewards) == (1, 1)
        expected = coefficients(replay_without(engine, NAME))
    with opened(store_url) as engine:
        found, learned = coefficients(engine.recommender), checksum(engine)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-9)
        assert engine.recommender.rewarded == engine.monitor.rewards == 16 + 16
        drop_snapshots_after(engine, 0)
    with opened(store_url) as engine:
        assert checksum(engine) == learned, "a replay of the whole log gives the same"


def test_a_second_run_finishes_what_the_first_one_could_not(tmp_path, monkeypatch):
    """The write-ahead log cannot be emptied while somebody reads it, for example for a backup."""
    monkeypatch.setattr(erasure, "_SETTLE_SECONDS", 0.1)
    url = f"sqlite:///{tmp_path}/log.db"
    with opened(url) as engine, closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as reader:
        mixed_log(engine)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        with pytest.raises(ValueError, match="another process is reading it; run the command again"):
            forget_user(engine.config, NAME)
        reader.execute("ROLLBACK")
        assert forget_user(engine.config, NAME).decisions == 0
        content = b"".join(path.read_bytes() for path in tmp_path.glob("log.db*"))
    assert not [trace for trace in TRACES if trace in content]


def test_a_second_run_deletes_rewards_that_the_first_one_left(store_url):
    with opened(store_url) as engine:
        visits = mixed_log(engine)
        reward = Rewarded(visits[0].id, 0.0, 0.875).to_json()
        forget_user(engine.config, NAME)
        key = {"key": reward_key(visits[0].id), "body": reward, "salt": b"salt"}
        with engine.store.transaction() as connection:  # as one that was on its way to PostgreSQL
            connection.execute(text("UPDATE events SET body = :body, salt = :salt WHERE key = :key"), key)
        forget_user(engine.config, NAME)
        with engine.store.connection() as connection:
            held = connection.execute(text("SELECT body, salt FROM events WHERE key = :key"), key).one()
        assert tuple(held) == (None, None)


def test_a_running_worker_forgets(store_url):
    async def serve():
        engine = Engine(small_config(store={"url": store_url}))
        await engine.start()
        try:
            before = engine.follower.change_seq
            await asyncio.to_thread(forget_user, engine.config, NAME)
            while engine.follower.change_seq == before:
                await asyncio.sleep(0.01)
            return checksum(engine)
        finally:
            await engine.stop()

    with opened(store_url) as engine:
        visits = mixed_log(engine)
        assert {decided.id for decided in visits} & engine.monitor.recent.keys()
    found = asyncio.run(asyncio.wait_for(serve(), 60))
    with opened(store_url) as engine:
        assert checksum(engine) == found
        ids = {decided.id for decided in visits}
        assert not ids & engine.monitor.recent.keys()


def test_nothing_is_left_in_the_files_of_sqlite(tmp_path):
    """With a running service, whose connection keeps the write-ahead log."""
    url = f"sqlite:///{tmp_path}/log.db"
    with opened(url) as engine:
        mixed_log(engine)
        files = [tmp_path / "log.db", tmp_path / "log.db-wal"]
        assert all(any(trace in path.read_bytes() for path in files) for trace in TRACES)
        forget_user(engine.config, NAME)
        fill(engine_after(engine), 3, seed=5)
        content = b"".join(path.read_bytes() for path in tmp_path.glob("log.db*"))
    for trace in [*TRACES, struct.pack("<d", _SCALED)]:
        assert trace not in content
    assert pseudonym(3).encode() in content


def engine_after(engine):
    """Follow the log as far as it goes."""
    engine.follower.apply(engine.store.read(engine.follower.seq))
    return engine


def test_nothing_is_left_in_the_tables_of_postgresql(postgres):
    url = postgres.new_database()
    with opened(url) as engine:
        mixed_log(engine)
        config = engine.config
    with open_store(config) as store, store.connection() as connection:
        assert found_in_tables(connection, postgres, TRACES) == set(TRACES)
        forget_user(config, NAME)
        connection.execute(text("VACUUM FULL"))
        assert found_in_tables(connection, postgres, TRACES) == set()
        assert found_in_tables(connection, postgres, [pseudonym(3).encode()])


def found_in_tables(connection, postgres, traces):
    """The traces that the files of all tables contain."""
    connection.execute(text("CHECKPOINT"))
    files = connection.execute(
        text("SELECT pg_relation_filepath(oid) FROM pg_class WHERE relkind IN ('r', 't', 'i')")
    )
    folder = Path(postgres.server.pgdata)
    content = b"".join((folder / path).read_bytes() for (path,) in files if path and (folder / path).exists())
    return {trace for trace in traces if trace in content}


def test_later_exports_have_nothing_of_the_user(store_url, tmp_path):
    with opened(store_url) as engine:
        mixed_log(engine)
        config = engine.config
    held = export_user(config, NAME)
    assert [each["features"]["age"] for each in held["decisions"]] == [33.123456789] * 3
    assert [each["rewarded"]["reward"] for each in held["decisions"]] == [0.875] * 3
    assert held["user"] == NAME
    assert export(config, tmp_path / "before.csv") == 48
    forget_user(config, NAME)
    assert export_user(config, NAME)["decisions"] == []
    assert export(config, tmp_path / "after.csv") == 45
    assert NAME in (tmp_path / "before.csv").read_text()
    assert NAME not in (tmp_path / "after.csv").read_text()


def test_a_reward_for_a_forgotten_decision_is_refused(store_url):
    with opened(store_url) as engine:
        visits = mixed_log(engine)
        forget_user(engine.config, NAME)
        engine_after(engine)
        with engine.store.connection() as connection:
            found = find(connection, [decision_key(visits[0].id)])
        refusal = settle_reward(Rewarded(visits[0].id, time.time(), 0.5), 1e9, found)
        assert (refusal.reason, refusal.detail) == (
            RefusalReason.REWARD_TOO_LATE,
            f"the content of decision {visits[0].id} was deleted",
        )


def test_a_log_that_changes_meanwhile_is_left_alone(store_url, monkeypatch):
    with opened(store_url) as engine:
        mixed_log(engine)
        config = engine.config
    replaying = erasure.replay

    def replay_while_another_policy_takes_over(*args, **how):
        replaying(*args, **how)
        replace_policy(config, "LinUCB")

    monkeypatch.setattr(erasure, "replay", replay_while_another_policy_takes_over)
    with pytest.raises(ValueError, match="the log was changed while it was replayed; run the command again"):
        forget_user(config, NAME)
    assert len(export_user(config, NAME)["decisions"]) == 3
