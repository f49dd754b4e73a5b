"""Comparisons of several methods on several problems by their ranks.

Demšar: Statistical Comparisons of Classifiers over Multiple Data Sets, Journal of Machine Learning Research 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Values that differ by less than this are tied.
_DIGITS = 9


@dataclass(frozen=True)
class FriedmanTest:
    """The test of the hypothesis that all methods are equally good.

    Attributes
    ----------
    statistic, p_value : float
        The F statistic of Iman and Davenport (1980), which is less conservative than Friedman's chi-squared, and
        its p-value.
    critical_difference : float
        The difference in average ranks above which two methods differ at the 5% level (Nemenyi's test of all
        pairs).
    """

    statistic: float
    p_value: float
    critical_difference: float


def ranks(values: Floats, *, higher_is_better: bool) -> Floats:
    """Return the ranks of methods (columns) on each problem (row); 1 is the best, and ties share their mean rank.

    Examples
    --------
    >>> ranks(np.array([[0.9, 0.8, 0.9]]), higher_is_better=True)
    array([[1.5, 3. , 1.5]])
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import

    found: Floats = rankdata(np.round(-values if higher_is_better else values, _DIGITS), axis=1)
    return found


def friedman_test(found: Floats) -> FriedmanTest:
    """Test the ranks of at least two methods (columns) on at least two problems (rows).

    Examples
    --------
    >>> test = friedman_test(np.array([[1.0, 2.0, 3.0]] * 5 + [[2.0, 1.0, 3.0]] * 3))
    >>> round(test.statistic, 2), test.p_value < 0.001, round(test.critical_difference, 3)
    (22.87, True, 1.172)
    """
    from scipy.stats import f, studentized_range  # noqa: PLC0415 - slow to import

    n, k = found.shape
    average = found.mean(axis=0)
    between = n * float(np.sum((average - (k + 1) / 2) ** 2))
    # The variance of the ranks within problems, which is smaller than k (k + 1) / 12 if there are ties.
    within = float(np.sum((found - (k + 1) / 2) ** 2)) / (n * (k - 1))
    chi_squared = between / within if within else 0.0
    left = n * (k - 1) - chi_squared
    statistic = (n - 1) * chi_squared / left if left > 0 else float("inf")
    p_value = float(f.sf(statistic, k - 1, (k - 1) * (n - 1)))
    quantile = float(studentized_range.ppf(0.95, k, np.inf)) / 2**0.5
    return FriedmanTest(statistic, p_value, quantile * (k * (k + 1) / (6 * n)) ** 0.5)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted for multiple testing (Holm 1979).

    Examples
    --------
    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for position, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        largest = max(largest, min(1.0, round((len(p_values) - position) * p_values[name], 12)))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def signed_rank_test(differences: Floats) -> float:
    """Return the p-value of Wilcoxon's signed-rank test of paired differences; 1 if there are none.

    Examples
    --------
    >>> signed_rank_test(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    0.03125
    """
    from scipy.stats import wilcoxon  # noqa: PLC0415 - slow to import

    rounded = np.round(differences, _DIGITS)
    return float(wilcoxon(rounded).pvalue) if rounded.any() else 1.0
