"""Rank tests against scipy and against figures of Demšar (2006)."""

import numpy as np
import pytest
from scipy import stats

from fairbandits.statistics.rank_tests import friedman_test, holm, ranks, signed_rank_test
from fairbandits.statistics.seed_intervals import standard_error, t_interval


def test_the_critical_differences_of_demsar():
    # Four classifiers on fourteen data sets: q = 2.569, so that the critical difference is 1.25 (section 3.2.2).
    assert friedman_test(np.tile([1.0, 2.0, 3.0, 4.0], (14, 1))).critical_difference == pytest.approx(
        1.25, abs=0.005
    )


def test_the_statistic_is_that_of_friedman_with_ties():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (12, 5)).astype(float)
    found = ranks(values, higher_is_better=False)
    chi_squared = stats.friedmanchisquare(*values.T).statistic
    n, k = values.shape
    assert friedman_test(found).statistic == pytest.approx((n - 1) * chi_squared / (n * (k - 1) - chi_squared))


def test_extremes():
    assert friedman_test(np.array([[1.0, 2.0]] * 4)).p_value == 0
    assert friedman_test(np.array([[1.5, 1.5]] * 4)).p_value == 1
    assert signed_rank_test(np.zeros(5)) == 1
    assert holm({}) == {}
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}


def test_intervals_over_seeds():
    values = np.random.default_rng(0).normal(size=20)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert t_interval(values.tolist()) == pytest.approx((expected.low, expected.high))
    assert standard_error(values.tolist()) == pytest.approx(stats.sem(values))
    assert t_interval([1.0]) is None
    assert standard_error([1.0]) is None
