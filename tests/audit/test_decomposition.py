"""The decomposition: exact, equal to a manual computation, with the standard errors of a bootstrap of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.audit.decomposition import bootstrap_standard_errors, decompose, n_draws
from fairbandits.audit.grouped_sums import RewardSums


@given(st.data())
def test_the_effects_add_up_to_the_gap(data):
    n = data.draw(st.integers(1, 12))
    counts, means = [], []
    for _ in range(2):
        count = np.array(data.draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n)), float)
        count[data.draw(st.integers(0, n - 1))] += 1.0
        counts.append(count)
        means.append(np.array(data.draw(st.lists(st.floats(-1, 1), min_size=n, max_size=n))))
    effects = decompose(counts[0], means[0], counts[1], means[1])
    gap = np.average(means[0], weights=counts[0]) - np.average(means[1], weights=counts[1])
    assert effects.exposure.sum() + effects.within_arm.sum() == pytest.approx(gap, abs=1e-12)
    exposure, one_sided, within_arm, total = effects.sums()
    assert exposure + within_arm == pytest.approx(gap, abs=1e-12)
    assert total == pytest.approx(gap, abs=1e-12)
    assert one_sided == pytest.approx(effects.exposure[(counts[0] > 0) != (counts[1] > 0)].sum(), abs=1e-12)


@given(st.floats(-5, 5))
def test_shifting_all_rewards_changes_nothing(shift):
    count_1, mean_1, count_2, mean_2 = np.array([[3.0, 7, 0], [0.2, 0.9, 0.4], [5.0, 1, 4], [0.3, 0.7, 0.1]])
    here, there = (decompose(count_1, mean_1 + s, count_2, mean_2 + s) for s in (0.0, shift))
    np.testing.assert_allclose(there.exposure, here.exposure, atol=1e-12)
    np.testing.assert_allclose(there.within_arm, here.within_arm, atol=1e-12)


def test_a_manual_computation():
    # The first group: 60% from an arm that gives it 0.5, 40% from one that gives it 0.9: 0.66 in all.
    # The second group: 80% at 0.4, 20% at 0.7: 0.46. Both in the middle: 0.45 and 0.8, and c is 0.56.
    effects = decompose(*np.array([[60.0, 40.0], [0.5, 0.9], [8.0, 2.0], [0.4, 0.7]]))
    np.testing.assert_allclose(effects.exposure, [-0.2 * (0.45 - 0.56), 0.2 * (0.8 - 0.56)])
    np.testing.assert_allclose(effects.within_arm, [0.7 * 0.1, 0.3 * 0.2])
    assert (effects.exposure + effects.within_arm).sum() == pytest.approx(0.66 - 0.46)


def test_an_arm_that_one_group_was_never_shown_has_only_an_exposure_effect():
    effects = decompose(*np.array([[50.0, 50.0], [0.4, 1.0], [100.0, 0.0], [0.4, np.nan]]))
    assert effects.within_arm.tolist() == [0.0, 0.0]
    assert effects.one_sided.tolist() == [False, True]
    assert effects.exposure.sum() == pytest.approx(0.3)


def test_equal_groups_have_no_effects():
    effects = decompose(*np.array([[5.0, 5.0], [0.4, 0.8], [50.0, 50.0], [0.4, 0.8]]))
    assert np.all(effects.exposure == 0.0)
    assert np.all(effects.within_arm == 0.0)


def rows_of(rng, arms, n, shift):
    arm = rng.choice(len(arms), n, p=arms)
    return arm, rng.beta(2, 2, n) * 0.5 + 0.1 * arm + shift


def sums_of(arm, reward, n_arms):
    count, total = np.bincount(arm, minlength=n_arms), np.bincount(arm, reward, n_arms)
    return RewardSums(count.astype(float), total, np.bincount(arm, reward**2, n_arms), np.zeros(n_arms))


def test_standard_errors_agree_with_a_bootstrap_of_rows():
    rng = np.random.default_rng(3)
    groups = [rows_of(rng, [0.5, 0.3, 0.2], 500, 0.1), rows_of(rng, [0.2, 0.3, 0.5], 300, 0.0)]
    sums, by_arm = bootstrap_standard_errors(*(sums_of(*group, 3) for group in groups), np.random.default_rng(0))
    drawn = []
    for _ in range(1_500):
        rows = [rng.integers(0, len(arm), len(arm)) for arm, _ in groups]
        again = [sums_of(arm[mine], reward[mine], 3) for (arm, reward), mine in zip(groups, rows, strict=True)]
        drawn.append(decompose(again[0].count, again[0].mean, again[1].count, again[1].mean))
    expected = np.std([effects.sums() for effects in drawn], axis=0)
    np.testing.assert_allclose(sums[[0, 2, 3]], expected[[0, 2, 3]], rtol=0.15)
    np.testing.assert_allclose(by_arm, np.std([effects.total for effects in drawn], axis=0), rtol=0.15)


def test_the_same_seed_gives_the_same_errors():
    rng = np.random.default_rng(3)
    groups = [sums_of(*rows_of(rng, [0.5, 0.5], 200, shift), 2) for shift in (0.0, 0.1)]
    one, two = (bootstrap_standard_errors(*groups, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_many_arms_have_fewer_draws():
    assert n_draws(10) == 400
    assert n_draws(20_000) == 200
    assert n_draws(10**6) == 100
