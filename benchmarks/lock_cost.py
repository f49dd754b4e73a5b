"""Measure what the lock of a policy costs a single thread: rounds with it and without it, interleaved.

    python benchmarks/lock_cost.py

A round of the paper's world chooses a video for a student and learns its reward. One policy is measured
alternately with its lock and with one that does nothing. The ratio of speeds is the median of paired ratios; its
95% confidence interval is a bootstrap over the pairs.
"""

from __future__ import annotations

import argparse
from itertools import cycle, islice

from fairbandits import FairLinUCB, Policy
from fairbandits.locks import SharedLock
from fairbandits.worlds import StudentsAndVideos
from guard import SpeedRatio
from timing import Work, seconds_per_call

PAIRS, SECONDS, ROUNDS = 600, 0.01, 256
MODELS = ("disjoint", "shared", "hybrid")


class NoLock:
    """A lock that does nothing, as fast as a context manager can be: both methods are compiled."""

    __enter__ = __exit__ = "".format


def rounds_of(policy: Policy, world: StudentsAndVideos) -> Work:
    """Return the work of one round."""
    visits = cycle(islice(world.visits(), ROUNDS))

    def work() -> None:
        visit = next(visits)
        decision = policy.choose(visit.contexts, visit.group, visit.arms)
        policy.learn(decision, float(visit.rewards[decision.index]))

    return work


def set_lock(policy: FairLinUCB, lock: object) -> None:
    """Replace the lock of a policy and of its record."""
    policy._lock = policy.groups._lock = lock  # type: ignore[assignment]


def measure(model: str, pairs: int) -> SpeedRatio:
    """Return the speed with a lock relative to the speed without one, in rounds per second."""
    policy = FairLinUCB(model=model, random_state=0)
    work = rounds_of(policy, StudentsAndVideos(data="stand-in"))
    seconds_per_call(work, 1.0)  # compiles, and learns until arms have matrices
    rates: dict[bool, list[float]] = {False: [], True: []}
    for pair in range(pairs):
        for is_locked in (False, True) if pair % 2 else (True, False):
            set_lock(policy, SharedLock() if is_locked else NoLock())
            rates[is_locked].append(1.0 / seconds_per_call(work, SECONDS))
    return SpeedRatio.of(rates[False], rates[True])


def main() -> None:
    """Measure every model, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=PAIRS, help="the number of pairs of measurements")
    options = parser.parse_args()
    print(f"{'rounds per second':<20}{'without lock':>14}{'with lock':>14}{'ratio':>9}  95% interval")
    for model in MODELS:
        ratio = measure(model, options.pairs)
        interval = f"[{ratio.low:.3f}, {ratio.high:.3f}]"
        print(f"{model:<20}{ratio.reference:>14,.0f}{ratio.rate:>14,.0f}{ratio.ratio:>9.3f}  {interval}")


if __name__ == "__main__":
    main()
