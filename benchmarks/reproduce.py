"""W5: a whole `fairbandits reproduce`, and how much faster a run of the paper's size is than the textbook loop.

The textbook inverts the matrix of every arm in every round. All of it would take minutes, so it runs for a
few rounds, and its time per round is what counts; that does not grow with the rounds. Both have one thread,
as every run of `simulate_many` has: with more, the inverses of matrices this small take anything from less time
to twice as much, by what else the machine does. Writes the part "reproduce" of results.json.

    python benchmarks/reproduce.py [--rounds 5000] [--textbook-rounds 30]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import results
from baselines import Textbook
from fairbandits import LinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos


def textbook_run(world: StudentsAndVideos, rounds: int) -> None:
    """Live through the first rounds of a world as the textbook does."""
    policy = Textbook(world.n_arms, len(world.columns), alpha=0.5)
    for visit in islice(world.visits(), rounds):
        contexts = np.asarray(visit.contexts)
        arm = policy.choose(contexts)
        policy.learn(arm, contexts[arm], visit.rewards[arm])


def seconds(work: Callable[[], Any], times: int) -> float:
    """Measure the median of several times."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def whole_seconds(*options: str) -> float:
    """Time the command from its start to its report, with a process for each core."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "fairbandits",
            "reproduce",
            "--data",
            "stand-in",
            "--out",
            folder,
            *options,
        ]
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - start


def main() -> int:
    """Measure, print, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--textbook-rounds", type=int, default=30)
    options = parser.parse_args()
    train = options.rounds * 3 // 5
    world = StudentsAndVideos(train=train, test=options.rounds - train, data="stand-in")
    with threadpool_limits(limits=1):
        simulate(LinUCB(random_state=0), world, 20)  # compiles
        ours = seconds(lambda: simulate(LinUCB(random_state=0), world), 5) / options.rounds
        theirs = seconds(lambda: textbook_run(world, options.textbook_rounds), 3) / options.textbook_rounds
    whole, quick = whole_seconds("--seeds", "3"), whole_seconds("--quick")
    print("W5, on the stand-in data")
    for name, each in (("simulate", ours), ("textbook", theirs)):
        whole_run = each * options.rounds
        print(f"{name} {each * 1e6:10.1f} us per round, {whole_run:8.2f} s for {options.rounds:,} rounds")
    print(f"simulate is {theirs / ours:.0f} times as fast")
    print(f"fairbandits reproduce --seeds 3 (of 20): {whole:.1f} s; --quick: {quick:.1f} s")
    results.keep(
        "reproduce",
        {
            "simulate_s": ours,
            "textbook_s": theirs,
            "ratio": theirs / ours,
            "three_seeds_s": whole,
            "quick_s": quick,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
