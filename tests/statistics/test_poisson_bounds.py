"""Mid-P bounds of a Poisson mean, compared with their definition."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, poisson

from fairbandits.statistics.poisson_bounds import lower_drop, upper_drop


def drop(count, mean):
    return float(poisson.logpmf(count, count) - poisson.logpmf(count, mean))


@pytest.mark.parametrize("count", [1, 2, 5, 30])
@pytest.mark.parametrize("error", [0.05, 0.01])
def test_half_of_the_observed_number_counts(count, error):
    means = [count * step / 2_000 for step in range(1, 20_000)]
    upper = [m for m in means if poisson.cdf(count, m) - poisson.pmf(count, m) / 2 >= error / 2][-1]
    lower = next(m for m in means if poisson.sf(count, m) + poisson.pmf(count, m) / 2 >= error / 2)
    assert upper_drop(count, error) == pytest.approx(drop(count, upper), rel=0.03)
    assert lower_drop(count, error) == pytest.approx(drop(count, lower), rel=0.03)


@given(st.floats(0.0, 1e6), st.floats(0.001, 0.5))
def test_drops_are_finite_and_positive(count, error):
    for found in (lower_drop(count, error), upper_drop(count, error)):
        assert 0.0 < found <= math.log(1.0 / error) + 5.0


@pytest.mark.parametrize("error", [0.2, 0.05, 0.001])
def test_many_events_get_the_chi_squared_drop(error):
    for found in (lower_drop(1e6, error), upper_drop(1e6, error)):
        assert found == pytest.approx(chi2.isf(error, 1) / 2.0, rel=0.01)
