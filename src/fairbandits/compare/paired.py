"""Comparisons of two policies in one world, paired over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairbandits.compare.measures import HIGHER_IS_BETTER
from fairbandits.statistics.seed_intervals import t_interval

#: The measures by which policies are compared.
COMPARED = ("worst_off_reward", "reward_gap", "reward")


@dataclass(frozen=True)
class PairedComparison:
    """The comparison of one policy with another.

    Attributes
    ----------
    difference : float
        The mean over seeds of the first policy's measure minus the second's.
    interval : pair of floats, optional
        The 95% confidence interval of the difference (Student's t, paired over seeds); None with fewer than two
        seeds.
    outcome : {"win", "tie", "loss", "unknown"}
        Whether the interval excludes zero, in favour of the first policy or of the second.
    """

    difference: float
    interval: tuple[float, float] | None
    outcome: str


def compare_pair(ours: Sequence[float], theirs: Sequence[float], measure: str) -> PairedComparison:
    """Compare two policies by a measure of every seed; seeds in which it is undefined are left out.

    Examples
    --------
    >>> compare_pair([0.8, 0.81, 0.82], [0.7, 0.7, 0.73], "reward").outcome
    'win'
    >>> compare_pair([0.8, 0.81, 0.82], [0.7, 0.7, 0.73], "reward_gap").outcome
    'loss'
    """
    differences = np.subtract(ours, theirs)
    differences = differences[np.isfinite(differences)]
    mean = float(np.mean(differences)) if len(differences) else float("nan")
    interval = t_interval(differences.tolist())
    if interval is None:
        return PairedComparison(mean, None, "unknown")
    sign = 1.0 if measure in HIGHER_IS_BETTER else -1.0
    low, high = sorted(sign * bound for bound in interval)
    return PairedComparison(mean, interval, "win" if low > 0 else "loss" if high < 0 else "tie")


def compare_with_all(
    values: Mapping[str, Mapping[str, Sequence[float]]], policy: str
) -> dict[str, dict[str, PairedComparison]]:
    """Compare a policy with every other policy, given the values of all seeds by policy and measure."""
    return {
        title: {measure: compare_pair(values[policy][measure], other[measure], measure) for measure in COMPARED}
        for title, other in values.items()
        if title != policy
    }
