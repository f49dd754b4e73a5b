"""What students gain from videos."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: From the video's rating, the student's education level, and whether the two are of one sex.
Reward = Callable[[Floats, Floats, Floats], Floats]


def _sum(of_rating: float, of_education: float, of_match: float, *parts: Floats) -> Floats:
    rating, education, match = parts
    return of_rating * rating + of_education * education + of_match * match


def curved(rating: Floats, education: Floats, match: Floats) -> Floats:
    """Give the most where rating and education level are alike: what is too easy bores, what is too hard tires.

    The closeness is multiplied with what the match counts for, so that no linear model holds it: not one for
    all videos, and not one for each video either, which would hold any function of the education level.

    Examples
    --------
    >>> curved(np.array([1.0, 0.4]), np.array([0.5, 0.5]), np.array([1.0, 0.0])).round(2)
    array([0.5 , 0.63])
    """
    closeness = 1 - np.abs(rating - education)
    return closeness * (0.7 + 0.3 * match)


REWARDS: dict[str, Reward] = {
    "r": partial(_sum, 0.3, 0.4, 0.3),
    "r2": partial(_sum, 0.5, 0.5, 0.0),
    "curved": curved,
}
