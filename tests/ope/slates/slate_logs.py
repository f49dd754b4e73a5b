"""A synthetic log of slates whose truth is known, for the tests of the evaluation of slates."""

import itertools

import numpy as np
import pandas as pd

ARMS = ("news", "sport", "music", "film")
RATE = np.array([0.6, 0.4, 0.3, 0.1])
SLATES = np.array(list(itertools.permutations(range(4), 2)))
PREFERENCE = {"p": np.array([1.0, 1.2, 1.0, 0.8]), "q": np.array([1.6, 1.2, 1.0, 0.4])}
EVENTS = ("position", "cascade", "slate")


def probabilities(weights):
    """Return the probabilities of every slate, of its arms so far, and of the arm at each position."""
    chosen = weights[SLATES]
    cascade = np.cumprod(chosen / (weights.sum() - np.cumsum(chosen, axis=1) + chosen), axis=1)
    slate = np.repeat(cascade[:, -1:], 2, axis=1)
    marginal = np.stack([np.bincount(SLATES[:, position], cascade[:, -1], 4) for position in (0, 1)])
    return {"position": marginal[[0, 1], SLATES], "cascade": cascade, "slate": slate}


def true_value(sex, name="q"):
    """Return the mean number of clicks per slate; men click one and a half times as often as women."""
    factor = {"f": 1.0, "m": 1.5}[sex]
    return factor * float(probabilities(PREFERENCE[name])["slate"][:, 0] @ (RATE[SLATES] / [1.0, 2.0]).sum(axis=1))


def make_slates(n=3_000, seed=0):
    """Draw a log with columns p_position, p_cascade, p_slate of the logging policy, and q_... of another."""
    rng = np.random.default_rng(seed)
    logging = probabilities(PREFERENCE["p"])
    slate, man = rng.choice(len(SLATES), n, p=logging["slate"][:, 0]), np.arange(n) // 5 % 2
    rate = RATE[SLATES[slate]] / [1.0, 2.0] * (1.0 + 0.5 * man[:, None])
    columns = {
        "decision": np.repeat([f"d{i}" for i in range(n)], 2),
        "position": np.tile([0, 1], n),
        "arm": np.array(ARMS)[SLATES[slate]].ravel(),
        "reward": 1.0 * (rng.random((n, 2)) < rate).ravel(),
        "user": np.repeat(np.arange(n) // 5, 2),
        "sex": np.repeat(np.array(["f", "m"])[man], 2),
    }
    for name, weights in PREFERENCE.items():
        for event, values in probabilities(weights).items():
            columns[f"{name}_{event}"] = values[slate].ravel()
    return pd.DataFrame(columns)
