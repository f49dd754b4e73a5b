"""The sums of estimators: standard errors, skewness, improvements, effective sample sizes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.ope import estimators
from fairbandits.ope.estimator_sums import EstimatorSums, EstimatorTerms
from tests.ope.test_estimators import all_terms, make_log


def test_the_standard_error_is_that_of_the_jackknife():
    # Leave out one row at a time.
    for name, terms in all_terms(make_log(n=400)).items():
        n = len(terms.numerator)
        each = np.array([terms.select(np.arange(n) != i).value() for i in range(n)])
        jackknife = math.sqrt((n - 1) / n * ((each - each.mean()) ** 2).sum())
        assert terms.estimate().standard_error == pytest.approx(jackknife, rel=2e-3), name


def test_the_skewness_is_that_of_the_influence():
    terms = all_terms(make_log(n=500))["ips"]
    x = terms.numerator
    expected = ((x - x.mean()) ** 3).sum() / ((x - x.mean()) ** 2).sum() ** 1.5
    assert terms.estimate().skewness == pytest.approx(expected, rel=0.01)


def test_the_improvement_is_a_paired_difference():
    log = make_log(n=300)
    sums = EstimatorSums(1, offset=0.4)
    terms = estimators.ips(log["propensity"], log["reward"], log["propensity"])
    sums.add(terms, log["reward"], np.zeros((300, 1), int))
    improvement = sums.improvement()
    assert improvement.value == pytest.approx(0.0, abs=1e-12)
    assert improvement.standard_error == pytest.approx(0.0, abs=1e-9)
    sums = EstimatorSums(1)
    terms = all_terms(log)["ips"]
    sums.add(terms, log["reward"], np.zeros((300, 1), int))
    difference = terms.numerator - log["reward"]
    assert sums.improvement().value == pytest.approx(difference.mean())
    assert sums.improvement().standard_error == pytest.approx(difference.std(ddof=1) / math.sqrt(300), rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=4), offset=st.floats(-1.0, 1.0), seed=st.integers(0, 99))
def test_sums_of_chunks_can_be_added(cuts, offset, seed):
    log = make_log(seed=seed)
    groups = np.column_stack([np.zeros(60, int), log["group"] + 1, np.full(60, -1)])
    for terms in all_terms(log).values():
        whole, parts = EstimatorSums(3), EstimatorSums(3, offset)
        whole.add(terms, log["reward"], groups)
        for rows in np.split(np.arange(60), sorted(cuts)):
            parts.add(terms.select(rows), log["reward"][rows], groups[rows])
        for group in range(3):
            for one, two in (
                (whole.estimate(group), parts.estimate(group)),
                (whole.improvement(group), parts.improvement(group)),
            ):
                assert one.value == pytest.approx(two.value, abs=1e-12)
                assert one.standard_error == pytest.approx(two.standard_error, abs=1e-9)
                assert one.degrees_of_freedom == pytest.approx(two.degrees_of_freedom)
        assert parts.rows(1) + parts.rows(2) == 60


def test_the_effective_sample_size():
    sums = EstimatorSums(2)
    terms = EstimatorTerms(np.ones(4), np.ones(4), np.array([1.0, 1.0, 0.0, 2.0]))
    sums.add(terms, np.ones(4), np.zeros((4, 1), int))
    assert sums.effective_rows(0) == pytest.approx(16 / 6)
    assert sums.mean_weight(0) == 1.0
    assert sums.effective_rows(1) == 0.0
    assert math.isnan(sums.mean_weight(1))
    assert sums.estimate(1) is None


def test_rewards_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(0)
    reward = 1e6 + rng.random(1000)
    sums = EstimatorSums(1, offset=1e6)
    half = np.full(1000, 0.5)
    sums.add(estimators.snips(half, reward, half), reward, np.zeros((1000, 1), int))
    assert sums.estimate().standard_error == pytest.approx(reward.std(ddof=1) / math.sqrt(1000), rel=1e-3)


def test_too_few_rows():
    unmatched = estimators.replay([0.0, 0.0, 0.0], [1.0, 0.0, 1.0])
    assert math.isnan(unmatched.value())
    assert unmatched.estimate() is None
    assert estimators.ips([1.0], [1.0], [0.5]).estimate() is None
