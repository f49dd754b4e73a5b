"""Observed rewards, scaled to [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def scale_rewards(rewards: Floats, reward_range: tuple[float, float] | None) -> Floats:
    """Return rewards scaled from a range, by default their own, to [0, 1].

    Examples
    --------
    >>> scale_rewards(np.array([1.0, 3.0, 5.0]), None)
    array([0. , 0.5, 1. ])
    >>> scale_rewards(np.array([2.0]), (1.0, 5.0))
    array([0.25])
    """
    lowest, highest = float(rewards.min()), float(rewards.max())
    low, high = lowest, highest
    if reward_range is not None:
        try:
            low, high = map(float, reward_range)
        except (TypeError, ValueError):
            low, high = 0.0, 0.0
        if not low < high:
            raise ValueError(f"reward_range must be the lowest and the highest reward, got {reward_range!r}")
    if not low < high:
        raise ValueError(f"rewards must not all be equal, got {low:g} in every row; pass reward_range")
    if lowest < low or highest > high:
        raise ValueError(f"rewards must be from {low:g} to {high:g}, got {lowest:g} to {highest:g}")
    return (rewards - low) / (high - low)
