"""Measure what `min_probability` costs in reward, in the paper's world of 100 videos.

    python benchmarks/min_probability.py
    python benchmarks/min_probability.py --seeds 10

With n arms on offer and a lowest probability m, a share n m of the picks is uniformly random; at 1 / n all are.
The table has means over seeds: of the true mean reward in the test part, of the reward gap between the sexes, and
of the effective sample size per 1,000 rounds with which the log evaluates a uniformly random policy.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np

from fairbandits import EvenLinUCB, FairLinUCB, LinUCB, Policy
from fairbandits.fairness.metrics import reward_gap
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos

POLICIES: Mapping[str, type[Policy]] = {"LinUCB": LinUCB, "FairLinUCB": FairLinUCB, "EvenLinUCB": EvenLinUCB}
PROBABILITIES = (0.0, 0.001, 0.002, 0.005, 0.01)
SEEDS = 3


def measure(kind: type[Policy], min_probability: float, seed: int) -> tuple[float, float, float]:
    """Return mean reward, gap and effective sample size per 1,000 rounds of the test part of one run."""
    world = StudentsAndVideos(data="stand-in", random_state=seed)
    policy = kind(model="disjoint", min_probability=min_probability, random_state=seed)
    test = simulate(policy, world).in_part("test")
    weights = 1.0 / (world.n_arms * test.probability)
    sample_size = weights.sum() ** 2 / np.square(weights).sum() / len(weights)
    gap = reward_gap(test.expected, test.group["group"])
    # A log in which some arms have no probability says nothing about a policy that picks them.
    return float(test.expected.mean()), gap, 1000.0 * float(sample_size) if min_probability else 0.0


def main() -> None:
    """Measure every policy at every probability, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="the number of runs of each cell")
    options = parser.parse_args()
    columns = f"{'min_probability':>17}{'random picks':>14}{'mean reward':>13}{'gap':>8}{'ESS / 1,000':>13}"
    print(f"{'policy':<12}{columns}")
    for name, kind in POLICIES.items():
        for lowest in PROBABILITIES:
            runs = np.array([measure(kind, lowest, seed) for seed in range(options.seeds)])
            reward, gap, sample_size = runs.mean(axis=0)
            cells = f"{min(1.0, 100 * lowest):>14.0%}{reward:>13.3f}{gap:>8.3f}{sample_size:>13.0f}"
            print(f"{name:<12}{lowest:>17g}{cells}", flush=True)


if __name__ == "__main__":
    main()
