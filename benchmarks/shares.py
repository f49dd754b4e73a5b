"""What of a round goes where: the compiled loops, and what checks, records and the rest of Python cost on top.

    python benchmarks/shares.py

W1, one thread, LinUCB from a catalogue; every piece is timed alone on the same offers, the best of several turns.
"""

from __future__ import annotations

from guard import both, seconds  # first: it sets the number of threads  # isort: skip

import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import prepare
from fairbandits.models.kernels import disjoint_scoring
from workloads import Workload

OFFERS, TURNS = 64, 7


def best(work: Callable[[Any], Any], items: list[Any]) -> float:
    """Give the seconds of one piece of work, over all items in turn."""
    turn = cycle(items)
    return min(seconds(lambda: work(next(turn))) for _ in range(TURNS))


def main() -> None:
    """Time the pieces, and print them beside the whole."""
    with tempfile.TemporaryDirectory() as name:
        prepare.write_w1(Path(name) / "w1.npz", 1_000)
        workload = Workload(Path(name) / "w1.npz")
    peer: Any = both(workload)[0]
    users = [peer.prepare(round_) for round_ in workload.rounds(OFFERS)]
    policy, catalogue = peer.policy, peer.catalogue
    offers = [(catalogue.offer(user, {"sex": group}), group) for user, group in users]
    decisions = [policy.choose(offer, group=group) for offer, group in offers]
    at = policy._arms.lookup_known(catalogue.arms)[1]
    bank = policy.reward_model
    mean, width = np.empty((1, len(at))), np.empty((1, len(at)))

    def score(pair: Any) -> None:
        disjoint_scoring.score_sparse(
            tuple(pair[0].rows.parts), at, bank._state, bank.ridge, mean, width, 0, len(at)
        )

    def learn(decision: Any) -> None:
        bank._update(policy._arms.rows[decision.arm], decision.row, 0.5, 1.0)

    pieces = {
        "offer: read the user, lay out what arms share": best(
            lambda pair: catalogue.offer(pair[0], {"sex": pair[1]}), users
        ),
        "choose": best(lambda pair: policy.choose(pair[0], group=pair[1]), offers),
        "  of it the loop that scores": best(score, offers),
        "learn": best(lambda decision: policy.learn(decision, 0.5, again=True), decisions),
        "  of it the loop that learns": best(learn, decisions),
    }
    compiled = sum(value for name, value in pieces.items() if name.startswith(" "))
    whole = sum(pieces.values()) - compiled
    for name, value in pieces.items():
        print(f"{name:<48}{value * 1e6:>8.1f} us")
    print(f"{'all of it':<48}{whole * 1e6:>8.1f} us")
    print(f"{'checks, records and the rest of Python':<48}{(whole - compiled) * 1e6:>8.1f} us")


if __name__ == "__main__":
    main()
