"""Measure how often the intervals, verdicts and ranks of FairBench are wrong.

    python benchmarks/fairbench_errors.py            # about five minutes on two cores
    python benchmarks/fairbench_errors.py --quick

**Seeds.** Every policy is run with many seeds; these runs are the population, whose means are the truth. From it,
20 seeds at a time are drawn. Coverage is how often the 95% interval of a mean contains the truth. A wrong verdict
is a win or a loss between two policies that are equally good, which a random sign for the difference of every seed
makes them. A reversed one is a win where the truth is a loss, or a loss where it is a win. The normal interval, as
textbooks have it for many seeds, is shown beside Student's.

**Ranks.** With as many policies and worlds as FairBench has, and policies that are equally good: how often are the
Friedman test, any pair by Nemenyi's critical difference, and any pair with the default policy by Wilcoxon's test
with Holm's correction significant at 5%? The second row has worlds that are variants of a few, as many in the
suite are: luck in one is luck in its variants, and the tests are wrong about worlds outside the suite.

**Gaps.** Rewards of 0 and 1 in the groups of COMPAS, in the proportions and numbers of the suite, and a known gap
between the largest group and the others: how often is the promise about the gap broken? It is judged by the gap
over all seeds together, as FairBench does, and by the mean of the seeds' gaps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from fairbandits.compare.comparison import compare
from fairbandits.compare.paired import COMPARED, compare_pair
from fairbandits.compare.pooled_gap import pooled_gap
from fairbandits.compare.promises import SLACK
from fairbandits.compare.subgroups import SubgroupMeans
from fairbandits.statistics.rank_tests import friedman_test, holm, ranks, signed_rank_test
from fairbandits.statistics.seed_intervals import standard_error, t_interval

Floats = NDArray[np.float64]

WORLDS = ("3:7", "curved", "tiny_minority", "bernoulli")
POLICIES = ("LinUCB(alpha=0.2)", "MaxMinLinUCB(alpha=0.2)", "EvenLinUCB(alpha=0.1, model=shared)")
SEEDS, N_POLICIES, N_WORLDS = 20, 17, 29
LEVEL = 0.05
#: The numbers of measured rounds of the groups of COMPAS in a seed, and the reward of the others.
ROUNDS, REWARD = np.array([514.0, 344.0, 77.0, 65.0]), 0.68
TOLERANCE = 0.01
#: A rate is too high if chance alone explains it less often than this.
CHANCE = 0.001


def normal_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return `mean +- 1.96 se`."""
    mean, width = float(np.mean(values)), 1.959964 * (standard_error(values) or 0.0)
    return mean - width, mean + width


def seed_errors(first: Floats, second: Floats, measure: str, draws: int, rng: np.random.Generator) -> list[float]:
    """Return coverage by t, by the normal interval, and the rates of wrong and of reversed verdicts."""
    difference = first - second
    truth, sign = first.mean(), np.sign(difference.mean())
    better = sign if measure != "reward_gap" else -sign
    counts = np.zeros(4)
    for _ in range(draws):
        seeds = rng.integers(len(first), size=SEEDS)
        values = first[seeds].tolist()
        for place, (low, high) in enumerate((t_interval(values) or (0, 0), normal_interval(values))):
            counts[place] += low <= truth <= high
        equal = rng.choice([-1.0, 1.0], SEEDS) * difference[seeds]
        counts[2] += compare_pair(equal.tolist(), [0.0] * SEEDS, measure).outcome in ("win", "loss")
        outcome = compare_pair(values, second[seeds].tolist(), measure).outcome
        counts[3] += outcome == ("loss" if better > 0 else "win")
    return [float(count) / draws for count in counts]


def print_rates(title: str, rates: Sequence[float]) -> None:
    """Print a row of a table."""
    print(f"| {title} | " + " | ".join(f"{100 * rate:.1f}%" for rate in rates) + " |", flush=True)


