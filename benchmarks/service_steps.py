"""Processor time of each step of a decision and of a reward in the service, and the bytes that are stored.

    python benchmarks/service_steps.py           # about a minute

One process, without HTTP, which `load.py` measures (the empty endpoint). Requests come in batches, as under load.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairbandits.service.engine import Engine
from fairbandits.service.http.messages import parse
from fairbandits.service.http.schemas import Schemas
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.events import Rewarded, reward_key
from fairbandits.service.log.store import Store
from fairbandits.service.state.decider import Decider, DecisionRequest
from load import new_store, student_bodies
from load_servers import service_config

BATCH, TURNS = 64, 20


class Steps:
    """Processor microseconds per request, by step."""

    def __init__(self) -> None:
        self._turns: dict[str, list[float]] = {}

    def measure(self, step: str, function: Callable[[], Any]) -> Any:
        """Call a function for a batch, and add its time to a step."""
        began = time.process_time()
        result = function()
        self._turns.setdefault(step, []).append(1e6 * (time.process_time() - began) / BATCH)
        return result

    def table(self) -> str:
        """Return the median of each step."""
        return "\n".join(f"  {step:44}{statistics.median(turns):8.1f}" for step, turns in self._turns.items())


def measure(url: str, arms: int) -> tuple[Steps, Store]:
    """Measure all steps in a new store, on which a second process follows."""
    config = service_config(arms, {"url": url})
    engine, other, steps = Engine(config), Store(url), Steps()
    engine.open()
    followed = Engine(config)
    followed.open()
    schema = Schemas(config, None).decision
    bodies = student_bodies(BATCH)
    for _ in range(TURNS):
        users = steps.measure("decision: parse and validate", lambda: [parse(schema, each) for each in bodies])
        requests = [DecisionRequest(users=[user]) for user in users]
        prepared = steps.measure("decision: decide", partial(Decider(engine.follower).prepare, requests))
        made = _write(steps, "decision", engine, prepared)
        _follow(steps, "decision", followed, other)
        rewards = [
            AppendEvents(events=[Rewarded(decision, time.time(), 0.5)], depends_on=[reward_key(decision)])
            for decision in (entry.event.id for entry in made)
        ]
        _write(steps, "reward", engine, rewards)
        _follow(steps, "reward", followed, other)
    engine.store.close()
    followed.store.close()
    return steps, other


def _write(steps: Steps, kind: str, engine: Engine, requests: Sequence[Any]) -> list[Any]:
    appended = steps.measure(f"{kind}: append", lambda: append(engine.store, requests, engine.follower.seq))
    steps.measure(f"{kind}: apply", lambda: engine.follower.apply(appended.entries))
    return list(appended.entries)


def _follow(steps: Steps, kind: str, followed: Engine, store: Store) -> None:
    entries = steps.measure(f"{kind}: read by another worker", lambda: store.read(followed.follower.seq))
    steps.measure(f"{kind}: apply by another worker", lambda: followed.follower.apply(entries))


def stored_bytes(store: Store, name: str, folder: Path) -> str:
    """Return the bytes of entries: those of the events as JSON, and those on disk with all indices."""
    with store.connection() as connection:
        rows = connection.exec_driver_sql("SELECT kind, avg(length(body)) FROM events GROUP BY kind").all()
        entries = connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one()
        if name == "SQLite":
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            size = sum(path.stat().st_size for path in folder.glob("*.db"))
        else:
            size = connection.exec_driver_sql("SELECT pg_total_relation_size('events')").scalar_one()
    bodies = ", ".join(f"{kind} {float(length):,.0f}" for kind, length in rows)
    return f"  bytes of JSON: {bodies}; on disk per entry, half decisions and half rewards: {size / entries:,.0f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--store", nargs="+", choices=["SQLite", "PostgreSQL"], default=["SQLite", "PostgreSQL"])
    given = parser.parse_args()
    for name, arms in ((name, arms) for name in given.store for arms in given.arms):
        with tempfile.TemporaryDirectory() as place, new_store(Path(place), name) as new_url:
            steps, store = measure(new_url(), arms)
            print(f"\n{name}, {arms:,} arms, 134 features, batches of {BATCH}: processor microseconds per request")
            print(f"{steps.table()}\n{stored_bytes(store, name, Path(place))}", flush=True)
            store.close()


if __name__ == "__main__":
    main()
