"""Measure all contenders on W1, W2 and W3, each in its own environment.

    python benchmarks/compare.py [--quick] [--only NAME ...]

W1  online, 100 arms, 134 columns, mostly one-hot: the paper's world
W2  online, 1,000 arms, 64 columns, dense
W3  batch, 10,000 users with a model trained on W1

Every contender is first checked against the textbook. Each measurement runs in its own process, warms up, and
takes several runs. All contenders take turns, twice, so that load on the machine affects all of them. Writes the
part "peers" of results.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import prepare
import results
from contenders import CONTENDERS, Contender
from environments import NoEnvironmentError, python_of
from threads import thread_variables

MEASURE = results.ROOT / "measure.py"
LIMIT = 300.0  # seconds for one measurement


class Session:
    """The measurements of each contender so far, and how to take more."""

    def __init__(self, contenders: Sequence[Contender], folder: Path, quick: bool) -> None:
        self.folder = folder
        self.seconds, self.repeats = (0.1, 2) if quick else (0.25, 3)
        self.utility_seconds = 2.0 if quick else 6.0
        self.measured: dict[str, dict[str, Any]] = {}
        self.pythons: dict[str, Path] = {}
        for contender in contenders:
            self._admit(contender)
        self.contenders = [contender for contender in contenders if contender.name in self.pythons]

    def _admit(self, contender: Contender) -> None:
        """Find the environment of a contender; record an error if there is none."""
        description = {
            "computes": contender.computes,
            "contexts": contender.contexts,
            "is_ours": contender.is_ours,
            "model": contender.model,
        }
        self.measured[contender.name] = description | {"release": " ".join((*contender.bare, *contender.pins[:1]))}
        try:
            self.pythons[contender.name] = python_of(contender)
        except NoEnvironmentError as error:
            self.measured[contender.name]["error"] = str(error)

    def check(self) -> None:
        """Check the chosen arms against the textbook, and time imports."""
        for contender in self.contenders:
            if contender.imports:
                seconds = import_seconds(self.pythons[contender.name], contender.imports)
                self.measured[contender.name]["import_s"] = seconds
            if contender.is_checked:
                self._record(contender, "check", self._run(contender, "check", 1))

    def speed(self, what: str, threads: int, key: str) -> None:
        """Measure one workload once for every contender."""
        for contender in self.contenders:
            if what in contender.workloads and "error" not in self.measured[contender.name]:
                self._add_runs(contender, what, key, self._run(contender, what, threads))

    def utility(self) -> None:
        """Measure the utility loss of every contender on W1."""
        for contender in self.contenders:
            if "w1" in contender.workloads and "error" not in self.measured[contender.name]:
                self._record(contender, "utility", self._run(contender, "utility", 1))

    def _run(self, contender: Contender, what: str, threads: int) -> dict[str, Any]:
        """Run a measurement in the environment of the contender."""
        request = {
            "module": contender.module, "options": contender.options, "what": what, "folder": str(self.folder),
            "seconds": self.utility_seconds if what == "utility" else self.seconds, "repeats": self.repeats,
        }  # fmt: skip
        command = [str(self.pythons[contender.name]), str(MEASURE), json.dumps(request)]
        return run_json(command, threads)

    def _record(self, contender: Contender, part: str, result: dict[str, Any]) -> None:
        if "error" in result:
            self.measured[contender.name]["error"] = f"{part}: {result['error']}"
        else:
            self.measured[contender.name][part] = result

    def _add_runs(self, contender: Contender, what: str, key: str, result: dict[str, Any]) -> None:
        """Add runs to those of earlier turns."""
        if "error" in result:
            self._record(contender, what, result)
            return
        total = self.measured[contender.name].setdefault(what, {}).setdefault(key, {"rates": [], "peak_bytes": 0})
        total["rates"] += result["rates"]
        total["rate"] = statistics.median(total["rates"])
        total["peak_bytes"] = max(total["peak_bytes"], result["peak_bytes"])


def run_json(command: list[str], threads: int) -> dict[str, Any]:
    """Run a command with a number of threads; return the JSON in its last line, or an error."""
    env = os.environ | thread_variables(threads) | {"PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=env, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {LIMIT:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@cache
def import_seconds(python: Path, module: str) -> float | None:
    """Return the median import time of three fresh processes."""
    code = (
        f"import json, time; start = time.perf_counter(); import {module}; "
        "print(json.dumps({'seconds': time.perf_counter() - start}))"
    )
    runs = [run_json([str(python), "-c", code], 1) for _ in range(3)]
    times = [run["seconds"] for run in runs if "seconds" in run]
    return statistics.median(times) if times else None


def compare(contenders: Sequence[Contender], quick: bool) -> dict[str, Any]:
    """Measure everything, and print the progress."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare.write_all(folder)
        session = Session(contenders, folder, quick)
        cores = os.cpu_count() or 1
        _print_progress(started, "checking all contenders against the textbook")
        session.check()
        for turn in range(1 if quick else 2):
            for what in ("w1", "w2", "w3"):
                _print_progress(started, f"{what}, one thread, turn {turn + 1}")
                session.speed(what, 1, "one")
        for what in ("w1", "w2", "w3"):
            _print_progress(started, f"{what}, {cores} threads")
            session.speed(what, cores, "all")
        _print_progress(started, "utility")
        session.utility()
    return {"machine": results.machine(), "quick": quick, "seconds": time.perf_counter() - started,
            "contenders": session.measured}  # fmt: skip


def _print_progress(started: float, text: str) -> None:
    print(f"{time.perf_counter() - started:5.0f} s  {text}", flush=True)


def main() -> int:
    """Measure, and save the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short runs, to check that everything works")
    parser.add_argument("--only", nargs="+", default=(), help="substrings of the names of contenders")
    options = parser.parse_args()
    chosen = [
        contender
        for contender in CONTENDERS
        if not options.only or contender.is_ours or any(part in contender.name for part in options.only)
    ]
    results.save("peers", compare(chosen, options.quick))
    return 0


if __name__ == "__main__":
    sys.exit(main())
