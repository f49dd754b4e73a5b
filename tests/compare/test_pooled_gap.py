"""The gap over all seeds together."""

import numpy as np
import pytest

from fairbandits.compare.pooled_gap import pooled_gap
from fairbandits.compare.subgroups import SubgroupMeans

OLD, YOUNG = ("age", "old"), ("age", "young")


def seed(old, young, n_old=10.0, n_young=90.0):
    ones = np.ones(2)
    return SubgroupMeans(((OLD,), (YOUNG,)), np.array([n_old, n_young]), np.array([old, young]), ones, 0 * ones)


def test_luck_in_both_directions_cancels():
    gap = pooled_gap([seed(0.8, 0.6), seed(0.4, 0.6)], (OLD, YOUNG))
    assert gap.value == pytest.approx(0.0)


def test_seeds_count_by_their_rounds():
    gap = pooled_gap([seed(0.9, 0.5, n_old=30.0), seed(0.5, 0.5, n_old=10.0)], (OLD, YOUNG))
    assert gap.value == pytest.approx(0.3)


def test_the_standard_error_is_that_of_a_mean_where_the_gap_is_one():
    # With equal counts and one group always ahead, the gap over all seeds is the mean of the gaps.
    gaps = np.array([0.1, 0.2, 0.15, 0.3])
    found = pooled_gap([seed(0.5 + gap, 0.5) for gap in gaps], (OLD, YOUNG))
    assert found.value == pytest.approx(gaps.mean())
    assert found.error == pytest.approx(gaps.std(ddof=1) / 2)


def test_one_seed_has_no_standard_error():
    assert pooled_gap([seed(0.7, 0.5)], (OLD, YOUNG)).error is None
