"""Validation of scalar parameters, with one form of message: parameter, rule, value."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_integer(name: str, value: Any, least: int) -> int:
    """Return an integer of at least `least`.

    Examples
    --------
    >>> check_integer("rounds", 0, least=1)
    Traceback (most recent call last):
        ...
    ValueError: rounds must be an integer of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_number(name: str, value: Any, least: float, most: float = np.inf) -> float:
    """Return a finite number between `least` and `most`.

    Examples
    --------
    >>> check_number("tolerance", 2, least=0, most=1)
    Traceback (most recent call last):
        ...
    ValueError: tolerance must be a number from 0 to 1, got 2
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not (np.isfinite(number) and least <= number <= most):
        bounds = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
        raise ValueError(f"{name} must be a number {bounds}, got {value!r}")
    return number


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return a string that is one of the choices.

    Examples
    --------
    >>> check_choice("order", "random", ("shuffled", "males_first"))
    Traceback (most recent call last):
        ...
    ValueError: order must be one of 'shuffled', 'males_first', got 'random'
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_random_state(random_state: Any) -> np.random.Generator:
    """Return the generator that `random_state` describes: a seed, a generator, or None for fresh entropy."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is not None:
        check_integer("random_state", random_state, 0)
    return np.random.default_rng(random_state)
