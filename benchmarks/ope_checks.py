"""Measure how often an evaluation ranks policies wrongly, and how often its checks of a log are right.

    python benchmarks/ope_checks.py               # 1,000 logs of each kind; about ten minutes on two cores
    python benchmarks/ope_checks.py --logs 30 --quick    # two kinds of logs; a minute

Ranking: three candidates. In some logs all have the same value, in others the first is better than the second by
four standard errors of the paired difference. "Better" is wrong if it is not true; the probability of that is at
most 5% for all pairs together, the logging policy included. Checks: honest logs of several kinds must be left in
peace, and logs whose propensities are wrong by a factor of two must be noticed.

The exit status is 1 if "better" is said wrongly, or an honest log doubted, in more than 66 of 1,000 logs (with
fewer logs: in significantly more than 5% of them, one-sided binomial test, level 0.001); or if a difference of
four standard errors is found in fewer than 80%, or wrong propensities in fewer than 90% of the logs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

from fairbandits.logs import Log, Roles
from fairbandits.ope import Evaluation, ProbabilityColumns, evaluate

Floats = NDArray[np.float64]

N_ARMS, N_KINDS = 5, 6
ROLES = Roles("arm", "reward", ("sex",), "propensity", ("kind",), user="user")
MAX_ERRORS, MIN_RANKED, MIN_NOTICED = 0.066, 0.8, 0.9
LEVEL = 0.001


class World(NamedTuple):
    """Mean rewards, the logging policy and candidates, by kind of user and arm."""

    mean: Floats
    logging: Floats
    candidates: dict[str, Floats]
    visits: int = 1

    def values(self) -> dict[str, float]:
        """Return the values of all candidates and of the logging policy."""
        policies = {"the log": self.logging, **self.candidates}
        return {name: float((policy * self.mean).sum(axis=1).mean()) for name, policy in policies.items()}

    def log(self, rows: int, rng: np.random.Generator, wrong: Callable[[Floats], Floats] | None = None) -> Log:
        """Draw a log; users visit several times, and have tastes of their own."""
        users = rows // self.visits
        user = np.repeat(np.arange(users), self.visits)
        kind = rng.integers(0, N_KINDS, users)[user]
        taste = np.where(self.visits > 1, rng.normal(0.0, 0.1, users), 0.0)[user]
        cumulated = np.cumsum(self.logging[kind], axis=1)
        arm = np.minimum((rng.random(len(user))[:, None] > cumulated).sum(axis=1), N_ARMS - 1)
        chance = np.clip(self.mean[kind, arm] + taste, 0.0, 1.0)
        propensities = self.logging if wrong is None else np.clip(wrong(self.logging), 1e-6, 1.0)
        frame = {
            "arm": arm,
            "reward": (rng.random(len(user)) < chance) * 1.0,
            "propensity": propensities[kind, arm],
            "sex": np.where(kind % 2, "male", "female"),
            "kind": kind.astype(str),
            "user": user,
        }
        for name, policy in self.candidates.items():
            frame |= {f"{name}_{number}": policy[kind, number] for number in range(N_ARMS)}
        return Log.open(pd.DataFrame(frame), ROLES)


def softmax(rng: np.random.Generator, strength: float) -> Floats:
    """Return a random policy with a little exploration."""
    scores = np.exp(strength * rng.normal(size=(N_KINDS, N_ARMS)))
    policy: Floats = 0.9 * scores / scores.sum(axis=1, keepdims=True) + 0.1 / N_ARMS
    return policy


def make_world(seed: int, rate: float, logging: float, visits: int = 1) -> World:
    """Return a world with three random candidates of the same value.

    Parameters
    ----------
    seed : int
        The random seed.
    rate : float
        The mean reward.
    logging : float
        How much the logging policy prefers some arms; 0 for a uniform one.
    visits : int
        The number of decisions per user.
    """
    rng = np.random.default_rng(seed)
    mean = rate * rng.uniform(0.5, 1.5, (N_KINDS, N_ARMS))
    return World(mean, softmax(rng, logging), {name: softmax(rng, 1.0) for name in "abc"}, visits)


def with_equal_values(world: World) -> World:
    """Return the world with rewards that do not depend on the arm, so that no policy is better than another."""
    return world._replace(mean=np.repeat(world.mean.mean(axis=1, keepdims=True), N_ARMS, axis=1))


def with_difference(world: World, size: float) -> World:
    """Return the world with a second candidate that falls behind the first by a difference in value."""
    best = np.zeros_like(world.mean)
    best[np.arange(N_KINDS), world.mean.argmax(axis=1)] = 1.0
    worst = np.zeros_like(world.mean)
    worst[np.arange(N_KINDS), world.mean.argmin(axis=1)] = 1.0
    span = float(((best - worst) * world.mean).sum(axis=1).mean())
    base = world.candidates["c"]
    share = size / span
    changed = {"a": (1 - share) * base + share * best, "b": (1 - share) * base + share * worst}
    # Both are `share` of their own: the difference in value is size.
    return world._replace(candidates={**changed, "c": base})


def better(evaluation: Evaluation) -> set[tuple[str, str]]:
    """Return the pairs of which the first is called better."""
    found = set()
    for each in evaluation.differences:
        if each.estimate.excludes_zero:
            pair = each.first, each.second
            found.add(pair if each.estimate.value > 0.0 else pair[::-1])
    return found


def run_evaluation(world: World, log: Log) -> Evaluation:
    """Evaluate the candidates of a world."""
    return evaluate(log, {name: ProbabilityColumns(f"{name}_") for name in world.candidates})


def ranked_wrongly(world: World, rows: int, seed: int) -> bool:
    """Return whether a policy is called better that is not."""
    values = world.values()
    found = better(run_evaluation(world, world.log(rows, np.random.default_rng(seed))))
    return any(values[first] <= values[second] + 1e-12 for first, second in found)


def difference_error(world: World, rows: int, logs: int) -> float:
    """Return the standard error of the difference between the first two candidates."""

    def difference(seed: int) -> float:
        evaluation = run_evaluation(world, world.log(rows, np.random.default_rng([seed, 1])))
        return next(e.estimate.value for e in evaluation.differences if (e.first, e.second) == ("a", "b"))

    return float(np.std(Parallel(n_jobs=2)(delayed(difference)(seed) for seed in range(logs)), ddof=1))


def is_ranked(world: World, rows: int, seed: int) -> bool:
    """Return whether the first candidate is called better than the second."""
    return ("a", "b") in better(run_evaluation(world, world.log(rows, np.random.default_rng(seed))))


def has_alarm(world: World, rows: int, seed: int, wrong: Callable[[Floats], Floats] | None = None) -> bool:
    """Return whether a check doubts a log."""
    evaluation = run_evaluation(world, world.log(rows, np.random.default_rng([seed, 2]), wrong))
    doubts = ("do not fit the log", "is expected", "changes within the log", "One user accounts for")
    return any(doubt in warning for warning in evaluation.warnings for doubt in doubts)


def double_some(propensities: Floats) -> Floats:
    """Return propensities of which every second arm's are twice too large."""
    return propensities * np.where(np.arange(N_ARMS) % 2, 1.0, 2.0)


