"""Measure how long a GPU would take to learn from a batch of rewards; `learn_many` always uses the CPU.

    python benchmarks/gpu_learning.py              # 1,000,000 rewards over 100,000 arms; takes 24 GB of memory
    python benchmarks/gpu_learning.py --arms 2000 --device cpu      # to see that it works

The state of a policy is on the host, where single rewards are learned and from where it is saved. So a GPU has to
receive the matrices of all arms and their rows, add the rows to A and b, invert A by a batched Cholesky
decomposition, and return A, A^-1, b and theta. The command prints the time of each of these steps, and the time of
`learn_many`, for the second day with ten rewards per arm on average. The two are not quite the same work: the
GPU handles full matrices of all arms, whereas on the CPU arms with few rewards have none. And the state is copied
back into newly allocated memory, which takes most of the time; memory that had been touched would take less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from batch_learning import USERS, WIDTH, decided, learn_day, touch
from fairbandits import LinUCB
from gpu import best_of

PER_ARM = 10
#: Arms whose full matrices are on the device at a time.
AT_A_TIME = 10_000


def main() -> None:
    """Measure both, and print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=100_000, help="number of arms")
    parser.add_argument("--device", default="cuda", help="device of PyTorch")
    options = parser.parse_args()
    steps = on_device(options.arms, options.device)
    for name, seconds in steps.items():
        print(f"GPU, {name}: {seconds:.3f} s", flush=True)
    print(f"GPU, all steps: {sum(steps.values()):.3f} s", flush=True)
    print(f"CPU, learn_many: {on_host(options.arms):.3f} s")


def on_host(n_arms: int) -> float:
    """Return the time of `learn_many` for a day, where every arm has learned another one."""
    policy = LinUCB(model="disjoint", random_state=0)
    learn_day(policy, n_arms, 1)
    batches = decided(policy, n_arms, 1)
    touch(USERS * len(batches))
    rewards = np.random.default_rng(1).random(PER_ARM * n_arms)
    start = time.perf_counter()
    policy.learn_many(batches, rewards)
    return time.perf_counter() - start


def on_device(n_arms: int, name: str) -> dict[str, float]:
    """Return the time of each step on a device, all of them with arrays of the sizes of a policy's state."""
    import torch  # noqa: PLC0415  (not everywhere)

    rng, packed = np.random.default_rng(0), WIDTH * (WIDTH + 1) // 2
    rows = rng.normal(size=(n_arms, PER_ARM, WIDTH)) / np.sqrt(WIDTH)
    rewards, state = rng.random((n_arms, PER_ARM)), [np.ones((n_arms, packed)), np.ones((n_arms, WIDTH))]
    held: dict[str, Any] = {}

    def send() -> None:
        held["rows"], held["rewards"] = (torch.as_tensor(each, device=name) for each in (rows, rewards))
        held["state"] = [torch.as_tensor(each, device=name) for each in state]

    def learn() -> None:
        at = torch.tril_indices(WIDTH, WIDTH, device=name)
        found = []
        for start in range(0, n_arms, AT_A_TIME):
            x, y = held["rows"][start : start + AT_A_TIME], held["rewards"][start : start + AT_A_TIME]
            gram = torch.zeros((len(x), WIDTH, WIDTH), dtype=torch.float64, device=name)
            gram[:, at[0], at[1]] = held["state"][0][start : start + AT_A_TIME]
            gram = torch.tril(gram) + torch.tril(gram, -1).mT + WIDTH * torch.eye(WIDTH, device=name)
            gram = torch.baddbmm(gram, x.mT, x)
            moment = held["state"][1][start : start + AT_A_TIME] + (x.mT @ y[:, :, None])[:, :, 0]
            inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
            theta = (inverse @ moment[:, :, None])[:, :, 0]
            found.append((gram[:, at[0], at[1]], inverse[:, at[0], at[1]], moment, theta))
        held["found"] = [torch.cat(parts) for parts in zip(*found, strict=True)]

    def fetch() -> None:
        held["host"] = [each.cpu().numpy() for each in held["found"]]

    steps = {"rows and state to the device": send, "learning": learn, "state to the host": fetch}
    return {step: best_after_first(work, name) for step, work in steps.items()}


def best_after_first(work: Callable[[], None], name: str) -> float:
    """Return the shorter time of two calls, after a first one."""
    import torch  # noqa: PLC0415  (not everywhere)

    def work_to_its_end() -> None:
        work()
        if name != "cpu":
            torch.cuda.synchronize()

    work_to_its_end()
    return best_of(work_to_its_end, 2)


if __name__ == "__main__":
    main()
