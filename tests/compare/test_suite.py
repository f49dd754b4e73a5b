"""Every world of the suite passes check_world and has its documented property."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from fairbandits.compare.suite import LAST_FIFTH
from fairbandits.compare.suite_worlds import WORLDS, as_worlds
from fairbandits.testing import check_world
from fairbandits.worlds import StudentsAndVideos
from fairbandits.worlds.world import dense


def make(name, **params):
    return StudentsAndVideos(**(WORLDS[name].world_params(quick=True) | params), data="stand-in", random_state=3)


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_passes_check_world(name):
    world = WORLDS[name]
    cls, params = world.world_class(), world.world_params(quick=True, data="stand-in")
    check_world(cls(**params, random_state=3))


def best_by_group(world):
    best = {}
    for visit in world.visits():
        best.setdefault(visit.group, []).append(visit.expected.max())
    return {group: np.mean(values) for group, values in best.items()}


def test_in_the_scarce_world_the_best_arms_are_unfair():
    best = best_by_group(make("scarce"))
    assert best["female"] - best["male"] > 0.1
    best = best_by_group(make("3:7"))
    assert abs(best["female"] - best["male"]) < 0.03


@pytest.mark.parametrize("sex", ["male", "female"])
def test_scarce_speakers_have_no_video_rated_above_half(sex):
    world = make("3:7", scarce=sex, reward="r2")
    visit = next(world.visits())
    letters = np.array([arm[0] for arm in world.arms])
    ratings = visit.expected / 0.5
    ratings -= ratings.min()  # the term of education is the same for all arms, and some video has no star
    assert ratings[letters == sex[0]].max() <= 0.5
    assert ratings[letters != sex[0]].max() > 0.9


def test_the_minority_is_five_percent():
    world = make("minority", train=300, test=200)
    groups = [visit.group for visit in world.visits()]
    assert Counter(groups[:300]) == {"female": 285, "male": 15}
    assert Counter(groups[300:]) == {"female": 190, "male": 10}


def test_preferences_change_half_way():
    world, stationary = make("drift"), make("drift", drift=False)
    half = len(world) // 2
    letters = np.array([arm[0] for arm in world.arms])
    for number, (visit, same) in enumerate(zip(world.visits(), stationary.visits(), strict=True)):
        matching = letters == visit.group[0]
        np.testing.assert_array_equal(visit.contexts, same.contexts)
        change = visit.expected - same.expected
        if number < half:
            assert not change.any()
        else:
            np.testing.assert_allclose(change, np.where(matching, -0.3, 0.3), atol=1e-12)


@pytest.mark.parametrize("name", ["3:7", "curved"])
def test_only_the_curved_world_is_not_linear(name):
    visits = list(make(name).visits())
    arm = next(index for index in range(100) if np.ptp([visit.expected[index] for visit in visits]) > 0.3)
    pooled = [dense(visit.contexts)[::5] for visit in visits], [visit.expected[::5] for visit in visits]
    alone = [dense(visit.contexts)[arm : arm + 1] for visit in visits], [visit.expected[[arm]] for visit in visits]
    for contexts, rewards in (pooled, alone):
        x, y = np.vstack(contexts), np.concatenate(rewards)
        theta = np.linalg.solve(x.T @ x + 1e-6 * np.eye(x.shape[1]), x.T @ y)
        residual = np.sqrt(np.mean((x @ theta - y) ** 2))
        # Education level is a function of the one-hot columns, so the paper's reward is exactly linear.
        assert residual < 1e-4 if name == "3:7" else residual > 0.005


def test_bernoulli_rewards_keep_their_means():
    visits = list(islice(make("bernoulli").visits(), 400))
    rewards = np.array([visit.rewards for visit in visits])
    expected = np.array([visit.expected for visit in visits])
    assert set(np.unique(rewards)) == {0.0, 1.0}
    assert abs((rewards - expected).mean()) < 0.01


def test_intersectional_groups():
    groups = {visit.group for visit in make("sex_x_race").visits()}
    assert {"female White", "male Black"} <= groups
    assert Counter(group.split()[0] for group in groups).keys() == {"female", "male"}


def test_the_long_worlds_have_no_training_part():
    for name in as_worlds(["long"]):
        params = WORLDS[name].world_params()
        assert params["train"] == 0
        assert params["test"] == 100_000
        assert WORLDS[name].measured == LAST_FIFTH


def test_sets_of_worlds():
    assert set(as_worlds(["all"])) == set(WORLDS)
    variants = {"1:1", "7:3", "r2", "females_first", "males_first"}
    assert set(as_worlds(["all"])) - set(as_worlds(["fairbench"])) == {"long", "long_scarce"} | variants
    assert len(as_worlds(["fairbench"])) == 25
    assert len(as_worlds(["short"])) == 14
    assert set(as_worlds(["paper"])) < set(as_worlds(["short"]))
    assert set(as_worlds(["real"])) | set(as_worlds(["synthetic"])) == set(WORLDS)
    with pytest.raises(
        ValueError,
        match=r"worlds must be some of 3:7, 1:1, .*, or one of paper, .*, all, or module:Class.*got 'mars'",
    ):
        as_worlds(["mars"])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"male_share": 1.5}, r"male_share must be a number from 0 to 1, got 1\.5"),
        ({"scarce": "both"}, "scarce must be one of 'male', 'female', got 'both'"),
        ({"noise": "loud"}, "noise must be a number of at least 0, got 'loud'"),
        ({"drift": 1}, "drift must be True or False, got 1"),
    ],
)
def test_invalid_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        make("3:7", **params)
