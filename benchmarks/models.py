"""What a round costs with each model: `choose` + `learn` through the public face, one thread.

100 arms, contexts 134 wide with 20 non-zeros (the paper's). Prints microseconds, and how many times the disjoint
model's that is, all measured in one run.

    python benchmarks/models.py
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import statistics  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.kernel_approximation import Nystroem  # noqa: E402

from baselines import Floats  # noqa: E402
from fairbandits import LinUCB, Model  # noqa: E402
from round import ARMS, make_rounds, ours, seconds_per_round  # noqa: E402

ROUNDS, REPEATS = 200, 7


def filled(policy: LinUCB, rounds: list[Floats]) -> LinUCB:
    """Let every arm learn something: one that has learned nothing costs nothing."""
    for i in range(5 * ARMS):
        arm = i % ARMS
        policy.learn(policy.choose(rounds[i % len(rounds)][[arm]], arms=[arm]), 0.5)
    return policy


def main() -> None:
    """Measure, and print."""
    rounds = make_rounds(ROUNDS)
    curved = Nystroem(n_components=100, random_state=0).fit(np.concatenate(rounds[:10]))
    models = {
        "disjoint": Model(),
        "shared": Model("shared"),
        "hybrid": Model("hybrid"),
        "logistic": Model(link="logistic"),
        "logistic shared": Model("shared", link="logistic"),
        "logistic hybrid": Model("hybrid", link="logistic"),
        "discount": Model(discount=0.999),
        "discount shared": Model("shared", discount=0.999),
        "discount hybrid": Model("hybrid", discount=0.999),
        "Nystroem to 100": Model(feature_map=curved),
    }
    steps = {name: ours(filled(LinUCB(model=model, random_state=0), rounds)) for name, model in models.items()}
    # The first turn warms up.
    times = [
        {name: seconds_per_round(step, rounds, ROUNDS) for name, step in steps.items()} for _ in range(REPEATS)
    ]
    for name in models:
        median = statistics.median(turn[name] for turn in times[1:])
        ratio = statistics.median(turn[name] / turn["disjoint"] for turn in times[1:])
        print(f"{name:<18}{median * 1e6:>10.0f} us a round{ratio:>8.1f} x")


if __name__ == "__main__":
    main()
