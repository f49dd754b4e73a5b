"""Write the workloads to files that every environment can load.

W1 is the paper's world with the stand-in data, so that it is the same on every machine. W2 is dense: a context is
the elementwise product of user and arm.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fairbandits.worlds import StudentsAndVideos
from workloads import Floats

STUDENT_WIDTH = 107  # the first columns of a context are the student's
W2_ARMS, W2_WIDTH = 1_000, 64


def write_all(folder: Path, w1_rounds: int = 10_000, w2_rounds: int = 500) -> None:
    """Write the files of both workloads."""
    folder.mkdir(parents=True, exist_ok=True)
    write_w1(folder / "w1.npz", w1_rounds)
    write_w2(folder / "w2.npz", w2_rounds)


def write_w1(path: Path, rounds: int) -> None:
    """Split the paper's world into students, videos as seen by either sex, and rewards of all arms."""
    world = StudentsAndVideos(train=rounds, test=0, data="stand-in", random_state=0)
    users, groups, rewards = [], [], []
    parts: dict[str, Floats] = {}
    for visit in world.visits():
        contexts = np.asarray(visit.contexts)
        users.append(contexts[0, :STUDENT_WIDTH].copy())  # a view would keep the whole matrix alive
        groups.append(str(visit.group))
        rewards.append(visit.rewards)
        parts[groups[-1]] = contexts[:, STUDENT_WIDTH:].copy()
    kinds = sorted(parts)
    _write(
        path, np.array(users), np.array([parts[kind] for kind in kinds]),
        np.array([kinds.index(group) for group in groups]), np.array(rewards), groups, is_product=False,
    )  # fmt: skip


def write_w2(path: Path, rounds: int) -> None:
    """Draw users, arms, and a noisy linear reward for each arm, clipped to [0, 1]."""
    rng = np.random.default_rng(2)
    users = rng.normal(size=(rounds, W2_WIDTH)) / np.sqrt(W2_WIDTH)
    arms = rng.uniform(0.5, 1.5, size=(W2_ARMS, W2_WIDTH))
    theta = rng.normal(scale=0.3, size=(W2_ARMS, W2_WIDTH))
    rewards = np.clip(0.5 + users @ (arms * theta).T + rng.normal(scale=0.05, size=(rounds, W2_ARMS)), 0, 1)
    groups = [("female", "male")[i % 2] for i in range(rounds)]
    _write(path, users, arms[None], np.zeros(rounds, int), rewards, groups, is_product=True)


def _write(
    path: Path, users: Floats, parts: Floats, kinds: Floats, rewards: Floats, groups: list[str], is_product: bool
) -> None:
    arrays = {"users": users, "parts": parts, "kinds": kinds, "rewards": rewards, "groups": np.array(groups)}
    np.savez(path, is_product=is_product, **arrays)
