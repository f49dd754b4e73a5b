"""Coverage of the confidence intervals of `fairbandits evaluate`, on logs whose truth is known.

Each repetition draws a log, evaluates a policy with `fairbandits.ope`, and checks whether the interval of each
estimator covers the exact value of the policy: overall, for each of two groups, and for the gap between them.
Users have two binary features and a group, so the exact value is a sum over eight kinds of users.

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
from fairbandits.ope.results import ESTIMATOR_NAMES, Estimate, EstimatorResult

Floats = NDArray[np.float64]

N_ARMS = 5
GROUPS = ("female", "male")
#: The eight kinds of users, and the share of each; three in ten users are female.
KINDS = np.array([[a, b, male] for a, b, male in itertools.product((0.0, 1.0), repeat=3)])
SHARES = np.where(KINDS[:, 2] > 0.0, 0.7, 0.3) / 4.0
ROLES = Roles("arm", "reward", ("sex",), "propensity", ("x_a", "x_b"))
#: The estimated quantities: overall, each group, the gap.
QUANTITIES = ("overall", *GROUPS, f"{GROUPS[0]} - {GROUPS[1]}")


@dataclass(frozen=True)
class World:
    """Mean rewards and the logging policy, by kind of user and arm."""

    mean: Floats
    logging: Floats

    def log(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a log with rewards of 0 or 1."""
        kind = rng.choice(len(KINDS), rows, p=SHARES)
        arm = (rng.random(rows)[:, None] > np.cumsum(self.logging[kind], axis=1)).sum(axis=1)
        arm = np.minimum(arm, N_ARMS - 1)  # the sum may be below 1 by rounding
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
        """Return the exact value of each quantity for a policy."""
        contexts = np.repeat(KINDS[:, None, :2], N_ARMS, axis=1)
        groups = [{"sex": GROUPS[int(male)]} for male in KINDS[:, 2]]
        value = (policy.probabilities(contexts, groups) * self.mean).sum(axis=1)
        by_group = [float(np.average(value[KINDS[:, 2] == i], weights=SHARES[KINDS[:, 2] == i])) for i in (0, 1)]
        values = [float(np.average(value, weights=SHARES)), *by_group, by_group[0] - by_group[1]]
        return dict(zip(QUANTITIES, values, strict=True))


def worlds() -> dict[str, World]:
    """Return the worlds: rewards that the reward model fits or not, a uniform logging policy or not."""
    rng = np.random.default_rng(7)
    theta = rng.uniform(-0.15, 0.15, (N_ARMS, 3))
    linear = 0.45 + KINDS @ theta.T
    # An interaction of the two features, which the linear reward model cannot represent.
    nonlinear = linear + 0.25 * np.outer(
        (KINDS[:, 0] - 0.5) * (KINDS[:, 1] - 0.5) * 4.0, rng.choice([-1, 1], N_ARMS)
    )
    preference = np.exp(rng.normal(size=(len(KINDS), N_ARMS)))
    skewed = 0.1 / N_ARMS + 0.9 * preference / preference.sum(axis=1, keepdims=True)
    return {
        "linear rewards, non-uniform logging policy": World(linear, skewed),
        "linear rewards, uniform logging policy": World(linear, np.full_like(linear, 1.0 / N_ARMS)),
        "non-linear rewards, non-uniform logging policy": World(np.clip(nonlinear, 0.02, 0.98), skewed),
    }


def trained_policy(world: World) -> Policy:
    """Return a policy trained on another log of the world."""
    frame = world.log(3_000, np.random.default_rng(1))
    policy = EpsilonGreedy(epsilon=0.2, random_state=0)
    users = frame[["x_a", "x_b"]].to_numpy()
    for user, arm, reward, sex in zip(users, frame["arm"], frame["reward"], frame["sex"], strict=True):
        policy.learn(policy.choose(user[None], {"sex": sex}, arms=[int(arm)]), reward)
    return policy


def estimates(result: EstimatorResult) -> Iterator[tuple[str, Estimate | None]]:
    """Yield the estimate of each quantity."""
    yield "overall", result.value.overall
    yield from ((name, result.value.by_group["sex"][name]) for name in GROUPS)
    yield QUANTITIES[-1], result.gaps[0].estimate if result.gaps else None


def measure(
    world: World, rows: int, repeats: int, seed: int = 0
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return the coverage by estimator and quantity, and the mean effective rows.

    Logs without an estimate are not counted.
    """
    policy = trained_policy(world)
    truth = world.truth(policy)
    covered: dict[str, dict[str, list[bool]]] = {}
    effective = dict.fromkeys(("overall", *GROUPS), 0.0)
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        evaluation = evaluate(Log.open(world.log(rows, rng), ROLES), policy).policies[0]
        effective["overall"] += evaluation.effective_rows.overall / repeats
        for name in GROUPS:
            effective[name] += evaluation.effective_rows.by_group["sex"][name] / repeats
        for name, result in evaluation.estimates.items():
            by_quantity = covered.setdefault(name, {quantity: [] for quantity in QUANTITIES})
            for quantity, estimate in estimates(result):
                if estimate is not None:
                    by_quantity[quantity].append(estimate.low <= truth[quantity] <= estimate.high)
    coverage = {
        name: {quantity: float(np.mean(hits)) if hits else float("nan") for quantity, hits in each.items()}
        for name, each in covered.items()
    }
    return coverage, effective


def table(coverage: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of a table, in percent."""
    yield f"| {'estimator':<13} | " + " | ".join(f"{quantity:>13}" for quantity in QUANTITIES) + " |"
    yield "| --- |" + " ---: |" * len(QUANTITIES)
    for name, title in ESTIMATOR_NAMES.items():
        if name in coverage:
            cells = (f"{coverage[name][quantity]:13.1%}" for quantity in QUANTITIES)
            yield f"| {title:<13} | " + " | ".join(cells) + " |"


def main() -> None:
    """Measure and print the coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()
    for name, world in worlds().items():
        start = time.perf_counter()
        coverage, effective = measure(world, options.rows, options.repeats)
        lines = "\n".join(table(coverage))
        sizes = ", ".join(f"{quantity} {rows:,.0f}" for quantity, rows in effective.items())
        about = f"{options.repeats:,} logs of {options.rows:,} rows (effective: {sizes})"
        print(f"{name}: {about}, {time.perf_counter() - start:.0f} s\n\n{lines}\n", flush=True)


if __name__ == "__main__":
    main()
