"""Attack servers on SQLite and PostgreSQL, with one and with two workers, and print what held.

    python -m tests.torture              # at most 30 minutes
    python -m tests.torture --quick      # about three minutes
    python -m tests.torture --only 'file' --kind SQLite --workers 1

Everything happens on this machine, through the loopback interface, bounded in time and number. The exit status is
1 if a promise was broken. Left out, because they need a file system of their own: a full disk under PostgreSQL,
and a read-only one under SQLite.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbandits.service.demo import DemoStudents
from tests.postgres import Postgres
from tests.torture.scenarios import SCENARIOS, STALL, Scenario
from tests.torture.target import BACK, NOTICED, Target, Watch

MAX_SECONDS = 1700.0
_WIDTH = 24


@dataclass
class Row:
    """A line of the table, and whether all promises were kept."""

    scenario: str
    kind: str
    workers: int
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    state: str = "equal"
    stall: float = 0.0
    ready: str = "-"
    error: str = ""

    @property
    def is_good(self) -> bool:
        """Whether all promises were kept."""
        kept = not self.lost and not self.doubled and self.state == "equal" and self.ready != "no"
        return kept and self.stall <= STALL and not self.error

    def __str__(self) -> str:
        """Return the line."""
        return (
            f"{self.scenario:{_WIDTH}}{self.kind:12}{self.workers:8}{self.acknowledged:14,}{self.lost:6}"
            f"{self.doubled:9}{self.state:>8}{self.stall:9.2f} s{self.ready:>10}   "
            f"{'' if self.is_good else 'BROKEN ' + self.error}"
        )


_HEAD = (
    f"{'scenario':{_WIDTH}}{'database':12}{'workers':>8}{'acknowledged':>14}{'lost':>6}{'doubled':>9}{'state':>8}"
    f"{'stall':>11}{'readiness':>10}"
)


def attack(scenario: Scenario, target: Target, postgres: Any, seconds: float) -> Row:
    """Run a scenario, and compare the log with what was acknowledged."""
    row = Row(scenario.name, target.kind, target.workers)
    before = target.acknowledged
    target.wait_for_more(10)
    for client in target.clients:
        client.slowest = 0.0
    with target.watched() as watch:
        done, since = target.acknowledged, time.monotonic()
        with scenario.attack(target, postgres, seconds):
            began = time.monotonic()  # the fault is there: waiting for a lock takes a moment
            if scenario.stops_writing:
                time.sleep(max(seconds, NOTICED + 1.0))
            ended = time.monotonic()
            done = target.acknowledged - done
        target.server.wait()
        target.wait_for_more(20)
        time.sleep(0.2)  # the watcher looks once more
    row.stall = 0.0 if scenario.kills else watch.stall
    if scenario.stops_writing:
        row.ready = "honest" if _is_honest(watch, began, ended) else "no"
    if scenario.fewest is not None:
        row.ready = "no" if watch.first(False, since) else "steady"
        if done < scenario.fewest * (ended - since):
            row.error = f"only {done} decisions and rewards in {ended - since:.1f} s"
    row.lost, row.doubled, is_equal = target.compare()
    row.state = "equal" if is_equal else "differs"
    row.acknowledged = target.acknowledged - before
    if watch.unhealthy and not scenario.kills:
        row.error = f"/health was not 200, {watch.unhealthy} times"
    slowest = max(client.slowest for client in target.clients)
    if scenario.stops_writing and slowest > NOTICED:
        row.error = f"a request was answered after {slowest:.1f} s"
    target.resume()
    return row


def _is_honest(watch: Watch, began: float, ended: float) -> bool:
    """Return whether readiness followed a fault in time, stayed false, and came back."""
    noticed = watch.first(False, began)
    if noticed is None or noticed > began + NOTICED:
        return False
    # Each worker notices by itself.
    back = watch.first(True, ended)
    return not watch.was_ready(began + NOTICED, ended) and back is not None and back < ended + BACK


def main() -> int:
    """Run the scenarios, print the table, and return whether a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="short attacks, and one or two workers for each database"
    )
    parser.add_argument("--only", default="", help="scenarios whose names contain this")
    parser.add_argument("--kind", choices=["SQLite", "PostgreSQL"])
    parser.add_argument("--workers", type=int, choices=[1, 2])
    given = parser.parse_args()
    seconds, until = (2.0 if given.quick else 8.0), time.monotonic() + MAX_SECONDS
    students, rows = DemoStudents(), []
    print(_HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="fairbandits-torture-") as place:
        folder = Path(place)
        folder.chmod(0o755)  # if root runs this, PostgreSQL runs as another user
        postgres = Postgres(folder / "postgres")
        try:
            targets = [("SQLite", 1), ("PostgreSQL", 2)] if given.quick else _TARGETS
            for kind, workers in targets if not given.workers else _TARGETS:
                if given.kind in (None, kind) and given.workers in (None, workers):
                    rows += _attack_all(folder, kind, workers, students, postgres, seconds, until, given.only)
        finally:
            postgres.close()
    broken = [row for row in rows if not row.is_good]
    total = sum(row.acknowledged for row in rows)
    print(f"\n{len(rows)} scenarios, {total:,} decisions and rewards acknowledged, {len(broken)} promises broken")
    return int(bool(broken))


_TARGETS = [(kind, workers) for kind in ("SQLite", "PostgreSQL") for workers in (1, 2)]


def _attack_all(
    folder: Path, kind: str, workers: int, students: Any, postgres: Any, seconds: float, until: float, only: str
) -> list[Row]:
    """Run all scenarios of a database and a number of workers, with a new server after a broken promise."""
    rows: list[Row] = []
    with ExitStack() as stack:
        target: Target | None = None
        for number, scenario in enumerate(SCENARIOS):
            if kind not in scenario.kinds or workers not in scenario.workers or only not in scenario.name:
                continue
            if time.monotonic() > until:
                row = Row(scenario.name, kind, workers, error="out of time")
            else:
                if target is None:
                    place = folder / f"{kind}-{workers}-{number}"
                    place.mkdir()
                    url = f"sqlite:///{place}/log.db" if kind == "SQLite" else postgres.new_database()
                    target = stack.enter_context(closing(Target(place, kind, url, workers, students)))
                row = _attack_or_fail(scenario, target, postgres, seconds)
            rows.append(row)
            print(row, flush=True)
            if not row.is_good:
                stack.close()
                target = None
    return rows


def _attack_or_fail(scenario: Scenario, target: Target, postgres: Any, seconds: float) -> Row:
    """Run a scenario; an error of it is a broken promise."""
    try:
        return attack(scenario, target, postgres, seconds)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"[:200]
        return Row(scenario.name, target.kind, target.workers, state="unknown", error=what)


if __name__ == "__main__":
    raise SystemExit(main())
