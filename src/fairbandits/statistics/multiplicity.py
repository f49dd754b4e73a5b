"""Error probabilities of several statements that must hold together."""

from __future__ import annotations

from collections.abc import Mapping


def sidak(error: float, n: int) -> float:
    """Return the error probability of each of n two-sided intervals that all hold with probability `1 - error`.

    By Šidák's inequality, jointly normal estimates may depend on each other in any way.

    Examples
    --------
    >>> round(sidak(0.05, 10), 5)
    0.00512
    """
    return float(1.0 - (1.0 - error) ** (1.0 / max(n, 1)))


def divide_error(error: float, weights: Mapping[str, float]) -> dict[str, float]:
    """Divide an error probability among families of statements in proportion to weights (Bonferroni).

    Examples
    --------
    >>> divide_error(0.06, {"gap": 2.0, "means": 1.0})
    {'gap': 0.04, 'means': 0.02}
    """
    total = sum(weights.values())
    return {name: error * weight / total for name, weight in weights.items()}
