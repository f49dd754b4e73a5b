"""The rule: highest score, ties broken at random."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Scores that are equal on paper differ in their last digits in a computer, by an amount that depends on
# the order of the sums. What is closer than this is a tie.
TIE = 1e-10


@njit(cache=True, nogil=True)
def count_best(total: Floats) -> tuple[int, int, float]:
    """Find the first of the best arms, how many there are, and the score from which an arm is among them."""
    best = total[0]
    for score in total:
        best = max(best, score)
    bar = best - TIE * max(1.0, abs(best))
    first = -1
    count = 0
    for i in range(total.size):
        if total[i] >= bar:
            count += 1
            if first < 0:
                first = i
    return first, count, bar


def pick_best(total: Floats, rng: np.random.Generator) -> tuple[int, float]:
    """Pick one of the best arms at random; return it and the probability with which it was picked.

    Examples
    --------
    >>> pick_best(np.array([0.1, 0.7, 0.3]), np.random.default_rng(0))
    (1, 1.0)
    >>> index, probability = pick_best(np.array([0.7, 0.1, 0.7]), np.random.default_rng(0))
    >>> index in (0, 2), probability
    (True, 0.5)
    """
    first, count, bar = count_best(total)
    if count == 1:
        return first, 1.0
    if count == 0 or not np.isfinite(bar):
        raise ValueError(f"scores must be finite numbers; got {total}. Look at what the policy's terms return")
    nth = rng.integers(count)
    return int(np.flatnonzero(total >= bar)[nth]), 1.0 / count
