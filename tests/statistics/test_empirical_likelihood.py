"""Empirical likelihood intervals, compared with textbook ones and with an independent optimiser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binomtest, chi2, norm

from fairbandits.statistics.empirical_likelihood import (
    WeightedUnits,
    difference_interval,
    likelihood_interval,
)


def units_of(weights, rewards, controls=None, max_weight=None):
    weights = np.asarray(weights, float)
    controls = np.empty((weights.size, 0)) if controls is None else controls
    top = float(weights.max()) if max_weight is None else max_weight
    return WeightedUnits(np.ones(weights.size), weights, weights * rewards, controls, top)


def test_many_rows_of_weight_one_get_the_normal_interval():
    rng = np.random.default_rng(0)
    reward = (rng.random(20_000) < 0.3) * 1.0
    value, low, high = likelihood_interval(units_of(np.ones(20_000), reward), 0.05)
    radius = norm.isf(0.025) * reward.std() / np.sqrt(20_000)
    assert value == pytest.approx(reward.mean(), abs=1e-6)
    assert (value - low, high - value) == pytest.approx((radius, radius), rel=0.03)


@pytest.mark.parametrize("successes", [0, 1, 3, 10, 50, 97, 100])
def test_few_rewards_get_the_exact_interval(successes):
    _, low, high = likelihood_interval(units_of(np.ones(100), np.arange(100) < successes), 0.05)
    exact = binomtest(successes, 100).proportion_ci(0.95)
    assert low == pytest.approx(exact.low, abs=0.012)
    assert high == pytest.approx(exact.high, abs=0.012)


def test_the_profile_is_that_of_an_independent_optimiser():
    rng = np.random.default_rng(1)
    weight = rng.choice([0.25, 4.0], 400, p=[0.8, 0.2])
    reward = (rng.random(400) < 0.5) * 1.0
    _, low, high = likelihood_interval(units_of(weight, reward, max_weight=5.0), 0.05)

    def drop(value):
        """Minus the profile log-likelihood ratio, by a general optimiser over the dual."""

        def negative(multiplier, moments):
            z = 1.0 + moments @ multiplier
            return np.inf if (z <= 0.0).any() else -np.log(z).sum()

        one = np.column_stack([weight * reward - value, weight - 1.0])
        start = {"method": "Nelder-Mead", "options": {"xatol": 1e-10, "fatol": 1e-10, "maxiter": 4_000}}
        both = minimize(negative, np.zeros(2), args=(one,), **start).fun
        alone = minimize(negative, np.zeros(1), args=(one[:, 1:],), **start).fun
        return alone - both

    for bound in (low, high):
        # Between the chi-squared threshold and a little more, for the effective number of rewards.
        assert chi2.isf(0.05, 1) / 2.0 < drop(bound) < 1.15 * chi2.isf(0.05, 1) / 2.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(5, 60), st.floats(0.0, 1.0), st.floats(0.01, 0.5))
def test_bounds_contain_the_estimate_and_stay_in_the_range(seed, n, rate, error):
    rng = np.random.default_rng(seed)
    weight = rng.exponential(1.0, n)
    units = units_of(weight, rng.random(n) < rate, rng.normal(size=(n, 1)), max_weight=50.0)
    value, low, high = likelihood_interval(units, error)
    assert 0.0 <= low <= value <= high <= 1.0


def test_a_control_variate_narrows_the_interval():
    rng = np.random.default_rng(2)
    weight = rng.choice([0.5, 2.0], 3_000, p=[2 / 3, 1 / 3])
    mean = rng.random(3_000)
    reward = (rng.random(3_000) < mean) * 1.0
    control = ((weight - 1.0) * mean)[:, None]
    widths = []
    for controls in (None, control):
        _, low, high = likelihood_interval(units_of(weight, reward, controls), 0.05)
        widths.append(high - low)
    assert widths[1] < 0.97 * widths[0]


def test_unobserved_rows_keep_the_upper_bound_honest():
    """All observed weights are small and unrewarded, so nothing is known of the rows that count."""
    units = units_of(np.full(500, 0.1), np.zeros(500), max_weight=100.0)
    _, low, high = likelihood_interval(units, 0.05)
    assert low == 0.0
    assert high > 0.85


def test_units_of_several_rows():
    rng = np.random.default_rng(3)
    effect = rng.normal(0.0, 0.2, 200)
    reward = (rng.random((200, 20)) < np.clip(0.5 + effect, 0, 1)[:, None]) * 1.0
    rows = np.full(200, 20.0)
    units = WeightedUnits(rows, rows, reward.sum(axis=1), np.empty((200, 0)), 1.0)
    value, low, high = likelihood_interval(units, 0.05)
    error = reward.mean(axis=1).std(ddof=1) / np.sqrt(200)
    assert value == pytest.approx(reward.mean())
    assert (high - low) == pytest.approx(2 * norm.isf(0.025) * error, rel=0.05)


def test_improvements_are_paired():
    rng = np.random.default_rng(4)
    n = 4_000
    # The evaluated policy differs from the logging policy in a tenth of the rows, so the gain is known well.
    weight = np.where(rng.random(n) < 0.1, rng.choice([0.0, 2.0], n), 1.0)
    reward = (rng.random(n) < 0.5) * 1.0
    units = units_of(weight, reward)
    value, low, high = difference_interval(units, units_of(np.ones(n), reward), 0.05)
    _, alone_low, alone_high = likelihood_interval(units, 0.05)
    terms = (weight - 1.0) * reward
    slope = np.cov(terms, weight)[0, 1] / weight.var(ddof=1)
    residual = terms - slope * (weight - 1.0)
    assert value == pytest.approx(residual.mean(), abs=1e-3)
    assert (high - low) == pytest.approx(2 * norm.isf(0.025) * residual.std() / np.sqrt(n), rel=0.1)
    assert high - low < 0.5 * (alone_high - alone_low)


def test_a_policy_does_not_differ_from_itself():
    units = units_of(np.ones(5), np.array([0.0, 1.0, 0.0, 1.0, 1.0]))
    assert difference_interval(units, units, 0.05) == (0.0, 0.0, 0.0)
