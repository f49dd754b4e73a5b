"""Every world of the suite is a world, and does what it promises."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from fairbandits.compare.suite import LAST_FIFTH, WORLDS, as_worlds
from fairbandits.testing import check_world
from fairbandits.worlds import StudentsAndVideos
from fairbandits.worlds.world import dense


def make(name, **params):
    return StudentsAndVideos(**(WORLDS[name].world_params(quick=True) | params), data="standin", random_state=3)


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_is_one(name):
    check_world(make(name, train=30, test=20))


def best_by_group(world):
    best = {}
    for visit in world.visits():
        best.setdefault(visit.group, []).append(visit.expected.max())
    return {group: np.mean(values) for group, values in best.items()}


def test_in_the_scarce_world_the_best_for_all_is_unfair():
    best = best_by_group(make("scarce"))
    assert best["female"] - best["male"] > 0.1
    best = best_by_group(make("3:7"))
    assert abs(best["female"] - best["male"]) < 0.03


@pytest.mark.parametrize("sex", ["male", "female"])
def test_the_scarce_have_no_video_rated_above_half(sex):
    world = make("3:7", scarce=sex, reward="r2")
    visit = next(world.visits())
    letters = np.array([arm[0] for arm in world.arms])
    ratings = visit.expected / 0.5
    ratings -= ratings.min()  # what education gives is the same for all, and some video has no star
    assert ratings[letters == sex[0]].max() <= 0.5
    assert ratings[letters != sex[0]].max() > 0.9


def test_the_minority_is_five_in_a_hundred():
    world = make("minority", train=300, test=200)
    groups = [visit.group for visit in world.visits()]
    assert Counter(groups[:300]) == {"female": 285, "male": 15}
    assert Counter(groups[300:]) == {"female": 190, "male": 10}


def test_preferences_turn_half_way():
    world, other = make("drift"), make("3:7")
    half = len(world) // 2
    letters = np.array([arm[0] for arm in world.arms])
    for number, (visit, same) in enumerate(zip(world.visits(), other.visits(), strict=True)):
        mine = letters == visit.group[0]
        np.testing.assert_array_equal(visit.contexts, same.contexts)
        moved = visit.expected - same.expected
        if number < half:
            assert not moved.any()
        else:
            np.testing.assert_allclose(moved, np.where(mine, -0.3, 0.3), atol=1e-12)


@pytest.mark.parametrize("name", ["3:7", "curved"])
def test_only_the_curved_world_leaves_what_no_linear_model_holds(name):
    visits = list(make(name).visits())
    arm = next(place for place in range(100) if np.ptp([visit.expected[place] for visit in visits]) > 0.3)
    pooled = [dense(visit.contexts)[::5] for visit in visits], [visit.expected[::5] for visit in visits]
    alone = [dense(visit.contexts)[arm : arm + 1] for visit in visits], [visit.expected[[arm]] for visit in visits]
    for contexts, rewards in (pooled, alone):
        x, y = np.vstack(contexts), np.concatenate(rewards)
        theta = np.linalg.solve(x.T @ x + 1e-6 * np.eye(x.shape[1]), x.T @ y)
        left = np.sqrt(np.mean((x @ theta - y) ** 2))
        # Education level is a function of the one-hot columns, so the paper's reward is linear exactly.
        assert left < 1e-4 if name == "3:7" else left > 0.005


def test_coins_keep_the_means():
    visits = list(islice(make("bernoulli").visits(), 400))
    rewards = np.array([visit.rewards for visit in visits])
    expected = np.array([visit.expected for visit in visits])
    assert set(np.unique(rewards)) == {0.0, 1.0}
    assert abs((rewards - expected).mean()) < 0.01


def test_the_groups_of_both_attributes_at_once():
    groups = {visit.group for visit in make("sex_x_race").visits()}
    assert {"female White", "male Black"} <= groups
    assert Counter(group.split()[0] for group in groups).keys() == {"female", "male"}


def test_the_long_worlds_have_no_break():
    for name in as_worlds(["long"]):
        params = WORLDS[name].world_params()
        assert params["train"] == 0
        assert params["test"] == 100_000
        assert WORLDS[name].measured == LAST_FIFTH


def test_worlds_by_name():
    assert as_worlds([]) == as_worlds(["short"])
    assert set(as_worlds(["all"])) == set(WORLDS)
    assert set(as_worlds(["all"])) - set(as_worlds([])) == {"long", "long_scarce"}
    with pytest.raises(ValueError, match=r"there is no world 'mars' in the suite; expected some of 3:7, 1:1"):
        as_worlds(["mars"])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"male_share": 1.5}, "male_share=1.5 came; expected a number from 0 to 1"),
        ({"scarce": "both"}, "scarce='both' came; expected one of 'male', 'female'"),
        ({"noise": "loud"}, "noise='loud' came; expected a number of at least 0"),
        ({"turns": 1}, "turns=1 came; expected True or False"),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        make("3:7", **params)
