"""A month of visits with a retention of a week, beside the same month without one."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from fairbandits import Uniform
from fairbandits.audit import audit
from fairbandits.ope import evaluate
from fairbandits.service.demo import demo_config
from fairbandits.service.engine import Engine
from fairbandits.service.export import export
from fairbandits.service.lifecycle.retention import prune
from fairbandits.service.log.appender import append
from fairbandits.service.log.events import Rewarded
from fairbandits.service.state.decider import decide_many
from fairbandits.service.verification import verify
from tests.service.lifecycle.services import as_request, policy_checksum, pseudonym, save_snapshot
from tests.service.lifecycle.test_retention import DAY, Clock

DAYS, VISITS = 30, 300
# Its snapshots are small beside the log from the first day on.
POLICY = "FairLinUCB(alpha=0.5, gamma=2, min_probability=0.001, model=shared)"


def opened_engine(url, **changed):
    engine = Engine(demo_config(store={"url": url}, policy=POLICY, reward={"window_days": 2}, **changed))
    engine._open()
    return engine


def write_all(engine, events):
    """Append events in one transaction, and apply them."""
    append(engine.store, [as_request(event) for event in events], engine.follower.seq)
    last = engine.store.last_seq()
    while engine.follower.seq < last:
        engine.follower.apply(engine.store.read(engine.follower.seq))


def decide_for(engine, students, numbers):
    users = [students.request(number) | {"user": pseudonym(number)} for number in numbers]
    return decide_many(engine.recommender, users)


@pytest.mark.slow
def test_a_month(store_url, tmp_path, students, monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    kept = opened_engine(f"sqlite:///{tmp_path}/all.db")
    pruned = opened_engine(store_url, retention={"decisions": "7 days"})
    rng = np.random.default_rng(0)
    late, sizes = [], []
    for _ in range(DAYS):
        clock.now += DAY
        rewards = [Rewarded(decided.id, clock.now, float(rng.random())) for decided in late]
        decisions = decide_for(kept, students, rng.integers(200, size=VISITS).tolist())
        for number, decided in enumerate(decisions):
            if number % 3 == 1:
                rewards.append(Rewarded(decided.id, clock.now, float(rng.random())))
        late = decisions[::3]
        for engine in (kept, pruned):
            write_all(engine, [*decisions, *rewards])
            save_snapshot(engine)
        prune(pruned.store, pruned.config, clock.now)
        sizes.append((file_size(kept), file_size(pruned)))
    assert policy_checksum(kept) == policy_checksum(pruned)
    assert kept.monitor.totals.tolist() == pruned.monitor.totals.tolist()
    for engine, name in ((kept, "all"), (pruned, "rest")):
        export(engine.config, tmp_path / f"{name}.parquet")
        engine.store.close()
    check_rest(tmp_path)
    assert verify(pruned.config).log.deleted > 20 * VISITS
    restarted = opened_engine(store_url, retention={"decisions": "7 days"})
    assert policy_checksum(restarted) == policy_checksum(kept)
    restarted.store.close()
    if "sqlite" in store_url:
        report(sizes, capsys)


def file_size(engine):
    """The size of the file, all of which a checkpoint has written to it."""
    if not engine.store.is_sqlite:
        return 0
    with engine.store.connection() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(engine.store.engine.url.database).stat().st_size


def check_rest(folder):
    """Check that what remains is what a log without retention has, and that it can be audited and evaluated."""
    whole, rest = (parquet.read_table(folder / f"{name}.parquet") for name in ("all", "rest"))
    held = rest["decision"].to_pylist()
    assert 7 * VISITS <= len(held) <= 9 * VISITS
    first = whole["decision"].to_pylist().index(held[0])
    position = {decision: place for place, decision in enumerate(whole["decision"].to_pylist())}
    same = whole.take([position[decision] for decision in held])
    assert first > 0
    assert same.to_pylist() == rest.to_pylist()
    parquet.write_table(same.replace_schema_metadata(rest.schema.metadata), folder / "same.parquet")
    found, expected = (audit(folder / f"{name}.parquet") for name in ("rest", "same"))
    assert found.fingerprint == expected.fingerprint
    values = [evaluate(folder / f"{name}.parquet", {"uniform": Uniform()}) for name in ("rest", "same")]
    assert values[0].policies[0].to_dict() == values[1].policies[0].to_dict()


def report(sizes, capsys):
    week, month = sizes[8], sizes[-1]
    entries = (DAYS - 9) * VISITS * 5 / 3
    grown = (month[1] - week[1]) / entries
    with capsys.disabled():
        sys.stdout.write(
            f"\n{DAYS} days of {VISITS} decisions, retention of a week: {week[1]:,} bytes after 9 days, "
            f"{month[1]:,} at the end, {grown:.0f} for each pruned entry; without retention {week[0]:,} and "
            f"{month[0]:,}\n"
        )
    # But for the digests, the file has stopped growing.
    assert grown < 300
    assert month[1] - week[1] < 0.3 * (month[0] - week[0])
