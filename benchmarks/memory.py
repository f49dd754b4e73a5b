"""Print the memory that a model takes, by number of columns and of rewards.

    python benchmarks/memory.py        # a few seconds

The bytes are those of the arrays that a model saves: per arm for the disjoint and the hybrid model, and in all for
the shared one, which has one regression for all arms.
"""

from __future__ import annotations

import numpy as np

from fairbandits import LinUCB

N_ARMS = 200


def n_bytes(model: str, width: int, rewards: int) -> int:
    """Return the number of bytes after some rewards of each arm."""
    rng = np.random.default_rng(0)
    policy = LinUCB(model=model, random_state=0)
    for _ in range(rewards):
        # One by one, as a stream comes: a batch would be solved at once, and take matrices sooner.
        for arm in range(N_ARMS):
            policy.learn(policy.choose(rng.random((1, width)), arms=[arm]), 0.5)
    return sum(array.nbytes for array in policy.reward_model.arrays().values())


def main() -> None:
    """Print a table."""
    print("| columns | rewards of each arm | disjoint, per arm | hybrid, per arm | shared, in all |")
    print("| --- | --- | --- | --- | --- |")
    for width in (16, 64, 134):
        for rewards in (1, 5, 50):
            per_arm = [n_bytes(model, width, rewards) / N_ARMS for model in ("disjoint", "hybrid")]
            found = [*per_arm, n_bytes("shared", width, rewards)]
            print(f"| {width} | {rewards} | {' | '.join(f'{each:,.0f}' for each in found)} |", flush=True)


if __name__ == "__main__":
    main()
