"""Measure one contender in its own environment: this imports NumPy and the adapter, but nothing of fairbandits.

    python measure.py '{"module": "in_tree", "options": {"kind": "BatchedBlas"}, "what": "w1", ...}'

`what` is `check` (does it choose the textbook's arms?), `w1`, `w2` (rounds per second), `w3` (users per second) or
`utility` (mean utility loss). Prints one line of JSON.
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
POOL = {"w1": 64, "w2": 32}  # the number of rounds prepared in advance
TRAINING = 1_000
CHECKPOINTS = (100, 200, 500, 1_000, 2_000, 5_000)


def make(request: dict[str, Any], workload: Workload) -> Peer:
    """Return the contender, set up for a workload."""
    module = importlib.import_module(f"peers.{request['module']}")
    peer: Peer = module.make(
        workload.n_arms, workload.width, workload.own, ALPHA, RIDGE, **request["options"]
    )  # fmt: skip
    return peer


class Reference:
    """The textbook's LinUCB, which learns the contender's choices and solves its equations anew in every round."""

    def __init__(self, peer: Peer, n_arms: int, width: int) -> None:
        n_models = 1 if peer.model == "shared" else n_arms
        self.A = np.tile(RIDGE * np.eye(width), (n_models, 1, 1))
        self.b = np.zeros((n_models, width))

    def scores(self, contexts: Floats) -> Floats:
        """Return the upper confidence bound of every arm."""
        A = np.broadcast_to(self.A, (len(contexts), *self.A.shape[1:]))
        right = np.stack([np.broadcast_to(self.b, contexts.shape), contexts], axis=2)
        solved = np.linalg.solve(A, right)
        means, squares = np.einsum("kd,kds->sk", contexts, solved)
        return means + ALPHA * np.sqrt(squares)

    def accepts(self, arm: int, contexts: Floats) -> bool:
        """Return whether the arm is one with the highest bound."""
        scores = self.scores(contexts)
        return bool(scores[arm] >= scores.max() - TOLERANCE)

    def learn(self, arm: int, x: Floats, reward: float) -> None:
        """Add a row."""
        model = arm if len(self.A) > 1 else 0
        self.A[model] += np.outer(x, x)
        self.b[model] += reward * x


def check(request: dict[str, Any], workload: Workload) -> dict[str, Any]:
    """Count the rounds and the users of a batch for which its arm is one that the textbook scores highest."""
    peer = make(request, workload)
    reference = Reference(peer, workload.n_arms, workload.own if peer.narrow else workload.width)
    agreed = 0
    for round_ in workload.rounds(CHECK_ROUNDS):
        prepared = peer.prepare(round_)
        arm = peer.choose(prepared)
        rows = rows_of(peer, round_)
        agreed += reference.accepts(arm, rows)
        reward = float(round_.rewards[arm])
        peer.learn(arm, prepared, reward)
        reference.learn(arm, rows[arm], reward)
    users = list(workload.rounds(CHECK_USERS, start=CHECK_ROUNDS))
    arms = peer.choose_many(peer.prepare_many(users))
    agreed += sum(reference.accepts(arm, rows_of(peer, user)) for arm, user in zip(arms, users, strict=True))
    return {"agreed": agreed, "rounds": CHECK_ROUNDS + CHECK_USERS}


def rows_of(peer: Peer, round_: Round) -> Floats:
    """Return the rows that the contender sees: one per arm, or the user's row for all arms."""
    if not peer.takes_users:
        return round_.contexts
    return np.tile(round_.own_columns if peer.narrow else round_.user, (len(round_.arm_columns), 1))


def train(peer: Peer, workload: Workload) -> None:
    """Train a contender on a log in which every arm occurs, the same for all contenders."""
    rounds = list(workload.rounds(TRAINING))
    arms = [logged_arm(number, workload.n_arms) for number in range(TRAINING)]
    peer.learn_many(arms, rounds, [float(round_.rewards[arm]) for arm, round_ in zip(arms, rounds, strict=True)])


def online(request: dict[str, Any], workload: Workload) -> dict[str, Any]:
    """Measure rounds per second: choose, receive the reward, learn."""
    peer = make(request, workload)
    train(peer, workload)  # arms without observations cost less, and soon there are none
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
    """Measure users per second of a trained model, in batches of the size that suits the contender."""
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
    """Warm up, and return the rates of several runs and the peak memory."""
    work(1)  # may compile
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
    """Return the peak memory of this process; on Linux, without that of its parent before the fork."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def utility(request: dict[str, Any], workload: Workload) -> dict[str, Any]:
    """Run rounds within a time limit, and return the mean utility loss at each checkpoint."""
    peer = make(request, workload)
    until = time.perf_counter() + request["seconds"]
    total, losses = 0.0, {}
    for number, round_ in enumerate(workload.rounds(min(CHECKPOINTS[-1], len(workload))), start=1):
        prepared = peer.prepare(round_)
        arm = peer.choose(prepared)
        peer.learn(arm, prepared, float(round_.rewards[arm]))
        total += float(round_.rewards.max() - round_.rewards[arm])
        if number in CHECKPOINTS:
            losses[str(number)] = total / number
        if time.perf_counter() > until:
            break
    return {"loss": losses}


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Run the requested measurement."""
    folder, what = Path(request["folder"]), request["what"]
    if what == "check":
        checks = [check(request, Workload(folder / name, CHECK_ARMS)) for name in ("w1.npz", "w2.npz")]
        return {key: sum(part[key] for part in checks) for key in ("agreed", "rounds")}
    workload = Workload(folder / ("w2.npz" if what == "w2" else "w1.npz"))
    kinds = {"w1": online, "w2": online, "w3": batch, "utility": utility}
    return kinds[what](request, workload)


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
