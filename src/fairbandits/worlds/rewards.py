"""Reward functions of the students-and-videos world."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: The arguments are the video's rating, the student's education level, and whether student and speaker have
#: the same sex (1) or not (0).
Reward = Callable[[Floats, Floats, Floats], Floats]


def _weighted_sum(
    rating_weight: float,
    education_weight: float,
    match_weight: float,
    rating: Floats,
    education: Floats,
    match: Floats,
) -> Floats:
    return rating_weight * rating + education_weight * education + match_weight * match


def curved(rating: Floats, education: Floats, match: Floats) -> Floats:
    """Compute `(1 - |rating - education|) (0.7 + 0.3 match)`, highest where rating and education level agree.

    The interaction with the match makes the reward non-linear both for a shared model and for one model per
    video. Without it, a model per video could represent any function of the education level.

    Examples
    --------
    >>> curved(np.array([1.0, 0.4]), np.array([0.5, 0.5]), np.array([1.0, 0.0])).round(2)
    array([0.5 , 0.63])
    """
    closeness = 1 - np.abs(rating - education)
    return closeness * (0.7 + 0.3 * match)


REWARDS: dict[str, Reward] = {
    "r": partial(_weighted_sum, 0.3, 0.4, 0.3),
    "r2": partial(_weighted_sum, 0.5, 0.5, 0.0),
    "match_half": partial(_weighted_sum, 0.2, 0.3, 0.5),
    "curved": curved,
}
