"""Noise on rewards that keeps them in [0, 1] and leaves their means unchanged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: The noise that makes every reward 0 or 1.
BERNOULLI = "bernoulli"


def with_noise(expected: NDArray[np.float64], sd: float | str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return rewards drawn around their means.

    Gaussian noise is truncated symmetrically, at the distance to the nearer of 0 and 1. Clipping the rewards
    themselves would shift their means. A mean of 0 or 1 gets no noise.

    Parameters
    ----------
    expected : array
        The mean rewards, in [0, 1].
    sd : float or "bernoulli"
        The standard deviation before truncation; with "bernoulli", rewards are 0 or 1.
    rng : numpy Generator
        The source of randomness.
    """
    if isinstance(sd, str):
        return (rng.random(expected.shape) < expected).astype(np.float64)
    limit = np.minimum(expected, 1 - expected)
    noise = rng.normal(0.0, sd, size=expected.shape)
    return expected + np.clip(noise, -limit, limit)
