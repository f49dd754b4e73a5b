"""W4: how a round grows with arms, width and non-zeros, through the public face, on one thread.

    python benchmarks/growth.py

Every point is a process of its own, so that its memory is its own. Contexts are as in W1: the user's columns are
the same for all arms, each arm has some of its own; a catalogue keeps those. Then W2 again, by how many rows every
arm has learned, beside vectorised NumPy: arms that have learned few rows have no matrices yet. Writes the part
"growth" of results.json.
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
from compare import answer
from fairbandits import Catalogue, LinUCB
from prepare import W2_ARMS, W2_WIDTH
from workloads import ALPHA, Floats

WIDTH, NONZEROS = 134, 20
USERS_KEPT = 20
SECONDS, REPEATS = 0.3, 5
MOST_BYTES = 3 * 2**30  # what the learned arms of one point may take


def points() -> Iterator[dict[str, Any]]:
    """Name all points."""
    for model in ("disjoint", "shared"):
        for arms in (10, 100, 1_000, 10_000, 100_000):
            yield _point("arms", model, arms=arms)
    for arms in (10, 100, 1_000, 10_000):
        yield _point("arms", "hybrid", arms=arms)
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
    """Make arms and users: two thirds of columns and non-zeros are the user's, one third is the arm's."""
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
    """Measure one point: seconds a round, and what the policy holds in memory."""
    if point["series"] == "rows":
        return measure_rows(point)
    catalogue, users = make(point["arms"], point["width"], point["nonzeros"])
    small, _ = make(2, point["width"], point["nonzeros"])
    _run(LinUCB(model=point["model"], random_state=0), small, users, 2)  # loads what is compiled
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
    # An arm that nobody has seen costs less, so all learn a row, as far as there is room.
    learned = min(point["arms"], MOST_BYTES // bytes_of_arm(point["model"], point["width"]))
    for arm in range(1 if point["model"] == "shared" else learned):
        policy.learn(policy.choose(catalogue.offer(users[0], arms=[arm]), group="male"), 0.5)
    n = max(2, int(SECONDS / _run(policy, catalogue, users, 3)))
    if learned < point["arms"]:
        n = min(n, 10)  # every round of them learns one more arm
    seconds = [_run(policy, catalogue, users, n) for _ in range(REPEATS)]
    held = resident_bytes() - before
    return point | {
        "seconds": statistics.median(seconds),
        "held_bytes": held,
        "all_learned": learned == point["arms"],
    }


def bytes_of_arm(model: str, width: int) -> int:
    """Give about what an arm takes that has learned a row: matrices, or theta, b, a row and a step, twice."""
    return 8 * width * (width + 1) if model == "hybrid" else 64 * width


def measure_rows(point: dict[str, Any]) -> dict[str, Any]:
    """Measure a round of choosing among dense contexts when every arm has learned so many rows."""
    rng = np.random.default_rng(0)
    arms, width = point["arms"], point["width"]
    policy, numpy = LinUCB(alpha=ALPHA, random_state=0), VectorisedNumpy(arms, width, ALPHA)
    contexts = rng.normal(size=(USERS_KEPT, arms, width)) / np.sqrt(width)
    policy.learn(policy.choose(contexts[0][:1]), 0.5)  # loads what is compiled
    before = resident_bytes()
    for row in rng.normal(size=(point["rows"], width)) / np.sqrt(width):
        for arm in range(arms):
            policy.learn(policy.choose(row[None], arms=[arm]), 0.5)
    held = resident_bytes() - before
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(REPEATS):  # in turns, so that both meet the same machine
        ours.append(_each(policy.choose, contexts))
        theirs.append(_each(numpy.choose, contexts))
    medians = {"seconds": statistics.median(ours), "numpy_seconds": statistics.median(theirs)}
    return point | medians | {"held_bytes": held, "all_learned": True}


def _each(choose: Callable[[Floats], Any], contexts: Floats) -> float:
    start = time.perf_counter()
    for one in contexts:
        choose(one)
    return (time.perf_counter() - start) / len(contexts)


def _run(policy: LinUCB, catalogue: Catalogue, users: list[Floats], n: int) -> float:
    """Give the seconds of a round, over n rounds."""
    start = time.perf_counter()
    for i in range(n):
        decision = policy.choose(catalogue.offer(users[i % len(users)]), group=("female", "male")[i % 2])
        policy.learn(decision, 0.3 + 0.4 * (decision.index % 2))
    return (time.perf_counter() - start) / n


def resident_bytes() -> int:
    """Give the memory that this process has now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmRSS")


def main() -> int:
    """Measure all points, each in its own process."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(json.loads(sys.argv[1]))))
        return 0
    found = []
    for point in points():
        found.append(answer([sys.executable, __file__, json.dumps(point)], threads=1))
        print(json.dumps(found[-1]), flush=True)
        if "error" in found[-1]:
            return 1
    results.keep("growth", {"machine": results.machine(), "points": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
