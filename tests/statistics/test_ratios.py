import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from fairbandits.statistics.clusters import row_means
from fairbandits.statistics.fixed_sample import difference_bounds, mean_bounds
from fairbandits.statistics.ratios import ratio_bounds


def bounds_of(rewards, rows=200):
    counts = np.full(len(rewards), float(rows))
    means = row_means(counts, np.array(rewards, float), np.array(rewards, float))
    return means.mean, *mean_bounds(means, 0.05)


def test_bounds_are_where_the_difference_excludes_zero():
    """Found by root search instead of the closed form."""
    mean, low, high = bounds_of([60, 90])

    def excess(t, side):
        scale = np.array([1.0, t])
        return difference_bounds(mean * scale, low * scale, high * scale, 0, 1)[side]

    lower, upper = ratio_bounds(mean, low, high, 0, 1)
    np.testing.assert_allclose(lower, brentq(excess, 0.0, 5.0, args=(0,)), rtol=1e-9)
    np.testing.assert_allclose(upper, brentq(excess, 0.0, 5.0, args=(1,)), rtol=1e-9)


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_ratio_excludes_one_exactly_if_the_difference_excludes_zero(first, second):
    mean, low, high = bounds_of([first, second])
    lower, upper = ratio_bounds(mean, low, high, 0, 1)
    down, up = difference_bounds(mean, low, high, 0, 1)
    assert 0.0 <= lower <= mean[0] / mean[1] <= upper
    assert (lower > 1.0 + 1e-9) == (down > 1e-9) or abs(down) < 1e-6
    assert (upper < 1.0 - 1e-9) == (up < -1e-9) or abs(up) < 1e-6


def test_a_reference_without_rewards_has_no_upper_bound():
    lower, upper = ratio_bounds(*bounds_of([60, 0]), 0, 1)
    assert lower > 1.0
    assert upper == np.inf


def test_the_interval_covers_the_ratio():
    rng = np.random.default_rng(0)
    successes = rng.binomial(300, [0.1, 0.2], (2_000, 2)).astype(float)
    means = row_means(np.full_like(successes, 300.0), successes, successes)
    lower, upper = ratio_bounds(means.mean, *mean_bounds(means, 0.05), 0, 1)
    assert 0.94 < np.mean((lower <= 0.5) & (upper >= 0.5)) < 0.985
