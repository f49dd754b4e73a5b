"""The rule: highest score, ties broken at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairbandits.policies.decision import Scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pick = Callable[[Scores, np.random.Generator], tuple[int, float | None]]

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


@njit(cache=True, nogil=True)
def count_best_of_many(total: Floats) -> tuple[Ints, Ints, Floats]:
    """Do as `count_best` does, for each line."""
    n_users = len(total)
    first, count, bar = np.empty(n_users, np.int64), np.empty(n_users, np.int64), np.empty(n_users)
    for user in range(n_users):
        first[user], count[user], bar[user] = count_best(total[user])
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
    return _among_best(total, *count_best(total), rng)


def pick_best_of_many(total: Floats, rng: np.random.Generator) -> list[tuple[int, float | None]]:
    """Pick one of the best arms for each of many users, as `pick_best` does for one after the other."""
    counted = zip(*(part.tolist() for part in count_best_of_many(total)), strict=True)
    return [
        (first, 1.0) if count == 1 else _among_best(total[user], first, count, bar, rng)
        for user, (first, count, bar) in enumerate(counted)
    ]


def share_of_best(total: Floats) -> Floats:
    """Give the probability with which `pick_best` picks each arm, for each of many users.

    Examples
    --------
    >>> share_of_best(np.array([[0.1, 0.7, 0.3], [0.7, 0.1, 0.7]]))
    array([[0. , 1. , 0. ],
           [0.5, 0. , 0.5]])
    """
    if not np.isfinite(total).all():
        raise ValueError("scores must be finite numbers. Look at what the policy's terms return")
    _, count, bar = count_best_of_many(total)
    return (total >= bar[:, None]) / count[:, None]


def pick_best_in_order(total: Floats, k: int, rng: np.random.Generator) -> tuple[list[int], float]:
    """Pick the k best arms, the best first; return them and the probability with which they came in this order.

    Examples
    --------
    >>> pick_best_in_order(np.array([0.1, 0.7, 0.3]), 2, np.random.default_rng(0))
    ([1, 2], 1.0)
    >>> pick_best_in_order(np.array([0.7, 0.1, 0.7]), 3, np.random.default_rng(0))
    ([2, 0, 1], 0.5)
    """
    left = total.copy()
    picked, probability = [], 1.0
    for _ in range(k):
        index, chance = pick_best(left, rng)
        picked.append(index)
        probability *= chance
        left[index] = -np.inf
    return picked, probability


def pick_in_turn(pick: Pick, scores: Scores, k: int, rng: np.random.Generator) -> tuple[list[int], float | None]:
    """Pick k arms one after the other, each among those that are left, by any rule to pick one."""
    left = np.arange(scores.total.size)
    picked: list[int] = []
    probability: float | None = 1.0
    for _ in range(k):
        index, chance = pick(scores.at(left), rng)
        picked.append(int(left[index]))
        probability = None if probability is None or chance is None else probability * chance
        left = np.delete(left, index)
    return picked, probability


def _among_best(total: Floats, first: int, count: int, bar: float, rng: np.random.Generator) -> tuple[int, float]:
    if count == 1:
        return first, 1.0
    if count == 0 or not np.isfinite(bar):
        raise ValueError(f"scores must be finite numbers; got {total}. Look at what the policy's terms return")
    nth = rng.integers(count)
    return int(np.flatnonzero(total >= bar)[nth]), 1.0 / count
