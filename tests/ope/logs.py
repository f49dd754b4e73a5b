"""A synthetic log with known mean rewards, for the tests of off-policy evaluation."""

import numpy as np
import pandas as pd

ARMS = ("algebra", "biology", "chemistry")
# Mean rewards by sex (female, male), feature (0, 1) and arm.
MEAN = np.array([[[0.3, 0.5, 0.4], [0.6, 0.2, 0.4]], [[0.5, 0.6, 0.4], [0.7, 0.3, 0.4]]])


def make_log(n=4_000, seed=0, uniform=False):
    """Draw a log; the logging policy depends on the feature."""
    rng = np.random.default_rng(seed)
    sex, x = rng.integers(0, 2, n), rng.integers(0, 2, n)
    shares = np.full((2, 3), 1 / 3) if uniform else np.array([[0.6, 0.2, 0.2], [0.2, 0.5, 0.3]])
    arm = (rng.random(n)[:, None] > np.cumsum(shares[x], axis=1)).sum(axis=1).clip(0, 2)
    return pd.DataFrame(
        {
            "arm": np.array(ARMS)[arm],
            "reward": (rng.random(n) < MEAN[sex, x, arm]).astype(float),
            "propensity": shares[x, arm],
            "sex": np.array(["female", "male"])[sex],
            "x_low": 1.0 - x,
            "x_high": x.astype(float),
        }
    )


def contexts_of(frame):
    encoded = np.column_stack([np.ones(len(frame)), frame[["x_low", "x_high"]]])
    return np.repeat(encoded[:, None], len(ARMS), axis=1)


def groups_of(frame):
    return [{"sex": sex} for sex in frame["sex"]]


def probabilities_of(policy, frame):
    return policy.probabilities(contexts_of(frame), groups_of(frame), ARMS)
