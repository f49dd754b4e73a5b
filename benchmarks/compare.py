"""Measure all contenders on W1, W2 and W3, each in an environment of its own.

    python benchmarks/compare.py [--quick] [--only NAME ...]

W1  online, 100 arms, 134 wide, mostly one-hot: the paper's
W2  online, 1,000 arms, 64 wide, dense
W3  batch, 10,000 users against a model trained on W1

Every contender is first checked against the textbook. Each measurement is a process of its own, warms up, and
takes several runs; all contenders take turns, twice, so that a busy moment of the machine does not hit one
alone. Writes the part "peers" of results.json.
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

MEASURE = results.ROOT / "measure.py"
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LIMIT = 300.0  # seconds for one measurement


class Session:
    """What was found of each contender so far, and how to find more."""

    def __init__(self, contenders: Sequence[Contender], folder: Path, quick: bool) -> None:
        self.folder = folder
        self.seconds, self.repeats = (0.1, 2) if quick else (0.25, 3)
        self.utility_seconds = 2.0 if quick else 6.0
        self.found: dict[str, dict[str, Any]] = {}
        self.pythons: dict[str, Path] = {}
        for contender in contenders:
            self._admit(contender)
        self.contenders = [contender for contender in contenders if contender.name in self.pythons]

    def _admit(self, contender: Contender) -> None:
        """Find its environment; where there is none, say so and go on."""
        facts = {
            "computes": contender.computes,
            "contexts": contender.contexts,
            "is_ours": contender.is_ours,
            "model": contender.model,
        }
        self.found[contender.name] = facts | {"release": " ".join((*contender.bare, *contender.pins[:1]))}
        try:
            self.pythons[contender.name] = python_of(contender)
        except NoEnvironmentError as error:
            self.found[contender.name]["error"] = str(error)

    def check(self) -> None:
        """Check arms against the textbook, and time imports."""
        for contender in self.contenders:
            if contender.imports:
                took = import_seconds(self.pythons[contender.name], contender.imports)
                self.found[contender.name]["import_s"] = took
            if contender.is_checked:
                self._keep(contender, "check", self._ask(contender, "check", 1))

    def speed(self, what: str, threads: int, key: str) -> None:
        """Let everyone measure one workload once."""
        for contender in self.contenders:
            if what in contender.workloads and "error" not in self.found[contender.name]:
                self._add(contender, what, key, self._ask(contender, what, threads))

    def utility(self) -> None:
        """Let everyone live through the rounds of W1."""
        for contender in self.contenders:
            if "w1" in contender.workloads and "error" not in self.found[contender.name]:
                self._keep(contender, "utility", self._ask(contender, "utility", 1))

    def _ask(self, contender: Contender, what: str, threads: int) -> dict[str, Any]:
        """Run a measurement in the contender's environment."""
        request = {
            "module": contender.module, "options": contender.options, "what": what, "folder": str(self.folder),
            "seconds": self.utility_seconds if what == "utility" else self.seconds, "repeats": self.repeats,
        }  # fmt: skip
        command = [str(self.pythons[contender.name]), str(MEASURE), json.dumps(request)]
        return answer(command, threads)

    def _keep(self, contender: Contender, part: str, given: dict[str, Any]) -> None:
        if "error" in given:
            self.found[contender.name]["error"] = f"{part}: {given['error']}"
        else:
            self.found[contender.name][part] = given

    def _add(self, contender: Contender, what: str, key: str, given: dict[str, Any]) -> None:
        """Add runs to those of earlier turns."""
        if "error" in given:
            self._keep(contender, what, given)
            return
        known = self.found[contender.name].setdefault(what, {}).setdefault(key, {"rates": [], "peak_bytes": 0})
        known["rates"] += given["rates"]
        known["rate"] = statistics.median(known["rates"])
        known["peak_bytes"] = max(known["peak_bytes"], given["peak_bytes"])


def answer(command: list[str], threads: int) -> dict[str, Any]:
    """Run a command with so many threads; give the JSON it prints last, or what went wrong."""
    env = os.environ | dict.fromkeys(THREADS, str(threads)) | {"PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=env, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {LIMIT:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@cache
def import_seconds(python: Path, module: str) -> float | None:
    """Time an import in processes of their own; the median of three."""
    code = (
        f"import json, time; start = time.perf_counter(); import {module}; "
        "print(json.dumps({'seconds': time.perf_counter() - start}))"
    )
    runs = [answer([str(python), "-c", code], 1) for _ in range(3)]
    times = [run["seconds"] for run in runs if "seconds" in run]
    return statistics.median(times) if times else None


def compare(contenders: Sequence[Contender], quick: bool) -> dict[str, Any]:
    """Measure all of it, and say how far it is."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare.write_all(folder)
        session = Session(contenders, folder, quick)
        cores = os.cpu_count() or 1
        _say(started, "checking all against the textbook")
        session.check()
        for turn in range(1 if quick else 2):
            for what in ("w1", "w2", "w3"):
                _say(started, f"{what}, one thread, turn {turn + 1}")
                session.speed(what, 1, "one")
        for what in ("w1", "w2", "w3"):
            _say(started, f"{what}, {cores} threads")
            session.speed(what, cores, "all")
        _say(started, "utility")
        session.utility()
    return {"machine": results.machine(), "quick": quick, "seconds": time.perf_counter() - started,
            "contenders": session.found}  # fmt: skip


def _say(started: float, text: str) -> None:
    print(f"{time.perf_counter() - started:5.0f} s  {text}", flush=True)


def main() -> int:
    """Measure, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short runs, to see that all works")
    parser.add_argument("--only", nargs="+", default=(), help="parts of names of contenders")
    options = parser.parse_args()
    chosen = [
        contender
        for contender in CONTENDERS
        if not options.only or contender.is_ours or any(part in contender.name for part in options.only)
    ]
    results.keep("peers", compare(chosen, options.quick))
    return 0


if __name__ == "__main__":
    sys.exit(main())
