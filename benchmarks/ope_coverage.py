"""How often the intervals of `fairbandits evaluate` cover the truth, on logs whose truth is known.

Every repeat draws a log of its own, hands it to `fairbandits.ope`, and looks whether the interval of each
estimator covers the exact value of the policy: for everybody, for each of two groups, and for their difference.
Users have two features of 0 or 1 and a group, so that the exact value is a sum over eight kinds of users.

Usage: python benchmarks/ope_coverage.py [--repeats 1000] [--rows 3000]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbandits import EpsilonGreedy, Policy
from fairbandits.logs import Log, Roles
from fairbandits.ope import evaluate
from fairbandits.ope.results import TITLES, EstimatorResult
from fairbandits.ope.value_estimate import ValueEstimate

Floats = NDArray[np.float64]

N_ARMS = 5
GROUPS = ("female", "male")
#: Who comes: the share of each of the eight kinds of users; three in ten are female.
KINDS = np.array([[a, b, male] for a, b, male in itertools.product((0.0, 1.0), repeat=3)])
SHARES = np.where(KINDS[:, 2] > 0.0, 0.7, 0.3) / 4.0
ROLES = Roles("arm", "reward", ("sex",), "propensity", ("x_a", "x_b"))
#: What is estimated: everybody, each group, the difference.
CELLS = ("all", *GROUPS, f"{GROUPS[0]} - {GROUPS[1]}")


@dataclass(frozen=True)
class World:
    """Mean rewards and the logging policy, for each kind of user and each arm."""

    mean: Floats
    logging: Floats

    def log(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a log: rewards are 0 or 1."""
        kind = rng.choice(len(KINDS), rows, p=SHARES)
        arm = (rng.random(rows)[:, None] > np.cumsum(self.logging[kind], axis=1)).sum(axis=1)
        arm = np.minimum(arm, N_ARMS - 1)  # the last digits of a sum
        return pd.DataFrame(
            {
                "arm": arm,
                "reward": (rng.random(rows) < self.mean[kind, arm]).astype(float),
                "propensity": self.logging[kind, arm],
                "sex": np.array(GROUPS)[KINDS[kind, 2].astype(int)],
                "x_a": KINDS[kind, 0],
                "x_b": KINDS[kind, 1],
            }
        )

    def truth(self, policy: Policy) -> dict[str, float]:
        """Give the exact value of a policy, for each cell."""
        contexts = np.repeat(KINDS[:, None, :2], N_ARMS, axis=1)
        groups = [{"sex": GROUPS[int(male)]} for male in KINDS[:, 2]]
        value = (policy.probabilities(contexts, groups) * self.mean).sum(axis=1)
        of_group = [float(np.average(value[KINDS[:, 2] == i], weights=SHARES[KINDS[:, 2] == i])) for i in (0, 1)]
        each = [float(np.average(value, weights=SHARES)), *of_group, of_group[0] - of_group[1]]
        return dict(zip(CELLS, each, strict=True))


def worlds() -> dict[str, World]:
    """Give the worlds: rewards that the model of the reward can learn, or not; a log at random, or not."""
    rng = np.random.default_rng(7)
    theta = rng.uniform(-0.15, 0.15, (N_ARMS, 3))
    linear = 0.45 + KINDS @ theta.T
    # What one feature does depends on the other: no linear model of the reward has that.
    bent = linear + 0.25 * np.outer((KINDS[:, 0] - 0.5) * (KINDS[:, 1] - 0.5) * 4.0, rng.choice([-1, 1], N_ARMS))
    taste = np.exp(rng.normal(size=(len(KINDS), N_ARMS)))
    skewed = 0.1 / N_ARMS + 0.9 * taste / taste.sum(axis=1, keepdims=True)
    return {
        "a linear reward, any log": World(linear, skewed),
        "a linear reward, a log at random": World(linear, np.full_like(linear, 1.0 / N_ARMS)),
        "a bent reward, any log": World(np.clip(bent, 0.02, 0.98), skewed),
    }


def trained(world: World) -> Policy:
    """Give a policy that has learned from another log of that world."""
    frame = world.log(3_000, np.random.default_rng(1))
    policy = EpsilonGreedy(epsilon=0.2, random_state=0)
    users = frame[["x_a", "x_b"]].to_numpy()
    for user, arm, reward, sex in zip(users, frame["arm"], frame["reward"], frame["sex"], strict=True):
        policy.learn(policy.choose(user[None], {"sex": sex}, arms=[int(arm)]), reward)
    return policy


def estimates(verdict: EstimatorResult) -> Iterator[tuple[str, ValueEstimate | None]]:
    """Give the estimate of each cell."""
    yield "all", verdict.value.everybody
    yield from ((name, verdict.value.groups["sex"][name]) for name in GROUPS)
    yield CELLS[-1], verdict.differences[0].estimate if verdict.differences else None


def measure(
    world: World, rows: int, repeats: int, seed: int = 0
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Give the share of intervals that cover the truth, by estimator and cell; and the effective rows, by cell.

    Where too few rows are left to say anything, there is no interval, and nothing is counted.
    """
    policy = trained(world)
    truth = world.truth(policy)
    covered: dict[str, dict[str, list[bool]]] = {}
    effective = dict.fromkeys(("all", *GROUPS), 0.0)
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        found = evaluate(Log.open(world.log(rows, rng), ROLES), policy).policies[0]
        effective["all"] += found.effective.everybody / repeats
        for name in GROUPS:
            effective[name] += found.effective.groups["sex"][name] / repeats
        for name, verdict in found.verdicts.items():
            of_name = covered.setdefault(name, {cell: [] for cell in CELLS})
            for cell, estimate in estimates(verdict):
                if estimate is not None:
                    of_name[cell].append(estimate.low <= truth[cell] <= estimate.high)
    shares = {
        name: {cell: float(np.mean(hits)) if hits else float("nan") for cell, hits in of_name.items()}
        for name, of_name in covered.items()
    }
    return shares, effective


def table(covered: dict[str, dict[str, float]]) -> Iterator[str]:
    """Write the lines of a table, in percent."""
    yield f"| {'estimator':<13} | " + " | ".join(f"{cell:>13}" for cell in CELLS) + " |"
    yield "| --- |" + " ---: |" * len(CELLS)
    for name, title in TITLES.items():
        if name in covered:
            yield f"| {title:<13} | " + " | ".join(f"{covered[name][cell]:13.1%}" for cell in CELLS) + " |"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=3000)
    given = parser.parse_args()
    for name, world in worlds().items():
        began = time.perf_counter()
        covered, effective = measure(world, given.rows, given.repeats)
        lines = "\n".join(table(covered))
        worth = ", ".join(f"{cell} {count:,.0f}" for cell, count in effective.items())
        about = f"{given.repeats:,} logs of {given.rows:,} rows (effective: {worth})"
        print(f"{name}: {about}, {time.perf_counter() - began:.0f} s\n\n{lines}\n", flush=True)


if __name__ == "__main__":
    main()
