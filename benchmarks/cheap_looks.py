"""What it costs a policy to look at its group record in every round.

A custom policy is LinUCB with a look at the record in `terms`. The looks are measured alternately in one run, and
printed as multiples of the time of a round of LinUCB.

    python benchmarks/cheap_looks.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fairbandits import FairLinUCB, GroupRewards, LinUCB
from fairbandits.policies import Predictions

N_ARMS, N_FEATURES = 20, 10
Look = Callable[[GroupRewards], Any]

LOOKS: dict[str, Look] = {
    "LinUCB": lambda groups: None,
    "means and counts": lambda groups: groups.means[groups.counts > 0].min(initial=1.0),
    "mean_of": lambda groups: groups.mean_of("sex", "female"),
    "gap(confidence=None)": lambda groups: groups.gap(confidence=None),
    "gap()": lambda groups: groups.gap(),
}


def looking(look: Look) -> LinUCB:
    """Return a LinUCB that looks at its group record in every round."""

    class Looking(LinUCB):
        """LinUCB with a look at the group record."""

        def terms(self, predictions: Predictions) -> tuple[Any, Any]:
            look(self.groups)
            return super().terms(predictions)

    return Looking(random_state=0)


def play(policy: LinUCB, rounds: int) -> float:
    """Play rounds of choosing and learning; return the time of one in microseconds."""
    rng = np.random.default_rng(0)
    contexts, rewards = rng.random((rounds, N_ARMS, N_FEATURES)), rng.random(rounds).tolist()
    groups = [{"sex": ("female", "male")[i % 2], "age": i % 3} for i in range(rounds)]
    start = time.perf_counter()
    for context, group, reward in zip(contexts, groups, rewards, strict=True):
        policy.learn(policy.choose(context, group), reward)
    return (time.perf_counter() - start) / rounds * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What it costs a policy to look at its group record.")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    policies = {name: looking(look) for name, look in LOOKS.items()}
    policies["FairLinUCB, for comparison"] = FairLinUCB(random_state=0)
    for policy in policies.values():
        play(policy, 50)
    times: dict[str, list[float]] = {name: [] for name in policies}
    for _ in range(options.repeats):
        for name, policy in policies.items():
            times[name].append(play(policy, options.rounds))
    print("| look in every round | microseconds per round | multiple of LinUCB |\n| --- | --- | --- |")
    for name, own in times.items():
        ratio = statistics.median(t / base for t, base in zip(own, times["LinUCB"], strict=True))
        print(f"| {name} | {statistics.median(own):.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