KINDS = {
    "uniform logging policy": (0.4, 0.0, 1, 3_000),
    "non-uniform logging policy": (0.4, 1.0, 1, 3_000),
    "2% rewards": (0.02, 1.0, 1, 30_000),
    "20 visits per user": (0.4, 1.0, 20, 6_000),
    "heavy-tailed weights": (0.4, 2.5, 1, 3_000),
}


def share(results: list[bool]) -> float:
    """Return the share of true values."""
    return float(np.mean(results))


def main() -> int:
    """Measure, print a table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="the first two kinds of logs only")
    options = parser.parse_args()
    logs, kinds = options.logs, list(KINDS.items())[: 2 if options.quick else None]
    table = Table("logs", "rows", "wrong", "found at 4 SE", "honest doubted", "doubled", "halved", "some doubled")
    is_failed = False

    def many(function: Callable[..., bool], *arguments: object, n: int = logs) -> float:
        return share(
            Parallel(n_jobs=2)(delayed(function)(*arguments[:2], seed, *arguments[2:]) for seed in range(n))
        )

    for name, (rate, logging, visits, rows) in kinds:
        world = make_world(11, rate, logging, visits)
        wrongly = many(ranked_wrongly, with_equal_values(world), rows)
        # The standard error depends on the policies, and they on the difference.
        size = 0.2 * rate
        for _ in range(3):
            size = 4.0 * difference_error(with_difference(world, size), rows, max(logs // 10, 20))
        ranked = many(is_ranked, with_difference(world, size), rows)
        doubted = many(has_alarm, world, rows)
        few = max(logs // 5, 20)
        noticed = [
            many(has_alarm, world, rows, wrong, n=few)
            for wrong in (lambda p: 2.0 * p, lambda p: 0.5 * p, double_some)
        ]
        table.add_row(name, f"{rows:,}", *(f"{each:.1%}" for each in (wrongly, ranked, doubted, *noticed)))
        limit = max(MAX_ERRORS, binom.isf(LEVEL, logs, 0.05) / logs) if logs < 1000 else MAX_ERRORS
        is_failed |= max(wrongly, doubted) > limit or ranked < MIN_RANKED or min(noticed) < MIN_NOTICED
    Console(width=120).print(table)
    return int(is_failed)


if __name__ == "__main__":
    sys.exit(main())
