"""Measure the first use in a fresh installation: every repetition starts from an empty cache of compiled kernels.

    python benchmarks/first_contact.py

For each model, with contexts as a matrix and through a catalogue, it prints CPU seconds and wall-clock seconds of
the import, of the first `choose` and the first `learn`, and until every kernel of the model has been needed: 200
rounds with sparse and then with dense contexts. Each repetition is a fresh process with a cache folder of its own;
medians of three.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODELS = ("disjoint", "shared", "hybrid")
SOURCES = ("matrix", "catalogue")
STEPS = ("import", "first decision", "all kernels")
REPETITIONS, ROUNDS = 3, 200
# Few arms and columns, so that every arm soon has more observations than columns.
N_ARMS, N_USER, N_ARM = 4, 10, 6


class Stopwatch:
    """CPU time of all threads and wall-clock time since the last reading."""

    def __init__(self) -> None:
        self._last = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Return CPU seconds and wall-clock seconds since the last reading."""
        before, self._last = self._last, (time.process_time(), time.perf_counter())
        return self._last[0] - before[0], self._last[1] - before[1]


def worker(model: str, source: str) -> dict[str, tuple[float, float]]:
    """Measure one first use, in this process."""
    watch = Stopwatch()
    import fairbandits  # noqa: PLC0415 - the import is measured

    readings = {"import": watch.read()}
    import numpy as np  # noqa: PLC0415 - a part of the import that is measured

    rng = np.random.default_rng(0)
    arms = np.eye(N_ARM)[:N_ARMS]
    policy = fairbandits.LinUCB(model=model, random_state=0)
    catalogue = fairbandits.Catalogue(arms, N_USER) if source == "catalogue" else None
    for number in range(ROUNDS):
        is_sparse = number < ROUNDS // 2
        user = np.eye(N_USER)[rng.integers(N_USER)] if is_sparse else rng.random(N_USER)
        contexts = np.hstack([np.tile(user, (N_ARMS, 1)), arms]) if catalogue is None else catalogue.offer(user)
        policy.learn(policy.choose(contexts, group=("a", "b")[number % 2]), float(rng.random()))
        if number == 0:
            readings["first decision"] = watch.read()
    rest = watch.read()
    first = readings["first decision"]
    return readings | {"all kernels": (first[0] + rest[0], first[1] + rest[1])}


def measure(model: str, source: str) -> dict[str, tuple[float, float]]:
    """Measure one first use in a fresh process, with an empty kernel cache."""
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, __file__, model, source]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    readings: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return readings


def main() -> None:
    """Measure all models, and print medians."""
    print("CPU seconds (wall-clock seconds)")
    print(f"{'model':<10}{'contexts':<11}{''.join(f'{step:>18}' for step in STEPS)}", flush=True)
    for model in MODELS:
        for source in SOURCES:
            runs = [measure(model, source) for _ in range(REPETITIONS)]
            cells = ""
            for step in STEPS:
                cpu, wall = (statistics.median(run[step][clock] for run in runs) for clock in (0, 1))
                cells += f"{f'{cpu:.1f} ({wall:.1f})':>18}"
            print(f"{model:<10}{source:<11}{cells}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(worker(*sys.argv[1:])))
    else:
        main()
