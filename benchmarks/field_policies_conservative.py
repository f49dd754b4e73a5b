"""Measure how often LinUCB and conservative LinUCB miss the constraint of earning nearly as much as a baseline.

    python benchmarks/field_policies_conservative.py            # 20 seeds; about a minute

After the simulation of Kazerouni, Ghavamzadeh, Abbasi-Yadkori, Van Roy: Conservative Contextual Linear Bandits,
NIPS 2017: 100 arms with fixed contexts in R^4, a baseline that always plays the tenth best arm, and the share of
the first 1,000 rounds at which the expected reward so far is below `1 - max_loss` of the baseline's. Unlike
theirs, mean rewards are within [0, 1] and rewards are 0 or 1, because this library's rewards have a range. The
paper shows its results as figures, without numbers: conservative LinUCB keeps the constraint, LinUCB does not.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits import ConservativeLinUCB, LinUCB, Policy

Floats = NDArray[np.float64]
N_ARMS, WIDTH, ROUNDS, BASELINE = 100, 4, 1000, 9


def problem(seed: int) -> tuple[Floats, Floats]:
    """Return the contexts of the arms, the best first, and their mean rewards."""
    rng = np.random.default_rng(seed)
    contexts, theta = np.abs(rng.normal(size=(N_ARMS, WIDTH))), np.abs(rng.normal(size=WIDTH))
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    expected = contexts @ theta / np.linalg.norm(theta)
    order = np.argsort(-expected)
    return contexts[order], expected[order]


def run(policy: Policy, max_loss: float, seed: int) -> tuple[float, float]:
    """Return the share of rounds at which the constraint does not hold, and the regret per round."""
    contexts, expected = problem(seed)
    rng = np.random.default_rng((seed, 1))
    earned, violated = 0.0, 0
    for t in range(1, ROUNDS + 1):
        decision = policy.choose(contexts)
        earned += float(expected[decision.index])
        violated += earned < (1.0 - max_loss) * t * expected[BASELINE] - 1e-9
        policy.learn(decision, float(rng.random() < expected[decision.index]))
    return violated / ROUNDS, float(expected[0] - earned / ROUNDS)


def main() -> None:
    """Print violations and regret of each policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(parser.parse_args().seeds)
    setting: dict[str, Any] = {"alpha": "theory", "delta": 0.001, "model": "shared"}
    for max_loss in (0.01, 0.05, 0.1, 0.2):
        for name in ("LinUCB", "CLUCB", "CLUCB2"):
            found = []
            for seed in seeds:
                policy: Policy = LinUCB(**setting, random_state=seed)
                if name != "LinUCB":
                    known = float(problem(seed)[1][BASELINE]) if name == "CLUCB" else None
                    policy = ConservativeLinUCB(
                        **setting, baseline=BASELINE, baseline_reward=known, max_loss=max_loss, random_state=seed
                    )
                found.append(run(policy, max_loss, seed))
            violated, regret = np.mean(found, axis=0)
            print(f"max_loss {max_loss:4.2f}  {name:7s}  rounds in violation {violated:6.1%}  regret {regret:.4f}")


if __name__ == "__main__":
    main()
