"""Small tables of ratings, labels and decisions."""

import numpy as np
import pandas as pd


def ratings_table(n=600, n_users=20, n_items=30, seed=0):
    """Ratings with columns of users (sex, age), of items (genre, year) and of neither (time)."""
    rng = np.random.default_rng(seed)
    user, item = rng.integers(0, n_users, n), rng.integers(0, n_items, n)
    return pd.DataFrame(
        {
            "user": [f"u{number}" for number in user],
            "film": item,
            "stars": rng.integers(1, 6, n),
            "time": rng.random(n),
            "sex": np.array(["female", "male"])[user % 2],
            "age": 20 + user,
            "genre": np.array(["comedy", "drama", "war"])[item % 3],
            "year": 1950 + item,
        }
    )


def labelled_table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "city": rng.choice(["Oslo", "Rome"], n),
            "sex": rng.choice(["female", "male"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "dose": rng.choice(["high", "low", "medium"], n),
        }
    )


def uniform_log(n=600, n_arms=4, seed=0):
    """A log in which an arm is better for one sex, and chosen uniformly."""
    rng = np.random.default_rng(seed)
    sex, arm = rng.choice(["female", "male"], n), rng.integers(0, n_arms, n)
    mean = 0.3 + 0.4 * ((arm == 1) & (sex == "male")) + 0.2 * (arm == 2)
    return pd.DataFrame(
        {
            "x": rng.random(n),
            "sex": sex,
            "shown": [f"a{number}" for number in arm],
            "click": (rng.random(n) < mean).astype(float),
            "p": 1 / n_arms,
        }
    )
