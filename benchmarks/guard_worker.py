"""Measure the speed of the `fairbandits` on the path; `guard.py` runs this in fresh processes, once per checkout.

    python guard_worker.py '{"folder": "...", "figures": ["W1 round", ...], "seconds": 0.1}'

Prints one line of JSON: the path of the package, and calls per second for each figure. Only public names of
fairbandits are used, so that checkouts with another package layout can be measured too.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fairbandits
from measure import train
from peers import ours
from timing import Work, batch_of, learning_of, rounds_of, seconds_per_call
from workloads import ALPHA, RIDGE, Workload

W1_POOL, W2_POOL, W3_USERS = 64, 32, 10_000
W2_OBSERVATIONS = 32
STRETCHES = 5


class Figures:
    """The units of work of each figure, on policies that are trained once per workload."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.works: dict[str, tuple[Callable[[], Work], int]] = {
            "W1 round": (lambda: rounds_of(*self.trained("w1"), W1_POOL), 1),
            "W1 choose": (lambda: rounds_of(*self.trained("w1"), W1_POOL, learn=False), 1),
            "W1 learn": (lambda: learning_of(*self.trained("w1"), W1_POOL), 1),
            "W2 round": (lambda: rounds_of(*self.trained("w2"), W2_POOL), 1),
            "W2 grown": (lambda: rounds_of(*self.grown("w2"), W2_POOL), 1),
            "W3 users": (lambda: batch_of(*self.trained("w1"), W3_USERS), W3_USERS),
        }

    @cache  # noqa: B019 - one object per process
    def trained(self, name: str) -> tuple[ours.Ours, Workload]:
        """Return a policy that has learned the training log of a workload, and the workload."""
        workload = Workload(self.folder / f"{name}.npz")
        peer = ours.make(workload.n_arms, workload.width, workload.own, ALPHA, RIDGE)
        train(peer, workload)
        return peer, workload

    @cache  # noqa: B019 - one object per process
    def grown(self, name: str) -> tuple[ours.Ours, Workload]:
        """Return a policy of which every arm has so many observations that it has matrices, and the workload."""
        peer, workload = self.trained(name)
        contexts = np.stack([round_.contexts for round_ in workload.rounds(W2_OBSERVATIONS)])
        for arm in range(workload.n_arms):
            decisions = peer.policy.choose_many(contexts[:, [arm]], arms=[arm])
            peer.policy.learn_many(decisions, [0.5] * len(decisions))
        return peer, workload

    def rate(self, figure: str, seconds: float) -> float:
        """Return the calls per second of a figure: the median of several stretches, the first as a warm-up."""
        make, per_call = self.works[figure]
        work = make()
        stretches = [seconds_per_call(work, seconds) for _ in range(STRETCHES + 1)][1:]
        return per_call / statistics.median(stretches)


def main() -> None:
    """Measure the requested figures."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    figures = Figures(Path(request["folder"]))
    rates = {figure: figures.rate(figure, request["seconds"]) for figure in request["figures"]}
    print(json.dumps({"package": str(Path(fairbandits.__file__).resolve()), "rates": rates}))


if __name__ == "__main__":
    main()
