"""What the parameters of the worlds have in common: how they are refused, and how noise is made."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number, or refuse what is none or is too small."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} came; expected a whole number of at least {least}")
    return int(value)


def between(name: str, value: Any, least: float, most: float = np.inf) -> float:
    """Return a finite number, or refuse what is none or lies outside."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not (np.isfinite(number) and least <= number <= most):
        room = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
        raise ValueError(f"{name}={value!r} came; expected a number {room}")
    return number


def one_of(name: str, value: Any, known: Sequence[str]) -> str:
    """Return a word, or refuse one that is not known."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name}={value!r} came; expected one of {', '.join(map(repr, known))}")
    return value


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a `random_state` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is not None:
        whole("random_state", random_state, 0)
    return np.random.default_rng(random_state)


#: Noise that makes rewards 0 or 1.
BERNOULLI = "bernoulli"


def with_noise(expected: NDArray[np.float64], sd: float | str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Add Gaussian noise to rewards, cut off at equal distances so that they stay in [0, 1].

    The cut is at the nearer of 0 and 1, on both sides alike. So the mean of the reward is `expected` still,
    which it would not be if rewards were simply clipped; a reward that is sure to be 0 or 1 stays sure. With
    "bernoulli" for a standard deviation, rewards are 0 or 1 instead.
    """
    if isinstance(sd, str):
        return (rng.random(expected.shape) < expected).astype(np.float64)
    room = np.minimum(expected, 1 - expected)
    noise = rng.normal(0.0, sd, size=expected.shape)
    return expected + np.clip(noise, -room, room)
