import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from fairbandits.statistics.adjustment import (
    AdjustedEstimate,
    comparable_strata,
    doubly_robust_difference,
    standardised_difference,
)


def test_standardisation_is_the_weighted_mean_of_the_differences_of_strata():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "group": rng.integers(2, size=2_000),
            "stratum": rng.integers(5, size=2_000),
            "fold": rng.integers(20, size=2_000),
            "reward": rng.random(2_000),
        }
    )
    counts, totals = np.zeros((2, 5, 20)), np.zeros((2, 5, 20))
    np.add.at(counts, (rows["group"], rows["stratum"], rows["fold"]), 1.0)
    np.add.at(totals, (rows["group"], rows["stratum"], rows["fold"]), rows["reward"])
    cells = rows.groupby(["stratum", "group"])["reward"].mean().unstack()
    expected = np.average(cells[0] - cells[1], weights=rows.groupby("stratum").size())
    estimate = standardised_difference(counts, totals)
    assert abs(estimate.value - expected) < 1e-12
    # A textbook jackknife: leave out one fold at a time, and standardise again.
    left_out = [standardised_difference(np.delete(counts, f, 2), np.delete(totals, f, 2)).value for f in range(20)]
    jackknife = math.sqrt(19 / 20 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    assert estimate.standard_error == pytest.approx(jackknife, rel=0.05)


def test_strata_without_both_groups_in_two_folds_are_left_out():
    counts = np.array([[[5.0, 5.0], [5.0, 5.0], [5.0, 0.0]], [[5.0, 5.0], [0.0, 0.0], [5.0, 5.0]]])
    assert comparable_strata(counts).tolist() == [True, False, False]
    totals = counts * np.array([0.5, 0.9, 0.1])[:, None]
    assert standardised_difference(counts, totals).value == pytest.approx(0.0)
    assert math.isnan(standardised_difference(counts[:, 1:], totals[:, 1:]).value)


def test_doubly_robust_difference_agrees_with_an_independent_computation():
    rng = np.random.default_rng(1)
    n = 500
    user, is_first = rng.integers(90, size=n), rng.random(n) < 0.4
    reward, propensity = rng.random(n), rng.uniform(0.1, 0.9, n)
    first, second = rng.random(n), rng.random(n)
    estimate = doubly_robust_difference(reward, is_first, propensity, (first, second), user)
    # Row by row, with each mean on its own, as in Bang and Robins (2005).
    mean_1 = mean_2 = 0.0
    for i in range(n):
        mean_1 += (is_first[i] * reward[i] - (is_first[i] - propensity[i]) * first[i]) / propensity[i] / n
        mean_2 += (
            ((1 - is_first[i]) * reward[i] + (is_first[i] - propensity[i]) * second[i]) / (1 - propensity[i]) / n
        )
    assert abs(estimate.value - (mean_1 - mean_2)) < 1e-9
    variance = 0.0
    for number in np.unique(user):
        total = 0.0
        for i in np.flatnonzero(user == number):
            score = (is_first[i] * reward[i] - (is_first[i] - propensity[i]) * first[i]) / propensity[i]
            score -= ((1 - is_first[i]) * reward[i] + (is_first[i] - propensity[i]) * second[i]) / (
                1 - propensity[i]
            )
            total += score - estimate.value
        variance += total**2
    n_users = len(np.unique(user))
    assert abs(estimate.standard_error - math.sqrt(variance * n_users / (n_users - 1)) / n) < 1e-9


def test_it_is_right_if_only_one_of_both_predictions_is():
    rng = np.random.default_rng(2)
    n = 200_000
    x = rng.random(n)
    propensity, first, second = 0.2 + 0.6 * x, 0.6 * x, 0.6 * x + 0.1
    is_first = rng.random(n) < propensity
    reward = (rng.random(n) < np.where(is_first, first, second)).astype(float)
    wrong = np.full(n, 0.5)
    for p, means in ((propensity, (wrong, wrong)), (wrong, (first, second))):
        estimate = doubly_robust_difference(reward, is_first, p, means, np.arange(n))
        assert abs(estimate.value + 0.1) < 4.0 * estimate.standard_error < 0.02
    assert reward[is_first].mean() - reward[~is_first].mean() > 0.0


def test_interval_is_that_of_student():
    low, high = AdjustedEstimate(1.0, 0.5, 7.0).interval(0.05)
    assert (low, high) == pytest.approx(student.interval(0.95, 7, 1.0, 0.5))


def test_nothing_to_compare():
    empty = np.zeros(0)
    assert math.isnan(doubly_robust_difference(empty, empty > 0, empty, (empty, empty), empty).value)
