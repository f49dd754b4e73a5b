"""Decisions per second of the service, beside an empty endpoint of the same stack and one of plain uvicorn.

    python benchmarks/load.py                 # everything: about two minutes
    python benchmarks/load.py --arms 100      # only what the goal needs

One worker. The log is durable: SQLite with a write-ahead log and synchronous=FULL, or PostgreSQL. The servers take
turns, so that other load on the machine affects all of them, and the median of the turns counts. Needs two
processors: one for a server, one for the client.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import uvloop

from fairbandits.service.demo import DemoStudents
from load_client import Decisions, Mixed, Rewards, Same, Source, Turn, drive, post
from load_servers import Process, canned, empty, ours, plain

#: Decisions per request of an empty endpoint in plain uvicorn, with 100 arms on SQLite.
GOAL = 0.63
#: What is measured. The empty endpoints: in uvicorn as it comes, and in the service's own stack.
KINDS = ("client alone", "uvicorn, empty", "empty", "decisions", "rewards", "mixed")
CONNECTIONS = 128
TURNS, SECONDS = 7, 1.0
N_STUDENTS = 2000


@dataclass
class Measurement:
    """The turns of one kind of request, and the processor seconds of the server for each request."""

    turns: list[Turn] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests per second."""
        return statistics.median(turn.rate for turn in self.turns)

    def milliseconds(self, share: float) -> float:
        """Return a percentile of the latency in milliseconds."""
        return 1e3 * statistics.median(turn.percentile(share) for turn in self.turns)

    def add(self, server: Process, source: Source, connections: int, seconds: float) -> None:
        """Measure another turn."""
        before = server.cpu
        turn = uvloop.run(drive(server.host, server.port, source, connections, seconds))
        refused = sum(n for status, n in turn.statuses.items() if status != b"200")
        if refused or not turn.latencies:
            raise RuntimeError(f"{refused} of {len(turn.latencies)} requests were refused: {turn.statuses}")
        self.turns.append(turn)
        self.cpu.append((server.cpu - before) / len(turn.latencies))


def measure(
    folder: Path, arms: int, url: str, turns: int, seconds: float, connections: int = CONNECTIONS
) -> dict[str, Measurement]:
    """Measure all kinds of requests in turns."""
    bodies = student_bodies()
    service, key = ours(folder, arms, url)
    asked = [post("/v1/decisions", body, key) for body in bodies]
    nothing = [post("/empty", body, key) for body in bodies]
    measured = {kind: Measurement() for kind in KINDS}
    with running(service, canned(folder), plain(folder), empty(folder)) as (_, echo, stock, bare):
        # A first turn, so that arms have learned something and everything is compiled.
        Measurement().add(service, Mixed(asked, key), connections, seconds)
        Measurement().add(stock, Same(nothing), connections, seconds)
        Measurement().add(bare, Same(nothing), connections, seconds)
        for _ in range(turns):
            decisions = Decisions(asked)
            work: Sequence[tuple[str, Process, Source]] = (
                ("client alone", echo, Same(nothing)),
                ("uvicorn, empty", stock, Same(nothing)),
                ("empty", bare, Same(nothing)),
                ("decisions", service, decisions),
                ("rewards", service, Rewards(decisions.kept, key)),
                ("mixed", service, Mixed(asked, key)),
            )
            for kind, server, source in work:
                measured[kind].add(server, source, connections, seconds)
    return measured


@contextmanager
def running(*servers: Process) -> Iterator[tuple[Process, ...]]:
    """Provide servers, and stop them afterwards."""
    try:
        yield servers
    finally:
        for server in servers:
            server.stop()


def student_bodies(n: int = N_STUDENTS) -> list[bytes]:
    """Return the bodies of requests for decisions."""
    students = DemoStudents()
    return [json.dumps(students.request(number)).encode() for number in range(n)]


def table(measured: dict[str, Measurement]) -> str:
    """Return the measurements as a table."""
    base = measured["empty"].rate
    rows = [f"{'':16}{'requests/s':>11}{'of empty':>10}{'p50 ms':>9}{'p99 ms':>9}{'server CPU us':>15}"]
    for kind, line in measured.items():
        cpu = 1e6 * statistics.median(line.cpu)
        rows.append(
            f"{kind:16}{line.rate:11,.0f}{line.rate / base:10.2f}{line.milliseconds(50):9.1f}"
            f"{line.milliseconds(99):9.1f}{cpu:15.0f}"
        )
    return "\n".join(rows)


@contextmanager
def new_store(folder: Path, name: str) -> Iterator[Callable[[], str]]:
    """Provide a function that creates a database, SQLite or PostgreSQL, and returns its URL."""
    folder.chmod(0o755)  # if root runs this, PostgreSQL runs as another user
    names = (f"log{number}" for number in count())
    if name == "SQLite":
        yield lambda: f"sqlite:///{folder}/{next(names)}.db"
        return
    with warnings.catch_warnings(action="ignore"):  # about missing folders elsewhere
        from pgserver import postgres_server  # noqa: PLC0415

    server = postgres_server.get_server(folder / "data")

    def create() -> str:
        database = next(names)
        server.psql(f"CREATE DATABASE {database};")
        return str(server.get_uri(database))

    try:
        yield create
    finally:
        server.cleanup()


def in_store(arms: int, name: str, turns: int, seconds: float) -> dict[str, Measurement]:
    """Measure with a new store, SQLite or PostgreSQL."""
    with tempfile.TemporaryDirectory() as place, new_store(Path(place), name) as new_url:
        return measure(Path(place), arms, new_url(), turns, seconds)


def main() -> int:
    """Measure, print, and return whether the goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--store", nargs="+", choices=["SQLite", "PostgreSQL"], default=["SQLite", "PostgreSQL"])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    shares = []
    for name, arms in ((name, arms) for name in given.store for arms in given.arms):
        measured = in_store(arms, name, given.turns, given.seconds)
        print(
            f"\n{name}, {arms:,} arms, 134 features, one worker, {CONNECTIONS} connections\n{table(measured)}",
            flush=True,
        )
        if (name, arms) == ("SQLite", 100):
            share = measured["decisions"].rate / measured["uvicorn, empty"].rate
            shares.append(share)
            print(f"\ndecisions at {share:.2f} of the rate of an empty endpoint in plain uvicorn (goal: {GOAL})")
    return 0 if all(share >= GOAL for share in shares) else 1


if __name__ == "__main__":
    raise SystemExit(main())
