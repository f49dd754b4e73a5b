"""Whether propensities fit the arms that were chosen."""

import numpy as np
import pytest

from fairbandits.ope.checks.propensity_check import PropensityCheck, contradiction


def checked(arm, propensity, n_arms):
    check = PropensityCheck(n_arms)
    check.add(arm, propensity, np.arange(len(arm)))
    return check.mismatch()


def draw(rng, shares, n=3_000):
    return rng.choice(len(shares), n, p=shares)


SHARES = np.array([0.6, 0.3, 0.1])


def test_correct_propensities_raise_no_alarm():
    found = [checked(arm, SHARES[arm], 3) for arm in (draw(np.random.default_rng(s), SHARES) for s in range(200))]
    assert sum(each is not None for each in found) <= 10


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_propensities_of_one_arm_wrong_by_a_factor_of_two(factor):
    wrong = SHARES * [1.0, 1.0, factor]
    for seed in range(20):
        arm = draw(np.random.default_rng(seed), SHARES)
        found = checked(arm, wrong[arm], 3)
        assert found.arm == 2
        assert found.share == pytest.approx(0.1, abs=0.02)
        assert found.expected == pytest.approx(0.1 * factor, abs=0.04)


def test_many_rare_arms_are_judged_together():
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 1_000, 3_000)
    assert checked(arm, np.full(3_000, 1e-3), 1_000) is None
    assert checked(arm, np.full(3_000, 2e-3), 1_000).arm is None


def test_arms_that_come_late_are_judged_from_then_on():
    rng = np.random.default_rng(1)
    n = 6_000
    is_late = np.arange(n) >= n // 2
    arm = np.where(is_late & (rng.random(n) < 0.5), 2, rng.integers(0, 2, n))
    propensity = np.where(is_late, np.where(arm == 2, 0.5, 0.25), 0.5)
    assert checked(arm, propensity, 3) is None


def test_propensities_of_all_arms_are_compared_with_counts():
    rng = np.random.default_rng(2)
    arm = draw(rng, SHARES)
    check = PropensityCheck(3)
    check.add_all_arms(arm, np.tile(SHARES, (len(arm), 1)))
    assert check.mismatch() is None
    wrong = PropensityCheck(3)
    wrong.add_all_arms(arm, np.tile([0.5, 0.3, 0.2], (len(arm), 1)))
    assert wrong.mismatch().arm == 2


def test_parts_of_a_log_merge():
    rng = np.random.default_rng(3)
    arm = draw(rng, SHARES)
    whole, first, second = PropensityCheck(3), PropensityCheck(3), PropensityCheck(3)
    numbers = np.arange(len(arm))
    whole.add(arm, 0.5 * SHARES[arm], numbers)
    first.add(arm[:1_000], 0.5 * SHARES[arm[:1_000]], numbers[:1_000])
    second.add(arm[1_000:], 0.5 * SHARES[arm[1_000:]], numbers[1_000:])
    first.merge(second)
    assert first.mismatch().arm == whole.mismatch().arm
    assert first.mismatch().expected == pytest.approx(whole.mismatch().expected)


def test_too_few_rows_are_not_judged():
    few = np.array([3.0])
    assert np.isnan(contradiction(few, 2 * few, 4 * few, few, np.array([2.0]))).all()
    assert checked(np.array([0, 1, 0]), np.array([0.9, 0.1, 0.9]), 2) is None
