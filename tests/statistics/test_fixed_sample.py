"""Fixed-sample intervals, compared with the exact binomial and with the normal interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from fairbandits.statistics.clusters import ClusterMeans, row_means
from fairbandits.statistics.exact import exceeds_bound, falls_below_bound
from fairbandits.statistics.fixed_sample import difference_bounds, is_large_enough, mean_bounds
from fairbandits.statistics.multiplicity import divide_error, sidak
from tests.statistics.users import means_of_users


def binary(successes, n):
    successes, n = np.atleast_1d(successes).astype(float), np.atleast_1d(n).astype(float)
    return row_means(n, successes, successes)


@given(st.integers(1, 400), st.integers(401, 5_000))
def test_independent_binary_rewards_get_nearly_the_exact_binomial_interval(successes, n):
    low, high = mean_bounds(binary(successes, n), 0.05)
    exact = binomtest(successes, n).proportion_ci(0.95, "exact")
    # The variance is estimated with n - 1 in place of n, and its degrees of freedom are finite.
    assert low[0] == pytest.approx(exact.low, rel=0.02, abs=1e-4)
    assert high[0] == pytest.approx(exact.high, rel=0.02, abs=1e-4)


def test_large_samples_get_the_normal_interval():
    rng = np.random.default_rng(0)
    count = rng.integers(1, 20, 20_000).astype(float)
    total = count * rng.beta(2.0, 3.0, 20_000)
    means = means_of_users(count, total, np.zeros(20_000, int), np.array([0.4 * count.sum()]))
    low, high = mean_bounds(means, 0.05)
    radius = norm.isf(0.025) * np.sqrt(means.variance)
    assert low[0] == pytest.approx(means.mean[0] - radius[0], abs=0.03 * radius[0])
    assert high[0] == pytest.approx(means.mean[0] + radius[0], abs=0.03 * radius[0])


def test_no_success_and_no_failure():
    low, high = mean_bounds(binary([0, 50], [50, 50]), 0.05)
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert high[0] == pytest.approx(1.0 - low[1])
    assert 0.07 < high[0] < 0.08


def test_ten_equal_rewards_of_a_user_count_once():
    ten = means_of_users(np.full(50, 10.0), np.zeros(50), np.zeros(50, int), np.zeros(1))
    assert mean_bounds(ten, 0.05)[1][0] == pytest.approx(mean_bounds(binary(0, 50), 0.05)[1][0])


def test_without_a_variance_anything_is_possible():
    means = ClusterMeans(*(np.array([value]) for value in (5.0, 1.0, 1.0, 0.5, np.inf, 0.1)))
    assert [bound.tolist() for bound in mean_bounds(means, 0.05)] == [[0.0], [1.0]]


@given(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=2), st.floats(0.0, 0.05), st.floats(0.0, 0.05))
def test_differences_combine_the_distances_to_the_bounds(means, down, up):
    mean = np.array(means)
    low, high = difference_bounds(mean, mean - down, mean + up, np.array([0]), np.array([1]))
    difference = mean[0] - mean[1]
    assert difference - low[0] == pytest.approx(np.hypot(down, up))
    assert high[0] - difference == pytest.approx(np.hypot(up, down))


def test_the_size_that_a_group_needs():
    assert is_large_enough(binary([6, 4], [12, 9])).tolist() == [True, False]  # ten users
    assert is_large_enough(binary([50, 0], [1_000, 90])).tolist() == [True, False]  # 4.1 expected successes
    assert is_large_enough(binary([50, 0], [1_000, 120])).tolist() == [True, True]
    assert is_large_enough(binary([950, 90], [1_000, 90])).tolist() == [True, False]  # 4.1 expected failures
    assert is_large_enough(binary([0, 0], [10_000, 10_000])).tolist() == [False, False]
    # Rewards that hardly vary need no large mean.
    nearly_equal = row_means(np.array([50.0, 50.0]), np.array([0.5, 0.5]), np.array([0.00505, 0.00505]))
    assert is_large_enough(nearly_equal).all()


def test_the_rows_of_very_active_users_count_less():
    count = np.concatenate([[5_000.0], np.full(200, 5.0)])
    total = count * 0.004
    means = means_of_users(count, total, np.zeros(201, int), np.array([total.sum()]))
    assert means.rows[0] * means.mean[0] > 20  # expected successes, if all rows counted
    assert not is_large_enough(means)[0]


def test_simultaneous_errors():
    assert sidak(0.05, 1) == pytest.approx(0.05)
    assert sidak(0.05, 0) == pytest.approx(0.05)
    assert (1 - sidak(0.05, 7)) ** 7 == pytest.approx(0.95)
    assert sum(divide_error(0.05, {"a": 3.0, "b": 1.0}).values()) == pytest.approx(0.05)


@pytest.mark.parametrize("true_mean", [0.2, 0.5])
def test_the_exact_test_has_its_error(true_mean):
    rng = np.random.default_rng(0)
    n, error = 9, 0.05
    means = (rng.random((20_000, n)) < true_mean).mean(axis=1)
    assert np.mean([falls_below_bound(mean, n, true_mean, error) for mean in means]) <= error
    assert np.mean([exceeds_bound(mean, n, true_mean, error) for mean in means]) <= error


def test_the_exact_test_finds_what_is_obvious():
    assert falls_below_bound(0.0, 9, 0.5, 0.01)
    assert exceeds_bound(1.0, 9, 0.5, 0.01)
    assert falls_below_bound(0.5, 3, 1.0, 0.01)  # impossible under a mean of 1
    assert not falls_below_bound(0.6, 100, 0.5, 0.5)
    assert not falls_below_bound(float("nan"), 0, 0.5, 0.5)
