"""The decomposition: exact, equal to a manual computation, and honest for rare arms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.audit.decomposition import decompose, jackknife_error, leave_out_each


@given(st.data())
def test_the_effects_add_up_to_the_gap(data):
    n = data.draw(st.integers(1, 12))
    counts, totals = [], []
    for _ in range(2):
        count = np.array(data.draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n)), float)
        count[data.draw(st.integers(0, n - 1))] += 1.0
        counts.append(count)
        totals.append(count * np.array(data.draw(st.lists(st.floats(-1, 1), min_size=n, max_size=n))))
    effects = decompose(counts[0], totals[0], counts[1], totals[1])
    gap = totals[0].sum() / counts[0].sum() - totals[1].sum() / counts[1].sum()
    exposure, one_sided, within_arm = effects.sums()
    assert exposure + within_arm == pytest.approx(gap, abs=1e-12)
    assert effects.total.sum() == pytest.approx(gap, abs=1e-12)
    assert one_sided == pytest.approx(effects.exposure[effects.is_one_sided].sum(), abs=1e-12)
    assert not (effects.is_one_sided & effects.is_rare).any()


def test_a_manual_computation():
    # The first group: 60% from an arm that gives it 0.5, 40% from one that gives it 0.9: 0.66 in all.
    # The second group: 80% at 0.4, 20% at 0.7: 0.46. Both in the middle: 0.45 and 0.8, and c is 0.56.
    effects = decompose(*np.array([[60.0, 40.0], [30.0, 36.0], [80.0, 20.0], [32.0, 14.0]]))
    np.testing.assert_allclose(effects.exposure, [-0.2 * (0.45 - 0.56), 0.2 * (0.8 - 0.56)])
    np.testing.assert_allclose(effects.within_arm, [0.7 * 0.1, 0.3 * 0.2])


def test_an_arm_that_one_group_was_not_shown_has_only_an_exposure_effect():
    effects = decompose(*np.array([[50.0, 50.0], [20.0, 50.0], [100.0, 0.0], [40.0, 0.0]]))
    assert effects.within_arm.tolist() == pytest.approx([0.0, 0.0])
    assert effects.is_one_sided.tolist() == [False, True]
    assert effects.exposure.sum() == pytest.approx(0.3)


def test_a_rare_arm_borrows_from_other_arms():
    # The first group gets 0.2 more from each arm; the last two arms are too rare to have rewards from both.
    count_1, count_2 = np.array([50.0, 50.0, 1.0, 0.0]), np.array([50.0, 50.0, 0.0, 1.0])
    effects = decompose(count_1, 0.6 * count_1, count_2, 0.4 * count_2)
    assert effects.is_rare.tolist() == [False, False, True, True]
    assert effects.within_arm.sum() == pytest.approx(0.2)
    assert effects.exposure.sum() == pytest.approx(0.0)


def test_equal_groups_have_no_effects():
    effects = decompose(*np.array([[5.0, 5.0], [2.0, 4.0], [50.0, 50.0], [20.0, 40.0]]))
    np.testing.assert_allclose(effects.exposure, 0.0, atol=1e-15)
    np.testing.assert_allclose(effects.within_arm, 0.0, atol=1e-15)


def test_the_jackknife_of_a_mean_is_the_textbook_error():
    rows = np.random.default_rng(0).random((1, 40))
    left = leave_out_each(rows, np.arange(40)) / 39
    assert jackknife_error(left)[0] == pytest.approx(rows.std(ddof=1) / np.sqrt(40))


@pytest.mark.parametrize("rows_per_arm", [2, 5, 50])
def test_both_effects_are_covered_at_any_number_of_rows_per_arm(rows_per_arm):
    # `benchmarks/audit_decomposition.py` measures this with more logs.
    import benchmarks.audit_decomposition as benchmark

    outcomes = [benchmark.measure(rows_per_arm, 100, seed) for seed in range(60)]
    assert np.mean([outcome.exposure_covered for outcome in outcomes]) >= 0.9
    assert np.mean([outcome.within_arm_covered for outcome in outcomes]) >= 0.9
    # The error probability of the effects is smaller than 5%, because all statements of an audit hold together.
    assert abs(np.mean([outcome.within_arm_error for outcome in outcomes])) < 0.03
