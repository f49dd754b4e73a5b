"""Estimates and their confidence intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairbandits.ope.estimator_sums import EstimatorTerms
from fairbandits.ope.value_estimate import ValueEstimate, skewed_quantile


def test_without_skewness_it_is_the_t_interval():
    x = np.random.default_rng(3).normal(size=20)
    estimate = EstimatorTerms(x, np.ones(20), np.ones(20)).estimate(0.9)
    plain = ValueEstimate(estimate.value, estimate.standard_error, 0.0, estimate.degrees_of_freedom, 0.9)
    low, high = stats.t.interval(0.9, 19, x.mean(), x.std(ddof=1) / math.sqrt(20))
    assert plain.low == pytest.approx(low, rel=1e-9)
    assert plain.high == pytest.approx(high, rel=1e-9)


@given(skewness=st.floats(-0.2, 0.2), quantile=st.floats(-2.5, 2.5))
def test_the_transformation_is_inverted_to_second_order(skewness, quantile):
    t = skewed_quantile(quantile, skewness)
    back = t + skewness * (2 * t**2 + 1) / 6 + skewness**2 * t**3 / 27
    assert abs(back - quantile) <= 2.0 * abs(skewness) ** 3 * (1.0 + quantile**4) + 1e-12


@given(skewness=st.floats(-9.0, 9.0), first=st.floats(-6.0, 6.0), second=st.floats(-6.0, 6.0))
def test_quantiles_are_monotone_and_bounded(skewness, first, second):
    low, high = sorted((first, second))
    assert skewed_quantile(low, skewness) <= skewed_quantile(high, skewness)
    assert abs(skewed_quantile(first, skewness)) <= 2.0 * (abs(first) + abs(skewness) / 6.0)


@given(skewness=st.floats(-5.0, 5.0))
def test_the_bounds_are_in_order(skewness):
    estimate = ValueEstimate(0.5, 0.1, skewness, 20.0)
    assert estimate.low < estimate.high


def test_the_difference_of_two_estimates():
    one, two = ValueEstimate(0.6, 0.03, 0.4, 40.0), ValueEstimate(0.5, 0.04, -0.2, 90.0)
    difference = one.minus(two)
    assert difference.skewness == pytest.approx((0.4 * 0.03**3 + 0.2 * 0.04**3) / 0.05**3)
    assert difference.degrees_of_freedom == pytest.approx(0.05**4 / (0.03**4 / 40 + 0.04**4 / 90))
    assert difference.minus(difference).value == 0.0
    assert two.minus(one).low == pytest.approx(-difference.high)
    assert difference.excludes_zero == (difference.low > 0.0)
    nothing = ValueEstimate(0.5, 0.0, 0.0, 9.0)
    assert nothing.minus(nothing).low == nothing.minus(nothing).high == 0.0


def test_added_variance():
    wider = ValueEstimate(0.5, 0.03, 1.0, 9.0).with_added_variance(0.04**2)
    assert wider.standard_error == pytest.approx(0.05)
    assert wider.skewness == pytest.approx(0.6**3)
    assert ValueEstimate(0.5, 0.0, 0.0, 9.0).with_added_variance(0.0).standard_error == 0.0
