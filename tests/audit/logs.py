"""Synthetic logs for the tests of the audit."""

import numpy as np
import pandas as pd

SEXES, RACES = ("female", "male"), ("Asian", "Black", "White")


def make(n=6_000, seed=0, gap=0.1, missing=0.03, unknown=0.02, n_arms=5):
    """Return a log in which male users receive more from the same arms, and are shown better ones."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(SEXES, n)
    race = rng.choice(RACES, n, p=[0.1, 0.2, 0.7])
    male = sex == "male"
    arm = np.where(male, rng.integers(0, n_arms, n), rng.integers(0, max(n_arms - 1, 1), n))
    mean = 0.4 + 0.2 * arm / n_arms + gap * male
    reward = (rng.random(n) < mean).astype(float)
    reward[rng.random(n) < missing] = np.nan
    return pd.DataFrame(
        {
            "arm": [f"video {i}" for i in arm],
            "reward": reward,
            "sex": sex,
            "race": np.where(rng.random(n) < unknown, None, race),
        }
    )


def dated(frame, seed=0, days=60):
    """Return the same log with a random time for each decision."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, days * 86_400, len(frame))
    return frame.assign(time=np.datetime64("2026-01-05", "us") + seconds.astype("timedelta64[s]"))


def of_users(gap, n=100_000, days=100, n_users=4_000, seed=0):
    """Return a log of users who come back, given by how much less female users receive on each day."""
    rng = np.random.default_rng(seed)
    user, day = rng.integers(n_users, size=n), rng.integers(days, size=n)
    sex = np.where(user % 2, "male", "female")
    half = np.array([gap(each) for each in range(days)])[day] / 2.0
    reward = rng.random(n) < 0.5 + np.where(sex == "male", half, -half)
    return pd.DataFrame(
        {
            "arm": rng.choice(list("abcde"), n),
            "reward": reward * 1.0,
            "sex": sex,
            "user_id": user,
            "time": np.datetime64("2024-01-01", "us") + day.astype("timedelta64[D]"),
        }
    )


def with_group(frame, name, n):
    """Return the same log with one decision for each of n further users of a group, who all receive 0."""
    further = pd.DataFrame({"arm": "a", "reward": 0.0, "sex": [name] * n, "user_id": 1_000_000 + np.arange(n)})
    return pd.concat([frame, further.assign(time=np.datetime64("2024-02-02", "us"))], ignore_index=True)
