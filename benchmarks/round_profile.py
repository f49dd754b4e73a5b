"""Where the time of a round goes: compiled kernels, and the rest in Python.

    python benchmarks/round_profile.py

W1, one thread, LinUCB with a catalogue. Every part is timed separately on the same offers; best of several turns.
This uses private names to call the kernels alone.
"""

from __future__ import annotations

import single_thread  # noqa: F401  # before NumPy  # isort: skip

import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import prepare
from fairbandits.models.kernels import disjoint_scoring
from measure import train
from peers import ours
from timing import seconds_per_call
from workloads import ALPHA, RIDGE, Workload

OFFERS, TURNS, SECONDS = 64, 7, 0.15


def best(work: Callable[[Any], Any], items: list[Any]) -> float:
    """Return the shortest mean duration of the work over all items."""
    item = cycle(items)
    return min(seconds_per_call(lambda: work(next(item)), SECONDS) for _ in range(TURNS))


def main() -> None:
    """Time the parts of a round, and print them with their sum."""
    with tempfile.TemporaryDirectory() as name:
        prepare.write_w1(Path(name) / "w1.npz", 1_000)
        workload = Workload(Path(name) / "w1.npz")
    peer: Any = ours.make(workload.n_arms, workload.width, workload.own, ALPHA, RIDGE)
    train(peer, workload)
    users = [peer.prepare(round_) for round_ in workload.rounds(OFFERS)]
    policy, catalogue = peer.policy, peer.catalogue
    offers = [(catalogue.offer(user, {"sex": group}), group) for user, group in users]
    decisions = [policy.choose(offer, group=group) for offer, group in offers]
    arms = policy._arms.lookup_known(catalogue.arms)[1]
    model = policy.reward_model
    mean, width = np.empty((1, len(arms))), np.empty((1, len(arms)))

    def score(pair: Any) -> None:
        rows = tuple(pair[0].rows.parts)
        disjoint_scoring.score_sparse(rows, arms, model._state, model.ridge, mean, width, 0, len(arms))

    def learn(decision: Any) -> None:
        model._update(policy._arms.rows[decision.arm], decision.row, 0.5, 1.0)

    parts = {
        "offer": best(lambda pair: catalogue.offer(pair[0], {"sex": pair[1]}), users),
        "choose": best(lambda pair: policy.choose(pair[0], group=pair[1]), offers),
        "  of which the scoring kernel": best(score, offers),
        "learn": best(lambda decision: policy.learn(decision, 0.5, again=True), decisions),
        "  of which the learning kernel": best(learn, decisions),
    }
    compiled = sum(value for name, value in parts.items() if name.startswith(" "))
    total = sum(parts.values()) - compiled
    for name, value in parts.items():
        print(f"{name:<48}{value * 1e6:>8.1f} us")
    print(f"{'whole round':<48}{total * 1e6:>8.1f} us")
    print(f"{'Python: checks, records, calls':<48}{(total - compiled) * 1e6:>8.1f} us")


if __name__ == "__main__":
    main()
