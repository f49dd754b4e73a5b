"""Measure one contender, in its own environment: this imports NumPy, its adapter, and nothing of fairbandits.

    python measure.py '{"module": "in_tree", "options": {"kind": "BatchedBlas"}, "what": "w1", ...}'

`what` is `check` (are its arms the textbook's?), `w1`, `w2` (rounds per second), `w3` (users per second) or
`utility` (how much reward it misses). Prints one line of JSON.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from peers.base import Peer
from workloads import ALPHA, RIDGE, Floats, Round, Workload, logged_arm

CHECK_ARMS, CHECK_ROUNDS, CHECK_USERS, TOLERANCE = 12, 60, 20, 1e-6
POOL = {"w1": 64, "w2": 32}  # rounds that are kept ready
TRAINING = 1_000
CHECKPOINTS = (100, 200, 500, 1_000, 2_000, 5_000)


def make(request: dict[str, Any], workload: Workload) -> Peer:
    """Make the contender for a workload."""
    module = importlib.import_module(f"peers.{request['module']}")
    peer: Peer = module.make(
        workload.n_arms, workload.width, workload.own, ALPHA, RIDGE, **request["options"]
    )  # fmt: skip
    return peer


class Judge:
    """The textbook, which learns what the contender chose, and solves its equations afresh in every round."""

    def __init__(self, peer: Peer, n_arms: int, width: int) -> None:
        n_models = 1 if peer.model == "shared" else n_arms
        self.A = np.tile(RIDGE * np.eye(width), (n_models, 1, 1))
        self.b = np.zeros((n_models, width))

    def scores(self, contexts: Floats) -> Floats:
        """Give the upper confidence bound of every arm."""
        A = np.broadcast_to(self.A, (len(contexts), *self.A.shape[1:]))
        right = np.stack([np.broadcast_to(self.b, contexts.shape), contexts], axis=2)
        solved = np.linalg.solve(A, right)
        means, squares = np.einsum("kd,kds->sk", contexts, solved)
        return means + ALPHA * np.sqrt(squares)

    def accepts(self, arm: int, contexts: Floats) -> bool:
        """Say whether the arm is one with the highest bound."""
        scores = self.scores(contexts)
        return bool(scores[arm] >= scores.max() - TOLERANCE)

    def learn(self, arm: int, x: Floats, reward: float) -> None:
        """Add a row."""
        model = arm if len(self.A) > 1 else 0
        self.A[model] += np.outer(x, x)
        self.b[model] += reward * x


def check(request: dict[str, Any], workload: Workload) -> dict[str, Any]:
    """Count the rounds, then the users at once, for which its arm is one that the textbook scores highest."""
    peer = make(request, workload)
    summarise_world = Judge(peer, workload.n_arms, workload.own if peer.narrow else workload.width)
    agreed = 0
    for round_ in workload.rounds(CHECK_ROUNDS):
        prepared = peer.prepare(round_)
        arm = peer.choose(prepared)
        rows = rows_of(peer, round_)
        agreed += summarise_world.accepts(arm, rows)
        reward = float(round_.rewards[arm])
        peer.learn(arm, prepared, reward)
        summarise_world.learn(arm, rows[arm], reward)
    users = list(workload.rounds(CHECK_USERS, start=CHECK_ROUNDS))
    arms = peer.choose_many(peer.prepare_many(users))
    agreed += sum(summarise_world.accepts(arm, rows_of(peer, user)) for arm, user in zip(arms, users, strict=True))
    return {"agreed": agreed, "rounds": CHECK_ROUNDS + CHECK_USERS}


def rows_of(peer: Peer, round_: Round) -> Floats:
    """Give what the contender sees of a round: a row for each arm, or the user's for all of them."""
    if not peer.takes_users:
        return round_.contexts
    return np.tile(round_.own_columns if peer.narrow else round_.user, (len(round_.arm_columns), 1))


def train(peer: Peer, workload: Workload) -> None:
    """Let it learn a log in which every arm occurs, the same for all contenders."""
    rounds = list(workload.rounds(TRAINING))
    arms = [logged_arm(number, workload.n_arms) for number in range(TRAINING)]
    peer.learn_many(arms, rounds, [float(round_.rewards[arm]) for arm, round_ in zip(arms, rounds, strict=True)])


def online(request: dict[str, Any], workload: Workload) -> dict[str, Any]:
    """Measure rounds per second: choose, see the reward, learn."""
    peer = make(request, workload)
    train(peer, workload)  # an arm that nobody has seen costs less, and soon there are none
    rounds = list(workload.rounds(min(POOL[request["what"]], len(workload))))
    ready = [(peer.prepare(round_), round_.rewards.tolist()) for round_ in rounds]
    numbers = count()

    def work(n: int) -> None:
        for _ in range(n):
            prepared, rewards = ready[next(numbers) % len(ready)]
            arm = peer.choose(prepared)
            peer.learn(arm, prepared, rewards[arm])

    return timed(work, request)


def batch(request: dict[str, Any], workload: Workload) -> dict[str, Any]:
    """Measure users per second of a trained model, that many at once as the contender takes."""
    peer = make(request, workload)
    train(peer, workload)
    at_once = min(peer.users_at_once, len(workload))
    chunks = [
        peer.prepare_many(list(workload.rounds(at_once, start)))
        for start in range(0, min(len(workload), 4 * at_once), at_once)
    ]
    numbers = count()

    def work(n: int) -> None:
        for _ in range(n):
            peer.choose_many(chunks[next(numbers) % len(chunks)])

    return timed(work, request, per_call=at_once)


def timed(work: Callable[[int], None], request: dict[str, Any], per_call: int = 1) -> dict[str, Any]:
    """Warm up, then give the rate of each of several runs, and the peak of the memory."""
    work(1)  # compiles where something is compiled
    calls, warm = 1, time.perf_counter()
    while time.perf_counter() - warm < request["seconds"]:
        work(calls)
        calls *= 2
    took = time.perf_counter() - warm
    n = max(1, round((calls - 1) / took * request["seconds"]))
    rates = []
    for _ in range(request["repeats"]):
        start = time.perf_counter()
        work(n)
        rates.append(n * per_call / (time.perf_counter() - start))
    return {"rates": rates, "peak_bytes": peak_bytes()}


def peak_bytes() -> int:
    """Give the most memory that this process has had; where Linux tells, without what its parent had before it."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def utility(request: dict[str, Any], workload: Workload) -> dict[str, Any]:
    """Live through the rounds for as long as there is time; give the mean reward missed at each checkpoint."""
    peer = make(request, workload)
    until = time.perf_counter() + request["seconds"]
    missed, losses = 0.0, {}
    for number, round_ in enumerate(workload.rounds(min(CHECKPOINTS[-1], len(workload))), start=1):
        prepared = peer.prepare(round_)
        arm = peer.choose(prepared)
        peer.learn(arm, prepared, float(round_.rewards[arm]))
        missed += float(round_.rewards.max() - round_.rewards[arm])
        if number in CHECKPOINTS:
            losses[str(number)] = missed / number
        if time.perf_counter() > until:
            break
    return {"loss": losses}


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked for."""
    folder, what = Path(request["folder"]), request["what"]
    if what == "check":
        found = [check(request, Workload(folder / name, CHECK_ARMS)) for name in ("w1.npz", "w2.npz")]
        return {key: sum(part[key] for part in found) for key in ("agreed", "rounds")}
    workload = Workload(folder / ("w2.npz" if what == "w2" else "w1.npz"))
    kinds = {"w1": online, "w2": online, "w3": batch, "utility": utility}
    return kinds[what](request, workload)


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
