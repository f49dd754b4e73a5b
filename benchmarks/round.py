"""How fast is a round? `choose` + `learn` through the public face, against the textbook and against NumPy.

100 arms, contexts 134 wide with 20 non-zeros (the paper's), one thread, all in one run, interleaved so that
a busy moment of the machine hits all alike. Prints medians and ratios, and fails if a ratio falls short.

    python benchmarks/round.py
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402

from baselines import BatchedBlas, Floats, Textbook, VectorisedNumpy  # noqa: E402
from fairbandits import FairLinUCB, LinUCB  # noqa: E402

ARMS, WIDTH, USER_COLUMNS, NONZEROS = 100, 134, 107, 20
ALPHA = 0.5
AT_LEAST = {"textbook": 500.0, "vectorised NumPy": 8.0}
IMPORT_BELOW = 1.0


def make_rounds(n: int, seed: int = 0) -> list[Floats]:
    """Contexts as in the paper: the user's columns are the same for all arms, each arm has its own."""
    rng = np.random.default_rng(seed)
    videos = np.zeros((ARMS, WIDTH - USER_COLUMNS))
    for video in videos:
        video[rng.choice(WIDTH - USER_COLUMNS - 1, 7, replace=False)] = 1.0
    rounds = []
    for _ in range(n):
        contexts = np.zeros((ARMS, WIDTH))
        contexts[:, rng.choice(USER_COLUMNS, NONZEROS - 7, replace=False)] = rng.random(NONZEROS - 7)
        contexts[:, USER_COLUMNS:] = videos
        rounds.append(contexts)
    return rounds


def seconds_per_round(step: Callable[[Floats, int], None], rounds: list[Floats], n: int) -> float:
    """Time n rounds."""
    started = time.perf_counter()
    for i in range(n):
        step(rounds[i % len(rounds)], i)
    return (time.perf_counter() - started) / n


def ours(policy: LinUCB) -> Callable[[Floats, int], None]:
    """Give the round of a policy of this library."""

    def step(contexts: Floats, i: int) -> None:
        decision = policy.choose(contexts, group=("female", "male")[i % 2])
        policy.learn(decision, reward=0.3 + 0.4 * (decision.index % 2))

    return step


def theirs(baseline: Textbook | VectorisedNumpy) -> Callable[[Floats, int], None]:
    """Give the round of a baseline."""

    def step(contexts: Floats, i: int) -> None:
        arm = baseline.choose(contexts)
        baseline.learn(arm, contexts[arm], 0.3 + 0.4 * (arm % 2))

    return step


def import_seconds() -> float:
    """Time `import fairbandits` in processes of their own; the median of five."""
    code = "import time; t = time.perf_counter(); import fairbandits; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> int:
    """Measure, print, and say by the exit status whether the promises hold."""
    rounds = make_rounds(40)
    contenders = {
        "LinUCB": (ours(LinUCB(alpha=ALPHA, random_state=0)), 2_000),
        "FairLinUCB": (ours(FairLinUCB(alpha=ALPHA, gamma=3.0, random_state=0)), 2_000),
        "NumPy through BLAS": (theirs(BatchedBlas(ARMS, WIDTH, ALPHA)), 200),
        "vectorised NumPy": (theirs(VectorisedNumpy(ARMS, WIDTH, ALPHA)), 200),
        "textbook": (theirs(Textbook(ARMS, WIDTH, ALPHA)), 4),
    }
    for name, (step, _) in contenders.items():
        seconds_per_round(step, rounds, 4 if name == "textbook" else 1_000)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(7):
        for name, (step, n) in contenders.items():
            times[name].append(seconds_per_round(step, rounds, n))
    median = {name: statistics.median(runs) for name, runs in times.items()}

    def ratio(name: str, policy: str) -> float:
        # Run by run: what slows the machine for a while slows both.
        return statistics.median(a / b for a, b in zip(times[name], times[policy], strict=True))

    print(f"a round at {ARMS} arms, {WIDTH} wide with {NONZEROS} non-zeros, one thread, median of 7")
    print(f"{'':<20}{'us a round':>12}{'rounds/s':>10}{'LinUCB is':>12}{'FairLinUCB is':>15}")
    for name, value in median.items():
        ratios = [f"{ratio(name, policy):.1f} x" for policy in ("LinUCB", "FairLinUCB")]
        print(f"{name:<20}{value * 1e6:>12.1f}{1 / value:>10.0f}{ratios[0]:>12}{ratios[1]:>15}")
    imported = import_seconds()
    print(f"import fairbandits: {imported:.2f} s (median of 5 processes)")

    short = [
        f"{policy} is {ratio(name, policy):.1f} times {name}, not {least:g}"
        for name, least in AT_LEAST.items()
        for policy in ("LinUCB", "FairLinUCB")
        if ratio(name, policy) < least
    ]
    if imported > IMPORT_BELOW:
        short.append(f"import takes {imported:.2f} s, not {IMPORT_BELOW:g}")
    print("\n".join(short) if short else "all promises hold")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
