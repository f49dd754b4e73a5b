"""Did a change make a round slower? Ratios to NumPy through BLAS, beside those that were kept.

    python benchmarks/guard.py           # fails where a ratio fell by more than a quarter
    python benchmarks/guard.py --keep    # writes the ratios into guard.json

Ratios, because they hardly depend on the machine; both take turns, and the median of the turns counts. One thread.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import json  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from itertools import count, cycle  # noqa: E402
from pathlib import Path  # noqa: E402

import prepare  # noqa: E402
from measure import train  # noqa: E402
from peers import in_tree, ours  # noqa: E402
from peers.base import Peer  # noqa: E402
from workloads import ALPHA, RIDGE, Workload  # noqa: E402

KEPT = Path(__file__).parent / "guard.json"
MAY_FALL = 0.25
TURNS, SECONDS = 9, 0.15
Work = Callable[[], None]


def both(workload: Workload) -> tuple[ours.Ours, Peer]:
    """Make ours and NumPy for a workload, and train them."""
    shape = (workload.n_arms, workload.width, workload.own, ALPHA, RIDGE)
    pair = ours.make(*shape), in_tree.make(*shape, kind="BatchedBlas")
    for peer in pair:
        train(peer, workload)
    return pair


def online(peer: Peer, workload: Workload, n: int, choose: bool = True, learn: bool = True) -> Work:
    """Give the work of one round: choose and learn, or one of them alone."""
    rounds = list(workload.rounds(n))
    ready = [(peer.prepare(round_), round_.rewards.tolist()) for round_ in rounds]
    numbers = count()

    def work() -> None:
        prepared, rewards = ready[next(numbers) % len(ready)]
        arm = peer.choose(prepared) if choose else 0
        if learn:
            peer.learn(arm, prepared, rewards[arm])

    return work


def ours_learning(peer: ours.Ours, workload: Workload, n: int) -> Work:
    """Give the work of `learn` alone: decisions made before, learned again and again."""
    decisions = []
    for round_ in workload.rounds(n):
        peer.choose(peer.prepare(round_))
        decisions.append(peer.decision)
    again = cycle(decisions)

    def work() -> None:
        peer.policy.learn(next(again), 0.5, again=True)

    return work


def batch(peer: Peer, workload: Workload, n: int) -> Work:
    """Give the work of scoring many users."""
    prepared = peer.prepare_many(list(workload.rounds(n)))

    def work() -> None:
        peer.choose_many(prepared)

    return work


def ratio(mine: Work, theirs: Work) -> float:
    """Give how many times as fast ours is."""
    pairs = [(seconds(theirs), seconds(mine)) for _ in range(TURNS + 1)][1:]  # the first warms up
    return statistics.median(theirs_s / mine_s for theirs_s, mine_s in pairs)


def seconds(work: Work) -> float:
    """Give the seconds of one piece of work, from as many as fit into a short while."""
    start, done = time.perf_counter(), 0
    while (took := time.perf_counter() - start) < SECONDS:
        work()
        done += 1
    return took / done


def measure() -> dict[str, float]:
    """Measure all ratios."""
    with tempfile.TemporaryDirectory() as name:
        prepare.write_all(Path(name), w1_rounds=1_000)
        w1, w2 = Workload(Path(name) / "w1.npz"), Workload(Path(name) / "w2.npz")
    mine, numpy = both(w1)
    found = {
        "W1 round": ratio(online(mine, w1, 64), online(numpy, w1, 64)),
        "W1 choose": ratio(online(mine, w1, 64, learn=False), online(numpy, w1, 64, learn=False)),
        "W1 learn": ratio(ours_learning(mine, w1, 64), online(numpy, w1, 64, choose=False)),
        "W3 users": ratio(batch(mine, w1, 250), batch(numpy, w1, 250)),
    }
    mine, numpy = both(w2)
    return found | {"W2 round": ratio(online(mine, w2, 32), online(numpy, w2, 32))}


def main() -> int:
    """Measure, and compare with what was kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", action="store_true", help="keep these ratios")
    options = parser.parse_args()
    found = measure()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    print(f"{'':<12}{'times NumPy':>12}{'kept':>8}")
    for name, value in found.items():
        print(f"{name:<12}{value:>12.2f}{kept.get(name, float('nan')):>8.2f}")
    if options.keep:
        KEPT.write_text(json.dumps({name: round(value, 2) for name, value in found.items()}, indent=1) + "\n")
        return 0
    slower = [name for name, value in found.items() if value < (1 - MAY_FALL) * kept.get(name, 0.0)]
    print(f"slower than kept: {', '.join(slower)}" if slower else "nothing became slower")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
