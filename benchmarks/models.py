"""What a round costs with each model: `choose` + `learn` through the public face, one thread.

W1: 100 arms, contexts 134 wide, mostly one-hot. Prints microseconds, and how many times the disjoint model's that
is, all measured in one run; and how far scores are off with float32.

    python benchmarks/models.py
"""

from __future__ import annotations

from guard import online, seconds  # first: it sets the number of threads  # isort: skip

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
from workloads import ALPHA, RIDGE, Workload

ROUNDS, REPEATS = 64, 7


def main() -> None:
    """Measure, and print."""
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
        works[name] = online(peer, workload, ROUNDS)
    # The first turn compiles.
    turns = [{name: seconds(work) for name, work in works.items()} for _ in range(REPEATS)][1:]
    for name in models:
        median = statistics.median(turn[name] for turn in turns)
        ratio = statistics.median(turn[name] / turn["disjoint"] for turn in turns)
        print(f"{name:<18}{median * 1e6:>10.0f} us a round{ratio:>8.1f} x")
    print(f"float32: no score is off by more than {error_of_float32(workload):.1g}")


def error_of_float32(workload: Workload) -> float:
    """Let two policies learn the same log, and compare their scores of its users."""
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
