"""Retention: old content is deleted, and nothing else changes."""

import time
from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest
from pyarrow import parquet
from sqlalchemy import text

from fairbandits.audit import audit
from fairbandits.audit.report.omissions import omission_sentences
from fairbandits.service import export as exporting
from fairbandits.service.config import as_config
from fairbandits.service.export import export
from fairbandits.service.lifecycle import retention
from fairbandits.service.lifecycle.erasure import forget_user
from fairbandits.service.lifecycle.replacement import replace_policy
from fairbandits.service.lifecycle.retention import prune
from fairbandits.service.log.events import Rewarded, decision_key
from fairbandits.service.log.reading import find
from fairbandits.service.log.requests import RefusalReason
from fairbandits.service.log.rewards import settle_reward
from fairbandits.service.log.store import Store, open_store
from fairbandits.service.verification import verify
from tests.service.lifecycle.services import (
    checksum,
    drop_snapshots_after,
    opened,
    policy_checksum,
    pseudonym,
    save_snapshot,
    visit,
    write,
)
from tests.service.small import PLAIN, small_config

DAY = 86400.0
START = 1_800_000_000.0
WEEK = {"retention": {"decisions": "7 days"}, "reward": {"window_days": 2}}


class Clock:
    """A clock that the test moves."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


def live(engine, clock, days, visits=8, seed=0):
    """Let time pass, with visits; every fourth decision is rewarded 1.5 days later, every fifth never."""
    rng = np.random.default_rng(seed)
    late = []
    for _ in range(days):
        for number in range(visits):
            clock.now += DAY / visits
            while late and late[0].time + 1.5 * DAY <= clock.now:
                write(engine, Rewarded(late.pop(0).id, clock.now, float(rng.random())))
            decided = visit(engine, number % 5, rng, reward=bool(number % 4 and number % 5))
            if number % 4 == 0:
                late.append(decided)
    return late


def contents(url):
    """The times of decisions and rewards that have content, and the number of those that have none."""
    store = Store(url)
    with store.connection() as connection:
        rows = connection.execute(
            text("SELECT key, time, body, salt, digest FROM events WHERE kind IN ('decided', 'rewarded')")
        ).all()
    store.close()
    assert all((row.body is None) == (row.salt is None) and row.digest for row in rows)
    return {row.key: row.time for row in rows if row.body is not None}, sum(row.body is None for row in rows)


def test_content_is_deleted_and_the_policy_is_bitwise_the_same(store_url, clock):
    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 5)
        save_snapshot(engine)
        assert prune(engine.store, engine.config, clock.now) is None, "nothing is old enough"
        live(engine, clock, 10, seed=1)
        save_snapshot(engine)
        learned, seq = policy_checksum(engine), engine.follower.seq
        pruned = prune(engine.store, engine.config, clock.now)
        held, deleted = contents(store_url)
        assert pruned.decisions + pruned.rewards == deleted > 0
        assert pruned.until == clock.now - 7 * DAY
        rewarded = {f"d:{key[2:]}": when for key, when in held.items() if key.startswith("r:")}
        for key, when in held.items():
            assert max(when, rewarded.get(key, 0.0)) >= pruned.until, "a decision is kept as long as its reward"
        assert prune(engine.store, engine.config, clock.now) is None
        [_, (base, parts)] = engine.store.read_snapshots()
        assert base == pruned.base
        assert b'"decision"' not in parts["monitor"], "decisions on the page are content"
    with opened(store_url, **WEEK) as engine:
        assert engine.follower.seq > seq, "the pruning is an entry"
        assert policy_checksum(engine) == learned
        drop_snapshots_after(engine, pruned.base)
    with opened(store_url, **WEEK) as engine:
        assert policy_checksum(engine) == learned, "a replay from the base leads to the same state"
        save_snapshot(engine)
        found = verify(engine.config)
        assert found.log.deleted == deleted
        assert found.replayed == (pruned.base, engine.follower.seq)
        live(engine, clock, 3, seed=2)
        assert prune(engine.store, engine.config, clock.now).decisions > pruned.decisions


@pytest.mark.parametrize("during", ["the replay", "the deletion"])
def test_a_worker_whose_lease_expires_does_not_undo_what_another_one_prunes(store_url, clock, monkeypatch, during):
    monkeypatch.setattr(retention, "_PIECE", 5)
    done = []
    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 10)
        learned = policy_checksum(engine)

        def overtake(n_replayed):
            if not done and (n_replayed > 0) == (during == "the replay"):
                clock.now += DAY
                done.append(prune_elsewhere(engine.config, clock.now))

        assert prune(engine.store, engine.config, clock.now, overtake) is None
        [pruned] = done
        assert engine.store.read_pruned().base == pruned.base
        held, deleted = contents(store_url)
        assert pruned.decisions + pruned.rewards == deleted > 0
        rewarded = {f"d:{key[2:]}": when for key, when in held.items() if key.startswith("r:")}
        assert min(max(when, rewarded.get(key, 0.0)) for key, when in held.items()) >= pruned.until
        drop_snapshots_after(engine, pruned.base)
    with opened(store_url, **WEEK) as engine:
        assert policy_checksum(engine) == learned
        assert prune(engine.store, engine.config, clock.now) is None, "nothing is left to do"


def test_a_deletion_that_was_interrupted_goes_on_though_nothing_else_is_old(store_url, clock, monkeypatch):
    monkeypatch.setattr(retention, "_PIECE", 5)

    def interrupt(n_replayed):
        if n_replayed == 0:
            raise InterruptedError

    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 10)
        learned = policy_checksum(engine)
        with pytest.raises(InterruptedError):
            prune(engine.store, engine.config, clock.now, interrupt)
        _, before = contents(store_url)
        pruned = prune(engine.store, engine.config, clock.now)
        _, deleted = contents(store_url)
        assert pruned.decisions + pruned.rewards == deleted > before > 0
        assert prune(engine.store, engine.config, clock.now) is None
        drop_snapshots_after(engine, pruned.base)
    with opened(store_url, **WEEK) as engine:
        assert policy_checksum(engine) == learned


def test_nothing_stays_forever_after_the_clock_jumped(store_url, clock):
    with opened(store_url, **WEEK) as engine:
        rng = np.random.default_rng(0)
        decided = visit(engine, 1, rng, reward=False)
        clock.now = START + 8 * DAY
        visit(engine, 2, rng, reward=False)
        clock.now = START + DAY / 2
        write(engine, Rewarded(decided.id, clock.now, 0.5))
        for day in range(1, 30):
            clock.now = START + day * DAY
            visit(engine, 3, rng)
            if day >= 10:  # the time of the second visit has come, which keeps the reward behind the base
                prune(engine.store, engine.config, clock.now)
        held, _ = contents(store_url)
        assert min(held.values()) >= clock.now - 7 * DAY


def test_rewards_for_deleted_decisions_come_too_late(store_url, clock):
    with opened(store_url, **WEEK) as engine:
        rng = np.random.default_rng(0)
        decided = visit(engine, 1, rng, reward=False)
        clock.now += 8 * DAY
        visit(engine, 1, rng)
        assert prune(engine.store, engine.config, clock.now).decisions == 1
        with engine.store.connection() as connection:
            found = find(connection, [decision_key(decided.id)])
        refusal = settle_reward(Rewarded(decided.id, clock.now, 1.0), 1e9, found)
        assert refusal.reason is RefusalReason.REWARD_TOO_LATE


def test_audits_of_what_remains_are_right(store_url, clock, tmp_path):
    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 16)
        export(engine.config, tmp_path / "all.parquet")
        pruned = prune(engine.store, engine.config, clock.now)
        export(engine.config, tmp_path / "rest.parquet")
    whole, rest = (parquet.read_table(tmp_path / f"{name}.parquet").to_pandas() for name in ("all", "rest"))
    kept = whole[whole["decision"].isin(rest["decision"])].reset_index(drop=True)
    assert len(whole) - len(rest) == pruned.decisions > 0
    assert kept.equals(rest)
    day = datetime.fromtimestamp(pruned.until, UTC).strftime("%Y-%m-%d")
    note = f"The content of {pruned.decisions} decision(s) before {day} was deleted because of its age."
    assert omission_sentences(audit(tmp_path / "rest.parquet"))[0] == note
    assert note not in omission_sentences(audit(tmp_path / "all.parquet"))


def test_an_export_leaves_out_what_is_pruned_or_forgotten_meanwhile(store_url, clock, tmp_path, monkeypatch):
    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 16)
        n_decisions, config = engine.monitor.decisions, engine.config
    deletions = [lambda: forget_user(config, pseudonym(1)), lambda: prune_elsewhere(config, clock.now)]

    def delete_and_find(connection, keys):
        if deletions:
            deletions.pop()()
        return find(connection, keys)

    monkeypatch.setattr(exporting, "find", delete_and_find)
    rows = export(config, tmp_path / "rest.parquet")
    assert not deletions
    held, _ = contents(store_url)
    rest = parquet.read_table(tmp_path / "rest.parquet").to_pandas()
    assert {f"d:{each}" for each in rest["decision"]} == {key for key in held if key.startswith("d:")}
    assert len(rest) == rows < n_decisions
    rewarded = {key[2:] for key in held if key.startswith("r:")}
    assert {*rest["decision"][rest["reward"].notna()]} == rewarded, "none has lost its reward"
    with open_store(config) as store:
        pruned = store.read_pruned()
    assert pruned.decisions > 0
    note = omission_sentences(audit(tmp_path / "rest.parquet"))[0]
    assert note.startswith(f"The content of {pruned.decisions} decision(s) before ")


def prune_elsewhere(config, now):
    with closing(Store(config.store.url)) as store:
        return prune(store, config, now)


def test_a_base_that_does_not_lead_to_the_present_state_stops_pruning(store_url, clock):
    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 10)
        # As if this worker had learned something else.
        engine.recommender.policy.forget_arm("chess", missing_ok=True)
        save_snapshot(engine)
        with pytest.raises(
            ValueError, match=r"must lead to the snapshot at entry \d+, got a different state; nothing was"
        ):
            prune(engine.store, engine.config, clock.now)
        assert contents(store_url)[1] == 0


def test_another_policy_after_pruning(store_url, clock):
    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 10)
        prune(engine.store, engine.config, clock.now)
        decisions, rewards = engine.monitor.decisions, engine.monitor.rewards
        config = engine.config
    refused = pytest.raises(ValueError, match=r"the log was pruned up to entry \d+, and the snapshot there cannot")
    with refused, opened(store_url, **WEEK, policy="LinUCB"):
        pass
    done = replace_policy(config, "LinUCB")
    assert done.pruned.rewards + done.rewards == rewards
    with opened(store_url, **WEEK) as engine:
        assert engine.monitor.rewards == rewards, "sums of groups do not depend on the policy"
        assert (engine.recommender.decided, engine.recommender.rewarded) == (decisions, rewards)
        assert engine.recommender.policy.rounds_learned == done.rewards
        live(engine, clock, 5, seed=3)
        save_snapshot(engine)
        assert prune(engine.store, engine.config, clock.now).decisions > done.pruned.decisions
        learned = policy_checksum(engine)
        drop_snapshots_after(engine, engine.store.read_pruned().base)
    with opened(store_url, **WEEK) as engine:
        assert policy_checksum(engine) == learned


def test_a_user_is_forgotten_as_far_as_rows_exist(store_url, clock):
    with opened(store_url, **WEEK) as engine:
        live(engine, clock, 10)
        pruned = prune(engine.store, engine.config, clock.now)
        config = engine.config
    done = forget_user(config, pseudonym(1))
    assert done.decisions > 0
    assert done.pruned == pruned
    with opened(store_url, **WEEK) as engine:
        first = checksum(engine)
        drop_snapshots_after(engine, pruned.base)
    with opened(store_url, **WEEK) as engine:
        assert checksum(engine) == first
        live(engine, clock, 4, seed=1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"retention": {"decisions": "20 days"}},
            r"at least reward\.window_days \(30\), got '20 days'; decisions must be kept",
        ),
        ({"retention": {"decisions": "soon"}}, r"retention\.decisions"),
        ({"retention": {"decisions": "0 days"}}, r"retention\.decisions"),
    ],
)
def test_configurations_that_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        as_config(PLAIN | changed)


def test_the_age_is_in_days():
    assert small_config(retention={"decisions": "180 days"}).retention.seconds == 180 * DAY
    assert small_config().retention.seconds is None
