"""W4: the cost of a round by arms, width and non-zeros, through the public interface, on one thread.

    python benchmarks/growth.py

Every point is measured in its own process, for the sake of its memory. Contexts are as in W1: columns of the user,
the same for all arms, and columns of each arm, in a catalogue. Then W2 by the number of observations per arm, with
vectorised NumPy as reference: arms with few observations have no matrices yet. Writes the part "growth" of
results.json.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import results
from baselines import VectorisedNumpy
from compare import run_json
from fairbandits import Catalogue, LinUCB
from prepare import W2_ARMS, W2_WIDTH
from workloads import ALPHA, Floats

WIDTH, NONZEROS = 134, 20
USERS_KEPT = 20
SECONDS, REPEATS = 0.3, 5
MOST_BYTES = 3 * 2**30  # the limit for the learned arms of one point


def points() -> Iterator[dict[str, Any]]:
    """Iterate over all points."""
    for model in ("disjoint", "shared", "hybrid"):
        for arms in (10, 100, 1_000, 10_000, 100_000):
            yield _point("arms", model, arms=arms)
    for model in ("disjoint", "shared", "hybrid"):
        for width in (16, 64, 256, 1_024, 2_048):
            yield _point("width", model, width=width, nonzeros=min(width, NONZEROS))
        for nonzeros in (5, 20, 50, WIDTH):
            yield _point("nonzeros", model, nonzeros=nonzeros)
    yield _point("untouched", "disjoint", arms=100_000)
    for rows in (1, 4, 16, 64, 256):
        yield _point("rows", "disjoint", W2_ARMS, W2_WIDTH, W2_WIDTH) | {"rows": rows}


def _point(
    series: str, model: str, arms: int = 100, width: int = WIDTH, nonzeros: int = NONZEROS
) -> dict[str, Any]:
    return {"series": series, "model": model, "arms": arms, "width": width, "nonzeros": nonzeros}


def make(arms: int, width: int, nonzeros: int) -> tuple[Catalogue, list[Floats]]:
    """Return a catalogue and users: two thirds of columns and non-zeros are the user's, one third the arm's."""
    rng = np.random.default_rng(0)
    of_arm = max(1, nonzeros // 3)
    arm_columns = width // 3 if nonzeros < width else of_arm
    first = width - arm_columns
    features = np.zeros((arms, arm_columns))
    own = np.argpartition(rng.random((arms, arm_columns)), of_arm - 1, axis=1)[:, :of_arm]
    features[np.arange(arms)[:, None], own] = 1.0
    users = np.zeros((USERS_KEPT, first))
    for user in users:
        user[rng.choice(first, min(first, nonzeros - of_arm), replace=False)] = 1.0
    return Catalogue(features, first), list(users)


def measure(point: dict[str, Any]) -> dict[str, Any]:
    """Measure one point: seconds per round, and the memory of the policy."""
    if point["series"] == "rows":
        return measure_rows(point)
    catalogue, users = make(point["arms"], point["width"], point["nonzeros"])
    small, _ = make(2, point["width"], point["nonzeros"])
    _seconds_per_round(LinUCB(model=point["model"], random_state=0), small, users, 2)  # loads the compiled kernels
    before = resident_bytes()
    policy = LinUCB(alpha=ALPHA, model=point["model"], random_state=0)
    if point["series"] == "untouched":
        start = time.perf_counter()
        policy.choose(catalogue.offer(users[0]), group="female")
        return point | {
            "seconds": time.perf_counter() - start,
            "held_bytes": resident_bytes() - before,
            "all_learned": False,
        }
    # Arms without observations cost less, so every arm learns one, as far as memory allows.
    learned = min(point["arms"], MOST_BYTES // bytes_of_arm(point["width"]))
    for arm in range(1 if point["model"] == "shared" else learned):
        policy.learn(policy.choose(catalogue.offer(users[0], arms=[arm]), group="male"), 0.5)
    n = max(2, int(SECONDS / _seconds_per_round(policy, catalogue, users, 3)))
    if learned < point["arms"]:
        n = min(n, 10)  # every further round adds a learned arm
    seconds = [_seconds_per_round(policy, catalogue, users, n) for _ in range(REPEATS)]
    held = resident_bytes() - before
    return point | {
        "seconds": statistics.median(seconds),
        "held_bytes": held,
        "all_learned": learned == point["arms"],
    }


def bytes_of_arm(width: int) -> int:
    """Return the approximate memory of an arm with one observation, a low-rank state."""
    return 64 * width


def measure_rows(point: dict[str, Any]) -> dict[str, Any]:
    """Measure a choice among dense contexts when every arm has a given number of observations."""
    rng = np.random.default_rng(0)
    arms, width = point["arms"], point["width"]
    policy, numpy = LinUCB(alpha=ALPHA, random_state=0), VectorisedNumpy(arms, width, ALPHA)
    contexts = rng.normal(size=(USERS_KEPT, arms, width)) / np.sqrt(width)
    policy.learn(policy.choose(contexts[0][:1]), 0.5)  # loads the compiled kernels
    before = resident_bytes()
    for row in rng.normal(size=(point["rows"], width)) / np.sqrt(width):
        for arm in range(arms):
            policy.learn(policy.choose(row[None], arms=[arm]), 0.5)
    held = resident_bytes() - before
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(REPEATS):  # alternating, so that both see the same load
        ours.append(_seconds_per_choice(policy.choose, contexts))
        theirs.append(_seconds_per_choice(numpy.choose, contexts))
    medians = {"seconds": statistics.median(ours), "numpy_seconds": statistics.median(theirs)}
    return point | medians | {"held_bytes": held, "all_learned": True}


def _seconds_per_choice(choose: Callable[[Floats], Any], contexts: Floats) -> float:
    start = time.perf_counter()
    for one in contexts:
        choose(one)
    return (time.perf_counter() - start) / len(contexts)


def _seconds_per_round(policy: LinUCB, catalogue: Catalogue, users: list[Floats], n: int) -> float:
    """Return the mean duration of n rounds."""
    start = time.perf_counter()
    for i in range(n):
        decision = policy.choose(catalogue.offer(users[i % len(users)]), group=("female", "male")[i % 2])
        policy.learn(decision, 0.3 + 0.4 * (decision.index % 2))
    return (time.perf_counter() - start) / n


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmRSS")


def main() -> int:
    """Measure all points, each in its own process, and save the results."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(json.loads(sys.argv[1]))))
        return 0
    measured = []
    for point in points():
        measured.append(run_json([sys.executable, __file__, json.dumps(point)], threads=1))
        print(json.dumps(measured[-1]), flush=True)
        if "error" in measured[-1]:
            return 1
    results.save("growth", {"machine": results.machine(), "points": measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
