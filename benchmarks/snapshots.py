"""What snapshots cost the requests that are answered meanwhile.

Two services receive the same requests in turns. One saves no snapshots, the other one all the time. The table has
the latencies of both; the goal is a 99th percentile at most twice as high.

python benchmarks/snapshots.py                       # SQLite and PostgreSQL, 100 arms
python benchmarks/snapshots.py --arms 1000 --store SQLite
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

import numpy as np

from load import new_store, running, student_bodies
from load_client import Mixed, drive, post
from load_servers import Process, ours

GOAL = 2.0
CONNECTIONS = 8
# Entries between two snapshots: fewer than are written while one is saved, and more than ever come.
ALWAYS, NEVER = 500, 10**9


def measure(folder: Path, arms: int, urls: tuple[str, str], turns: int, seconds: float) -> list[list[float]]:
    """Return the latencies without snapshots and with them, in seconds."""
    started = [
        ours(folder, arms, url, snapshot_every=every) for url, every in zip(urls, (NEVER, ALWAYS), strict=True)
    ]
    latencies: list[list[float]] = [[], []]
    with running(*(server for server, _ in started)):
        for turn in range(-1, turns):
            for (server, key), kept in zip(started, latencies, strict=True):
                found = _drive(server, key, seconds)
                if turn >= 0:  # the first one compiles, and makes something to save
                    kept.extend(found)
    return latencies


def _drive(server: Process, key: str, seconds: float) -> list[float]:
    asked = [post("/v1/decisions", body, key) for body in student_bodies()]
    turn = asyncio.run(drive(server.host, server.port, Mixed(asked, key), CONNECTIONS, seconds))
    if set(turn.statuses) != {b"200"}:
        raise RuntimeError(f"requests were refused: {turn.statuses}")
    return turn.latencies


def main() -> int:
    """Measure, print, and return whether the goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=100)
    parser.add_argument("--store", nargs="+", choices=["SQLite", "PostgreSQL"], default=["SQLite", "PostgreSQL"])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    ratios = []
    for name in given.store:
        with tempfile.TemporaryDirectory() as place, new_store(Path(place), name) as new_url:
            latencies = measure(Path(place), given.arms, (new_url(), new_url()), given.turns, given.seconds)
        print(f"\n{name}, {given.arms:,} arms, {CONNECTIONS} connections")
        print(f"{'':18}{'requests':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}")
        for kind, each in zip(("without snapshots", "with snapshots"), latencies, strict=True):
            p50, p99, most = 1000 * np.percentile(each, [50, 99, 100])
            print(f"{kind:18}{len(each):9,}{p50:9.1f}{p99:9.1f}{most:9.1f}")
        ratios.append(np.percentile(latencies[1], 99) / np.percentile(latencies[0], 99))
        print(f"99th percentile: {ratios[-1]:.2f} times as high; the goal is at most {GOAL:g}", flush=True)
    return int(max(ratios) > GOAL)


if __name__ == "__main__":
    raise SystemExit(main())
