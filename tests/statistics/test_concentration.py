import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.statistics.concentration import gini, rarefied_arms, rarefied_gini


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any))
def test_gini_is_half_the_relative_mean_difference(counts):
    x = np.array(counts, float)
    textbook = np.abs(x[:, None] - x[None, :]).mean() / (2.0 * x.mean())
    assert gini(x) == pytest.approx(textbook, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_rarefaction_is_the_mean_over_all_subsets_of_folds(size):
    rng = np.random.default_rng(0)
    counts = (rng.random((12, 6)) < 0.3) * 5.0
    counts[0] = 20.0 - counts[1:].sum(axis=0) % 20.0  # folds of similar size
    sizes = counts.sum(axis=0)
    counts[0] += sizes.max() - sizes
    subsets = [
        (counts[:, list(chosen)].sum(axis=1) > 0).sum() for chosen in itertools.combinations(range(6), size)
    ]
    estimate = rarefied_arms(counts, size * counts.sum() / 6)
    assert estimate.value == pytest.approx(np.mean(subsets))


def test_less_than_a_fold_is_drawn_decision_by_decision():
    """Hurlbert's (1971) rarefaction, summed over all draws of two of four decisions."""
    counts = np.tile(np.array([[2.0], [1.0], [1.0]]), (1, 8))
    draws = [len({*pair}) for pair in itertools.combinations([0, 0, 1, 2], 2)]
    assert rarefied_arms(counts, 2).value == pytest.approx(np.mean(draws))
    assert rarefied_arms(counts, 2).variance == pytest.approx(0.0)


def test_a_single_fold_has_no_variance():
    counts = np.array([[3.0, 0.0], [2.0, 0.0]])
    assert rarefied_arms(counts, 2).variance == math.inf
    assert rarefied_gini(counts, 2, np.random.default_rng(0)).variance == math.inf


def test_groups_of_different_size_with_the_same_exposure_differ_by_chance_only():
    """Without rarefaction, the small group seems to be shown fewer arms in every log."""
    rng = np.random.default_rng(0)
    popularity = 1.0 / np.arange(1, 101)
    covered, seems_narrower = np.zeros(2), 0
    for _ in range(40):
        tables = []
        for n in (3_000, 300):
            table = np.zeros((100, 64))
            arms = rng.choice(100, n, p=popularity / popularity.sum())
            np.add.at(table, (arms, rng.integers(64, size=n)), 1.0)
            tables.append(table)
        arms = [rarefied_arms(table, 150) for table in tables]
        ginis = [rarefied_gini(table, 150, np.random.default_rng(1)) for table in tables]
        for k, (a, b) in enumerate((arms, ginis)):
            covered[k] += abs(a.value - b.value) <= 2.0 * math.sqrt(a.variance + b.variance)
        seems_narrower += (tables[1].sum(axis=1) > 0).sum() < (tables[0].sum(axis=1) > 0).sum()
    assert seems_narrower == 40
    assert (covered >= 34).all()
