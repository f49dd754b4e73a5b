"""How much faster a run of the paper's size is than the textbook loop, in one process.

The textbook inverts the matrix of every arm in every round. All of it would take minutes, so it runs for a
few rounds, and its time per round is what counts; that does not grow with the rounds. Both have one thread,
as every run of `simulate_many` has: with more, the inverses of matrices this small take anything from less time
to twice as much, by what else the machine does.

    python benchmarks/reproduce.py [--rounds 5000] [--textbook-rounds 30]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

from threadpoolctl import threadpool_limits

from baselines import Textbook
from fairbandits import LinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos

GOAL = 500


def textbook_run(world: StudentsAndVideos, rounds: int) -> None:
    """Live through the first rounds of a world as the textbook does."""
    policy = Textbook(world.n_arms, len(world.columns), alpha=0.5)
    for visit in islice(world.visits(), rounds):
        arm = policy.choose(visit.contexts)
        policy.learn(arm, visit.contexts[arm], visit.rewards[arm])


def seconds(work: Callable[[], Any], times: int) -> float:
    """Measure the median of several times."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def main() -> int:
    """Measure both, print the ratio, and fail if it is below the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--textbook-rounds", type=int, default=30)
    options = parser.parse_args()
    train = options.rounds * 3 // 5
    world = StudentsAndVideos(train=train, test=options.rounds - train)
    print(world.data_source)
    with threadpool_limits(limits=1):
        simulate(LinUCB(random_state=0), world, 20)  # compiles
        ours = seconds(lambda: simulate(LinUCB(random_state=0), world), 5) / options.rounds
        theirs = seconds(lambda: textbook_run(world, options.textbook_rounds), 3) / options.textbook_rounds
    ratio = theirs / ours
    print(
        f"simulate   {ours * 1e6:10.1f} us per round, {ours * options.rounds:8.2f} s for {options.rounds:,} rounds"
    )
    print(f"textbook   {theirs * 1e6:10.1f} us per round, {theirs * options.rounds:8.2f} s")
    print(f"ratio      {ratio:10.0f}   (goal: at least {GOAL})")
    return 0 if ratio >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