def print_seed_errors(seeds: int, draws: int, jobs: int) -> float:
    """Print the table of seeds; return the highest rate of wrong verdicts."""
    with TemporaryDirectory() as folder:
        results = compare(
            Path(folder), worlds=WORLDS, policies=POLICIES, seeds=seeds, jobs=jobs, quick=True, progress=True
        )
    rng = np.random.default_rng(0)
    highest = 0.0
    print("| world | policy | measure | t covers | normal covers | wrong verdicts | reversed |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, summary in results.worlds.items():
        for place, title in enumerate(POLICIES):
            for measure in COMPARED:
                other = POLICIES[place - 1]
                values = [np.array(summary.policies[each].values[measure]) for each in (title, other)]
                found = seed_errors(values[0], values[1], measure, draws, rng)
                highest = max(highest, found[2])
                print_rates(f"{name} | `{title}` | {measure}", found)
    return highest


def rank_errors(n_families: int, draws: int, rng: np.random.Generator) -> list[float]:
    """Return how often each test is significant, with equally good policies.

    Parameters
    ----------
    n_families : int
        Worlds are variants of this many; as many as there are worlds, if all are different.
    draws : int
        The number of simulated suites.
    rng : numpy.random.Generator
        The source of chance.
    """
    counts = np.zeros(3)
    family = np.arange(N_WORLDS) % n_families
    for _ in range(draws):
        # Luck that variants share, heavy-tailed; little of their own where worlds are variants.
        shared = rng.standard_t(3, (n_families, N_POLICIES))[family]
        own = 0.0 if n_families == N_WORLDS else 0.5
        table = shared + own * rng.standard_t(3, (N_WORLDS, N_POLICIES))
        found = ranks(table, higher_is_better=True)
        test, average = friedman_test(found), found.mean(axis=0)
        pairs = {str(k): signed_rank_test(table[:, 0] - table[:, k]) for k in range(1, N_POLICIES)}
        counts += [
            test.p_value < LEVEL,
            np.ptp(average) > test.critical_difference,
            min(holm(pairs).values()) < LEVEL,
        ]
    return [float(count) / draws for count in counts]


def print_rank_errors(draws: int) -> float:
    """Print the table of ranks; return the highest rate of errors where all worlds are different."""
    rng = np.random.default_rng(1)
    print("\n| worlds | Friedman | any pair (Nemenyi) | any pair with the default (Wilcoxon, Holm) |")
    print("| --- | --- | --- | --- |")
    highest = 0.0
    for n_families in (N_WORLDS, 10):
        found = rank_errors(n_families, draws, rng)
        kind = "all different" if n_families == N_WORLDS else f"variants of {n_families}"
        print_rates(f"{N_WORLDS}, {kind}", found)
        highest = max(found) if n_families == N_WORLDS else highest
    return highest


def gap_errors(gap: float, draws: int, rng: np.random.Generator) -> list[float]:
    """Return how often the promise is broken at a true gap: by the gap over all seeds, by the mean of gaps."""
    names = tuple((("race", str(k)),) for k in range(len(ROUNDS)))
    groups = [name for [name] in names]
    truth = REWARD - gap * (np.arange(len(ROUNDS)) == 0)
    counts = np.zeros(2)
    for _ in range(draws):
        means = rng.binomial(ROUNDS.astype(int), truth, (SEEDS, len(ROUNDS))) / ROUNDS
        seeds = [SubgroupMeans(names, ROUNDS, mean, np.ones(4), np.zeros(4)) for mean in means]
        pooled = pooled_gap(seeds, groups)
        of_seeds = np.ptp(means, axis=1).tolist()
        limit = TOLERANCE + SLACK
        counts += [
            pooled.value > limit + 2 * (pooled.error or 0.0),
            np.mean(of_seeds) > limit + 2 * (standard_error(of_seeds) or 0.0),
        ]
    return [float(count) / draws for count in counts]


def print_gap_errors(draws: int) -> float:
    """Print the table of gaps; return how often the promise is broken at the tolerance."""
    rng = np.random.default_rng(2)
    print("\n| true gap | broken, by the gap over all seeds | broken, by the mean of the seeds' gaps |")
    print("| --- | --- | --- |")
    wrong = 0.0
    for gap in (0.0, TOLERANCE, TOLERANCE + SLACK, 0.03, 0.05, 0.08):
        found = gap_errors(gap, draws, rng)
        print_rates(f"{gap:g}", found)
        wrong = found[0] if gap <= TOLERANCE else wrong
    return wrong


def main() -> int:
    """Measure, print the tables, and return 1 if verdicts, ranks or promises are wrong too often."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=-1, help="the number of processes; -1 for one per core")
    parser.add_argument("--quick", action="store_true", help="fewer seeds and draws")
    options = parser.parse_args()
    seeds, draws = (40, 200) if options.quick else (400, 2000)
    errors = {
        "verdicts": print_seed_errors(seeds, draws, options.jobs),
        "ranks": print_rank_errors(draws),
        "promises": print_gap_errors(draws),
    }
    too_many = {name: rate for name, rate in errors.items() if rate * draws > binom.ppf(1 - CHANCE, draws, LEVEL)}
    for name, rate in too_many.items():
        print(f"{name} are wrong in {100 * rate:.1f}% of the draws, more often than in 5%")
    return int(bool(too_many))


if __name__ == "__main__":
    sys.exit(main())
