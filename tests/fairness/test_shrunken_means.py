"""Means of groups without what chance adds to their differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import GroupRewards
from fairbandits.fairness import shrunken_means
from tests.fairness.shrinking import record, shrunken_by_hand, standard_error_by_hand

some_rewards = st.lists(st.floats(0, 1), max_size=12)


@settings(deadline=None)  # the first call compiles
@given(st.dictionaries(st.sampled_from("abcdef"), some_rewards, min_size=1))
def test_they_are_the_estimate_of_the_textbook(rewards):
    groups, expected = record(rewards), shrunken_by_hand(rewards)
    found = dict(zip(groups.attributes.get("group", ()), shrunken_means(groups), strict=True))
    assert found == pytest.approx(expected, abs=1e-9)
    if expected:
        assert groups.means.min() - 1e-12 <= min(found.values())
        assert max(found.values()) <= groups.means.max() + 1e-12


@settings(deadline=None)
@given(some_rewards.filter(len), some_rewards.filter(len))
def test_a_difference_of_two_groups_loses_its_squared_error_over_itself(first, second):
    groups = record({"a": first, "b": second})
    difference, error = abs(np.diff(groups.means).item()), standard_error_by_hand(groups)
    expected = difference - error**2 / difference if difference > error else 0.0
    assert abs(np.diff(shrunken_means(groups)).item()) == pytest.approx(expected, abs=1e-9)


def test_attributes_do_not_count_for_each_other():
    rng, alone, both = np.random.default_rng(0), GroupRewards(), GroupRewards()
    for _ in range(200):
        sex, age, reward = rng.choice(["f", "m"]), rng.choice(["old", "young"]), rng.random()
        alone.add(reward, {"sex": sex})
        both.add(reward, {"age": age, "sex": sex})
    of_sex = [number for number, attribute in enumerate(both.attribute_of) if attribute == 1]
    np.testing.assert_array_equal(shrunken_means(both)[of_sex], shrunken_means(alone))


def test_the_range_of_rewards_is_the_unit():
    cents, units = GroupRewards((0.0, 100.0)), GroupRewards()
    for number in range(30):
        group, reward = "ab"[number % 2], (number * 7 % 10) / 10 * (0.5 + number % 2 / 2)
        cents.add(100 * reward, group)
        units.add(reward, group)
    np.testing.assert_allclose(shrunken_means(cents), 100 * shrunken_means(units))


def test_large_groups_keep_their_means_and_a_small_one_is_drawn_to_them():
    rng = np.random.default_rng(0)
    groups = record({"a": rng.random(5000), "b": rng.random(5000) * 0.8, "small": [0.0, 0.1]})
    found = shrunken_means(groups)
    np.testing.assert_allclose(found[:2], groups.means[:2], atol=0.001)
    assert groups.means[2] + 0.05 < found[2] < found[1]


def test_without_rewards_there_is_nothing_to_shrink():
    assert shrunken_means(GroupRewards()).size == 0
    groups = GroupRewards()
    groups.number_groups([(("group", "a"),), (("group", "b"),)])
    groups.add(0.7, "b")
    np.testing.assert_array_equal(shrunken_means(groups), [0.0, 0.7])
