"""Cost of a second worker: processor time per request, and the latency of one client, on PostgreSQL.

    python benchmarks/workers.py                 # 100 and 10,000 arms: about four minutes
    python benchmarks/workers.py --arms 100

Two services take turns, one with one worker and one with two, each with a log of its own in the same PostgreSQL.
The median of the turns counts. Every worker applies all entries, so its time is that of the requests which it
answers and of following the others. Both services are saturated, with as many connections for each worker, so that
batches are about as large. Turns end with a pause in which all entries are applied.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from load import new_store, running, student_bodies
from load_client import Decisions, Mixed, Source, Turn, drive, post
from load_servers import Process, ours, processor_seconds

CONNECTIONS = 128
TURNS, SECONDS = 7, 2.0
PAUSE = 0.5
MOST_CPU, MOST_LATENCY = 1.2, 1.3


@dataclass
class Cost:
    """The turns of one kind of requests, with the processor microseconds for each request."""

    service: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)

    def add(self, server: Process, postmaster: int, source: Source, connections: int, seconds: float) -> None:
        """Measure another turn."""
        before, before_database = server.cpu, processor_seconds(postmaster)
        turn: Turn = uvloop.run(drive(server.host, server.port, source, connections, seconds))
        time.sleep(PAUSE)
        n = len(turn.latencies)
        if turn.statuses[b"200"] != n:
            raise RuntimeError(f"requests were refused: {turn.statuses}")
        self.service.append(1e6 * (server.cpu - before) / n)
        self.database.append(1e6 * (processor_seconds(postmaster) - before_database) / n)
        self.latency.append(1e3 * turn.percentile(50))
        self.rate.append(turn.rate)


def measure(
    folder: Path, new_url: Callable[[], str], arms: int, turns: int, seconds: float
) -> dict[tuple[str, int], Cost]:
    """Measure all kinds of requests with one worker and with two."""
    bodies = student_bodies()
    postmaster = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    started = {workers: ours(folder, arms, new_url(), workers) for workers in (1, 2)}
    costs: dict[tuple[str, int], Cost] = {}
    with running(*(process for process, _ in started.values())):
        for turn in range(turns + 1):
            for workers, (process, key) in started.items():
                asked = [post("/v1/decisions", body, key) for body in bodies]
                kinds: dict[str, tuple[Source, int]] = {
                    "decisions": (Decisions(asked), CONNECTIONS * workers),
                    "decisions and rewards": (Mixed(asked, key), CONNECTIONS * workers),
                    "one client": (Decisions(asked), 1),
                }
                for kind, (source, connections) in kinds.items():
                    # In the first turn everything is compiled, and arms learn something.
                    cost = costs.setdefault((kind, workers), Cost()) if turn else Cost()
                    cost.add(process, postmaster, source, connections, seconds)
    return costs


def table(costs: dict[tuple[str, int], Cost]) -> str:
    """Return the costs as a table."""
    titles = ("CPU us", "database CPU us", "p50 ms", "requests/s")
    rows = [f"{'':32}" + "".join(f"{title:>17}" for title in titles)]
    for (kind, workers), cost in sorted(costs.items()):
        values = (cost.service, cost.database, cost.latency, cost.rate)
        numbers = "".join(f"{statistics.median(each):17,.2f}" for each in values)
        rows.append(f"{f'{kind}, {workers} worker(s)':32}{numbers}")
    return "\n".join(rows)


def ratio(costs: dict[tuple[str, int], Cost], kind: str, what: str) -> float:
    """Return the cost with two workers relative to that with one: the median of the turns."""
    one, two = (getattr(costs[kind, workers], what) for workers in (1, 2))
    return float(statistics.median(b / a for a, b in zip(one, two, strict=True)))


def main() -> int:
    """Measure, print, and return whether a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    missed = False
    for arms in given.arms:
        with tempfile.TemporaryDirectory() as place, new_store(Path(place), "PostgreSQL") as new_url:
            costs = measure(Path(place), new_url, arms, given.turns, given.seconds)
        cpu, latency = ratio(costs, "decisions", "service"), ratio(costs, "one client", "latency")
        mixed = ratio(costs, "decisions and rewards", "service")
        print(
            f"\nPostgreSQL, {arms:,} arms, 134 features, {CONNECTIONS} connections for each worker\n{table(costs)}"
        )
        print(
            f"two workers relative to one: CPU {cpu:.2f} per decision (goal: at most {MOST_CPU}), {mixed:.2f} "
            f"with rewards; latency of one client {latency:.2f} (goal: at most {MOST_LATENCY})",
            flush=True,
        )
        missed |= cpu > MOST_CPU or latency > MOST_LATENCY
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
