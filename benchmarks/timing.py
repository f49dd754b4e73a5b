"""Units of work to time: a round, one of its parts, or a batch of users; and how long one unit takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count, cycle

from peers.base import Peer
from peers.ours import Ours
from workloads import Workload

Work = Callable[[], None]


def rounds_of(peer: Peer, workload: Workload, n: int, choose: bool = True, learn: bool = True) -> Work:
    """Return the work of one round: choose and learn, or only one of them."""
    rounds = list(workload.rounds(n))
    prepared_rounds = [(peer.prepare(round_), round_.rewards.tolist()) for round_ in rounds]
    numbers = count()

    def work() -> None:
        prepared, rewards = prepared_rounds[next(numbers) % len(prepared_rounds)]
        arm = peer.choose(prepared) if choose else 0
        if learn:
            peer.learn(arm, prepared, rewards[arm])

    return work


def learning_of(peer: Ours, workload: Workload, n: int) -> Work:
    """Return the work of `learn` alone: decisions made before are learned again and again."""
    decisions = []
    for round_ in workload.rounds(n):
        peer.choose(peer.prepare(round_))
        decisions.append(peer.decision)
    repeated = cycle(decisions)

    def work() -> None:
        peer.policy.learn(next(repeated), 0.5, again=True)

    return work


def batch_of(peer: Peer, workload: Workload, n: int) -> Work:
    """Return the work of choosing for n users at once."""
    prepared = peer.prepare_many(list(workload.rounds(n)))

    def work() -> None:
        peer.choose_many(prepared)

    return work


def seconds_per_call(work: Work, seconds: float) -> float:
    """Return the mean duration of one unit of work, from as many as fit into the given time."""
    start, calls = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - start) < seconds:
        work()
        calls += 1
    return elapsed / calls
