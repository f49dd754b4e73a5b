"""Comparisons between policies: which of them is better, as far as the log shows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from fairbandits.ope.headline_estimates import HeadlineEstimates
from fairbandits.ope.results import LOGGING_POLICY, PolicyDifference


def compare_policies(
    headlines: Mapping[str, HeadlineEstimates], confidence: float
) -> tuple[PolicyDifference, ...]:
    """Compare all policies with the logging policy and with each other, by paired differences.

    All intervals hold jointly (Bonferroni), so with probability `confidence`, no policy is called better unless it
    is better.

    Parameters
    ----------
    headlines : mapping of str to HeadlineEstimates
        The policies.
    confidence : float
        The joint confidence level of all intervals.
    """
    pairs = [(title, None) for title in headlines] + list(combinations(headlines, 2))
    error = (1.0 - confidence) / max(len(pairs), 1)
    found = []
    for first, second in pairs:
        estimate = headlines[first].minus(None if second is None else headlines[second], error)
        if estimate is not None:
            found.append(PolicyDifference(first, LOGGING_POLICY if second is None else second, estimate))
    return tuple(found)
