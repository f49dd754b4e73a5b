"""The synthetic worlds: their rewards, and the parameters they refuse."""

import numpy as np
import pytest

from fairbandits.testing import check_world
from fairbandits.worlds import LinearWorld, UnequalWorld


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"groups": ["x", "y", "z"], "gap": 1.0},
        {"n_arms": 1, "n_features": 2, "noise": 0},
        {"groups": (None,)},
    ],
)
def test_the_world_passes_check_world(parameters):
    check_world(LinearWorld(rounds=50, **parameters))


def test_rewards_are_linear_and_the_coefficients_known():
    world = LinearWorld(rounds=50, gap=0.3)
    assert world.theta.sum() == pytest.approx(1)
    for visit in world.visits():
        assert np.allclose(visit.contexts @ world.theta, visit.expected)


def test_the_last_arm_favours_the_first_group_by_the_gap():
    world = LinearWorld(n_arms=3, rounds=4_000, gap=0.4)
    visits = list(world.visits())
    means = {group: np.mean([v.expected for v in visits if v.group == group], axis=0) for group in world.groups}
    assert means["a"] - means["b"] == pytest.approx([0, 0.2, 0.4], abs=0.03)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_arms": 0}, "n_arms must be an integer of at least 1, got 0"),
        ({"n_features": 1}, "n_features must be an integer of at least 2, got 1"),
        ({"rounds": 0.5}, r"rounds must be an integer of at least 1, got 0\.5"),
        ({"groups": ()}, r"groups must be a sequence of at least one group, got \(\)"),
        ({"groups": "ab"}, "groups must be a sequence of at least one group, got 'ab'"),
        ({"groups": 2}, "groups must be a sequence of at least one group, got 2"),
        ({"noise": "loud"}, "noise must be a number of at least 0, got 'loud'"),
        ({"gap": 1.5}, r"gap must be a number from 0 to 1, got 1\.5"),
        ({"random_state": 0.5}, r"random_state must be an integer of at least 0, got 0\.5"),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearWorld(**parameters)


def test_no_choice_closes_the_gap_of_the_unequal_world():
    world = UnequalWorld(rounds=200)
    check_world(world)
    visits = list(world.visits())
    least = min(visit.expected.min() for visit in visits if visit.group == "a")
    most = max(visit.expected.max() for visit in visits if visit.group == "b")
    assert least - most == pytest.approx(0.2)
    assert {tuple(np.flatnonzero(visit.contexts[0])) for visit in visits} == {(0,), (1,), (2,), (3,)}
    assert {reward for visit in visits for reward in visit.rewards} == {0.0, 1.0}


def test_the_unequal_world_has_at_least_one_round():
    with pytest.raises(ValueError, match="rounds must be an integer of at least 1, got 0"):
        UnequalWorld(rounds=0)
