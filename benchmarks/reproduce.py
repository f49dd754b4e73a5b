"""W5: `fairbandits reproduce` as a whole, and a run of the paper's size beside the textbook's loop.

The textbook inverts the matrix of every arm in every round. Its time per round does not grow, so it is measured
over a few rounds only. Both use one thread, as every run of `simulate_many` does: with more threads, the time of
inverting such small matrices depends on the load of the machine. Writes the part "reproduce" of results.json.

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
    """Run the textbook's algorithm for the first rounds of a world."""
    policy = Textbook(world.n_arms, len(world.columns), alpha=0.5)
    for visit in islice(world.visits(), rounds):
        contexts = np.asarray(visit.contexts)
        arm = policy.choose(contexts)
        policy.learn(arm, contexts[arm], visit.rewards[arm])


def seconds(work: Callable[[], Any], times: int) -> float:
    """Return the median duration of several runs."""
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        durations.append(time.perf_counter() - start)
    return statistics.median(durations)


def command_seconds(*options: str) -> float:
    """Return the duration of the command, with one process per core."""
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
    """Measure, print, and save the results."""
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
    three_seeds, quick = command_seconds("--seeds", "3"), command_seconds("--quick")
    print("W5, on the stand-in data")
    for name, each in (("simulate", ours), ("textbook", theirs)):
        run = each * options.rounds
        print(f"{name} {each * 1e6:10.1f} us per round, {run:8.2f} s for {options.rounds:,} rounds")
    print(f"simulate is {theirs / ours:.0f} times as fast")
    print(f"fairbandits reproduce --seeds 3 (of 20): {three_seeds:.1f} s; --quick: {quick:.1f} s")
    results.save(
        "reproduce",
        {
            "simulate_s": ours,
            "textbook_s": theirs,
            "ratio": theirs / ours,
            "three_seeds_s": three_seeds,
            "quick_s": quick,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
