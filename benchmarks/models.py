"""The cost of a round with each model: `choose` and `learn` through the public interface, on one thread.

W1: 100 arms, 134 columns, mostly one-hot. Prints microseconds and the ratio to the disjoint model, all measured in
one run; and the error of the scores with float32.

    python benchmarks/models.py
"""

from __future__ import annotations

import single_thread  # noqa: F401  # before NumPy  # isort: skip

import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

import prepare
from fairbandits import Model
from measure import train
from peers import ours
from timing import rounds_of, seconds_per_call
from workloads import ALPHA, RIDGE, Workload

ROUNDS, REPEATS, SECONDS = 64, 7, 0.15


def main() -> None:
    """Measure and print the cost of all models."""
    with tempfile.TemporaryDirectory() as name:
        prepare.write_w1(Path(name) / "w1.npz", 1_000)
        workload = Workload(Path(name) / "w1.npz")
    contexts = np.concatenate([round_.contexts for round_ in workload.rounds(10)])
    curved = Nystroem(n_components=100, random_state=0).fit(contexts)
    models = {
        "disjoint": Model(),
        "shared": Model(kind="shared"),
        "float32": Model(dtype="float32"),
        "hybrid": Model(kind="hybrid"),
        "logistic": Model(link="logistic"),
        "logistic shared": Model(kind="shared", link="logistic"),
        "logistic hybrid": Model(kind="hybrid", link="logistic"),
        "discount": Model(discount=0.999),
        "discount shared": Model(kind="shared", discount=0.999),
        "discount hybrid": Model(kind="hybrid", discount=0.999),
        "Nystroem to 100": Model(feature_map=curved),
    }
    works = {}
    for name, model in models.items():
        peer = ours.make(workload.n_arms, workload.width, workload.own, ALPHA, RIDGE, model=model)
        train(peer, workload)
        works[name] = rounds_of(peer, workload, ROUNDS)
    # The first turn compiles.
    turns = [{name: seconds_per_call(work, SECONDS) for name, work in works.items()} for _ in range(REPEATS)][1:]
    for name in models:
        median = statistics.median(turn[name] for turn in turns)
        ratio = statistics.median(turn[name] / turn["disjoint"] for turn in turns)
        print(f"{name:<18}{median * 1e6:>10.0f} us per round{ratio:>8.1f} x")
    print(f"float32: the largest error of a score is {error_of_float32(workload):.1g}")


def error_of_float32(workload: Workload) -> float:
    """Return the largest difference of scores between float32 and float64 after the same log."""
    shape = (workload.n_arms, workload.width, workload.own, ALPHA, RIDGE)
    peers: list[Any] = [ours.make(*shape, model=Model(dtype=dtype)) for dtype in ("float64", "float32")]
    scores = []
    for peer in peers:
        train(peer, workload)
        users, groups = peer.prepare_many(list(workload.rounds(ROUNDS)))
        scores.append(peer.policy.score(peer.catalogue.offer_many(users, {"sex": groups})).total)
    return float(np.abs(scores[0] - scores[1]).max())


if __name__ == "__main__":
    main()
