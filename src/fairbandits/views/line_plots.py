"""Plots of running means, one line per series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Drawing more points than a screen has columns takes time and shows nothing more.
_MAX_POINTS = 2_000


def draw_running_mean(
    ax: Axes, rounds: NDArray[np.int64], mean: Floats, sd: Floats | None = None, **style: Any
) -> tuple[float, float]:
    """Draw a running mean with its standard deviation as a band, if there is one.

    Returns
    -------
    tuple of two floats
        The lowest and the highest value after the first tenth of the rounds. Earlier means vary widely, and would
        compress the scale for the rest.
    """
    spread = np.zeros_like(mean) if sd is None else sd
    at = np.unique(np.linspace(0, len(mean) - 1, min(len(mean), _MAX_POINTS)).astype(np.int64))
    ax.plot(rounds[at], mean[at], **style)
    if sd is not None:
        low, high = (mean - sd)[at], (mean + sd)[at]
        ax.fill_between(rounds[at], low, high, color=style["color"], alpha=0.18, linewidth=0)
    settled = slice(len(mean) // 10, None)
    return float((mean - spread)[settled].min()), float((mean + spread)[settled].max())
