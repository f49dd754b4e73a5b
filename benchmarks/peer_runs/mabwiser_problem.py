"""The simulator of MABWiser on the sizes of its example: two arms, 50 features, half of the rows for testing.

In the example rewards are drawn at random, so that no bandit can be better than another. The second problem is the
same with rewards that depend on the context. Prints JSON.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from mabwiser.simulator import Simulator
from sklearn.preprocessing import StandardScaler

from fairbandits import EvenLinUCB, LinUCB
from fairbandits.adapters.mabwiser import PolicyMAB
from peer_runs.figures import figures, report

ARMS, WIDTH = ["0", "1"], 50


def group(context: Any) -> str:
    """Return the group of a user: the sign of the first column, after scaling."""
    return "a" if context[0] > 0 else "b"


def bandits(seed: int) -> dict[tuple[str, str], Any]:
    """Return new bandits."""
    return {
        ("mabwiser", "Random"): MAB(ARMS, LearningPolicy.Random(), seed=seed),
        ("mabwiser", "UCB1, alpha=1"): MAB(ARMS, LearningPolicy.UCB1(alpha=1.0), seed=seed),
        ("mabwiser", "LinUCB, alpha=1"): MAB(ARMS, LearningPolicy.LinUCB(alpha=1.0), seed=seed),
        ("fairbandits", "LinUCB, alpha=1"): PolicyMAB(ARMS, LinUCB(alpha=1.0, random_state=seed)),
        ("fairbandits", "EvenLinUCB, alpha=1"): PolicyMAB(
            ARMS, EvenLinUCB(alpha=1.0, model="disjoint", random_state=seed), group=group
        ),
    }


def run(rows: int, seed: int, is_random: bool) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Return rewards and groups by bandit: true means of the predicted arms, or the simulator's own evaluation."""
    rng = np.random.default_rng(seed)
    contexts, arms = rng.random((rows, WIDTH)), rng.integers(0, 2, rows)
    means = 0.2 + 0.6 * contexts @ rng.dirichlet(np.ones(WIDTH), 2).T
    means[:, 1] += 0.3 * (contexts[:, 0] - 0.5)  # the second arm favours one group
    noisy = np.clip(means[np.arange(rows), arms] + rng.uniform(-0.1, 0.1, rows), 0.0, 1.0)
    # In the example rewards are whole numbers up to 1,000.
    rewards = rng.integers(0, 1_001, rows) / 1_000 if is_random else noisy
    found = bandits(seed)
    simulator = _simulate(found, [ARMS[arm] for arm in arms], rewards, contexts, seed)
    if is_random:
        stats = {key: simulator.bandit_to_arm_to_stats_avg[" ".join(key)]["total"] for key in found}
        return {key: ([_mean(of_arms.values())], None) for key, of_arms in stats.items()}
    test = np.asarray(simulator.test_indices)
    # A row is in the first group if its first column is above the mean of the training rows.
    first = contexts[test, 0] > np.delete(contexts, test, axis=0)[:, 0].mean()
    picked = {key: [*map(int, simulator.bandit_to_predictions[" ".join(key)])] for key in found}
    return {key: (means[test, chosen], first) for key, chosen in picked.items()}


def _mean(stats: Any) -> float:
    known = [arm for arm in stats if arm["count"]]
    return float(sum(arm["sum"] for arm in known) / sum(arm["count"] for arm in known))


def _simulate(
    found: dict[tuple[str, str], Any], decisions: Any, rewards: Any, contexts: Any, seed: int
) -> Simulator:
    simulator = Simulator(
        [(" ".join(key), bandit) for key, bandit in found.items()],
        decisions, rewards.tolist(), contexts.tolist(),
        scaler=StandardScaler(), test_size=0.5, batch_size=10, seed=seed,
    )  # fmt: skip
    # It logs every batch to the console.
    logging.getLogger().handlers.clear()
    simulator.run()
    return simulator


def main(rows: int, seeds: int) -> None:
    """Run all bandits on both problems."""
    found = []
    titles = {True: "random rewards, as in its example", False: "rewards that depend on contexts"}
    for is_random, title in titles.items():
        runs = [run(rows, seed, is_random) for seed in range(1, seeds + 1)]
        problem = f"mabwiser: {title}, {rows:,} rows"
        found += [figures(problem, "Simulator.run", *key, [each[key] for each in runs]) for key in runs[0]]
    report(found)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
