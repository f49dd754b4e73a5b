"""A day's rewards learned together, beside learning them one by one, in one run.

    python benchmarks/batch_learning.py             # 100,000 rewards over 10,000 arms
    python benchmarks/batch_learning.py --full      # 1,000,000 over 100,000: 12 GB of memory

Both sides learn the same decisions with the same rewards, all of them; the parts are measured alternately, in
processor time, on memory that has been touched before: a machine that gets memory when it first touches it would
spend most of the time on that, on both sides. Then the two policies are compared.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import single_thread  # noqa: F401 - before NumPy
from fairbandits import LinUCB
from fairbandits.policies.decisions import Decisions
from fairbandits.policies.records import Scores

WIDTH, OFFERED, USERS = 64, 100, 1_000
FEW = Scores(*np.zeros((5, USERS, 1)))
GROUPS = ("female", "male")
PARTS = 10
BYTES_PER_REWARD = 3_000


def main() -> None:
    """Measure all models and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="1,000,000 rewards over 100,000 arms, disjoint model")
    options = parser.parse_args()
    if options.full:
        report("disjoint", 100_000, days=1)
        return
    report("disjoint", 10_000, days=1)
    report("disjoint", 1_000, days=5)
    report("shared", 10_000, days=1)
    report("hybrid", 1_000, days=2)


def report(model: str, n_arms: int, days: int) -> None:
    """Print the cost per reward on the last of some days, ten rewards per arm and day."""
    alone, together, records = (LinUCB(model=model, random_state=0) for _ in range(3))
    for policy in (alone, together, records):
        learn_day(policy, n_arms, days - 1)
    seconds = np.zeros(3)
    n = 10 * n_arms
    rewards = np.random.default_rng(days).random(n)
    batches = [decided(policy, n_arms, days) for policy in (alone, together, records)]
    for part in range(PARTS):
        own = slice(part * len(batches[0]) // PARTS, (part + 1) * len(batches[0]) // PARTS)
        values = rewards[own.start * USERS : own.stop * USERS]
        seconds[0] += seconds_alone(alone, batches[0][own], values)
        seconds[2] += seconds_of_records(records, batches[2][own], values)
    touch(n)
    start = time.process_time()
    together.learn_many(batches[1], rewards)
    seconds[1] = time.process_time() - start
    each = seconds / n * 1e6
    print(
        f"{model}, {n:,} rewards over {n_arms:,} arms, day {days}: one by one {each[0]:.1f} us, together "
        f"{each[1]:.2f} us ({each[0] / each[1]:.1f} times), a list of records {each[2]:.2f} us "
        f"({each[0] / each[2]:.1f} times); largest difference of a score {difference(alone, together):.1e}",
        flush=True,
    )


def decided(policy: LinUCB, n_arms: int, day: int) -> list[Decisions]:
    """Return the decisions of a day: a thousand users at a time are offered a hundred arms."""
    rng = np.random.default_rng(day)
    found = []
    for call in range(10 * n_arms // USERS):
        arms = ((call * OFFERED) % n_arms + np.arange(OFFERED)).tolist()
        contexts = rng.normal(size=(USERS, OFFERED, WIDTH)) / np.sqrt(WIDTH)
        decisions = policy.choose_many(contexts, rng.choice(GROUPS, USERS).tolist(), arms)
        # A record copies the scores of its arms, which learning does not look at.
        decisions.scores = FEW
        found.append(decisions)
    return found


def learn_day(policy: LinUCB, n_arms: int, days: int) -> None:
    """Let a policy learn earlier days, and load all compiled kernels."""
    for day in range(days):
        policy.learn_many(decided(policy, n_arms, day), np.random.default_rng(day).random(10 * n_arms))
    warm = LinUCB(model=policy.model, random_state=0)
    for _ in range(4):
        decisions = warm.choose_many(np.random.default_rng(0).normal(size=(100, 5, WIDTH)), ["a"] * 100)
        warm.learn_many(decisions, np.full(100, 0.5))
        warm.learn(warm.choose(np.ones((5, WIDTH)), "a"), 0.5)


def seconds_alone(policy: LinUCB, batches: list[Decisions], rewards: np.ndarray) -> float:
    """Return the time that learning one by one takes, given the records."""
    records = [decision for batch in batches for decision in batch]
    values = rewards.tolist()
    touch(len(values))
    start = time.process_time()
    for decision, reward in zip(records, values, strict=True):
        policy.learn(decision, reward)
    return time.process_time() - start


def seconds_of_records(policy: LinUCB, batches: list[Decisions], rewards: np.ndarray) -> float:
    """Return the time that learning a list of records together takes."""
    records = [decision for batch in batches for decision in batch]
    touch(len(records))
    start = time.process_time()
    policy.learn_many(records, rewards)
    return time.process_time() - start


def touch(n_rewards: int) -> None:
    """Touch as much memory as learning takes, and give it back."""
    np.ones(n_rewards * BYTES_PER_REWARD // 8)


def difference(one: LinUCB, two: LinUCB) -> float:
    """Return the largest difference of two policies' scores."""
    contexts = np.random.default_rng(1).normal(size=(20, OFFERED, WIDTH))
    ours, theirs = (policy.score(contexts, arms=range(OFFERED)) for policy in (one, two))
    return float(np.abs(ours.total - theirs.total).max())


if __name__ == "__main__":
    main()
