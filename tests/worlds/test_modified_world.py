"""Delayed, missing, biased and noisy rewards, drift, and arms that come and go."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import LinUCB
from fairbandits.simulate import Run, simulate
from fairbandits.testing import check_world
from fairbandits.worlds import LinearWorld, ModifiedWorld, RatingsWorld, ReplayWorld, StudentsAndVideos, Visit
from fairbandits.worlds.arm_rhythm import ArmRhythm
from tests.simulate.scripted import SMALL, ScriptedWorld
from tests.worlds.tables import ratings_table, uniform_log

LINEAR = LinearWorld(rounds=200, noise=0.05)
VIDEOS = StudentsAndVideos(**SMALL, noise=0.05)
FILMS = RatingsWorld(ratings_table(), user="user", item="film", reward="stars", group=["sex", "age"], rounds=80)

shares = st.floats(0, 1)
feedback = st.fixed_dictionaries(
    {},
    optional={
        "delay": st.integers(0, 9) | st.tuples(st.integers(0, 3), st.integers(3, 9)),
        "missing": shares | st.fixed_dictionaries({"a": shares, "b": shares}),
        "bias": st.floats(-1, 1) | st.fixed_dictionaries({"b": st.floats(-1, 1)}),
        "noise": st.floats(0, 1) | st.just("bernoulli"),
        "random_state": st.integers(0, 99),
    },
)
changes = st.fixed_dictionaries(
    {},
    optional={"drift": shares, "present": shares, "period": st.integers(2, 50), "random_state": st.integers(0, 9)},
)


def both(world, **options):
    return zip(world.visits(), ModifiedWorld(world, **options).visits(), strict=True)


@settings(deadline=None, max_examples=30)
@given(feedback)
def test_feedback_changes_what_is_seen_and_never_what_counts(options):
    check_world(ModifiedWorld(LINEAR, **options))
    for plain, visit in both(LINEAR, **options):
        np.testing.assert_array_equal(visit.expected, plain.expected)
        np.testing.assert_array_equal(visit.contexts, plain.contexts)
        assert (visit.group, visit.part, visit.arms) == (plain.group, plain.part, plain.arms)


@settings(deadline=None, max_examples=30)
@given(feedback, changes, st.sampled_from([LINEAR, VIDEOS, FILMS]))
def test_all_options_together_make_a_valid_world(options, others, world):
    options = {name: value for name, value in options.items() if world is LINEAR or not isinstance(value, dict)}
    check_world(ModifiedWorld(world, **options, **{k: v for k, v in others.items() if k not in options}))


def test_without_options_the_visits_are_those_of_the_world():
    for plain, visit in both(VIDEOS):
        np.testing.assert_array_equal(visit.rewards, plain.rewards)
        assert visit.contexts.toarray().shape == plain.contexts.toarray().shape
        assert visit.delay == 0
    world = ModifiedWorld(VIDEOS)
    assert (len(world), world.data_source, world.world) == (len(VIDEOS), VIDEOS.data_source, VIDEOS)
    assert ModifiedWorld(LINEAR).data_source == "synthetic data: LinearWorld"


def test_delays_are_fixed_or_drawn_from_a_range():
    assert {visit.delay for visit in ModifiedWorld(LINEAR, delay=7).visits()} == {7}
    assert {visit.delay for visit in ModifiedWorld(LINEAR, delay=[2, 4]).visits()} == {2, 3, 4}
    twice = ModifiedWorld(ModifiedWorld(LINEAR, delay=7), delay=3)
    assert {visit.delay for visit in twice.visits()} == {10}


def test_rewards_are_missing_by_group():
    missing = {"a": [], "b": []}
    for visit in ModifiedWorld(LinearWorld(rounds=3000), missing={"b": 0.3}).visits():
        assert np.isnan(visit.rewards).all() == np.isnan(visit.rewards).any()
        missing[visit.group].append(np.isnan(visit.rewards).all())
    assert np.mean(missing["a"]) == 0
    assert np.mean(missing["b"]) == pytest.approx(0.3, abs=0.04)


def test_missing_rewards_do_not_depend_on_who_comes_next():
    """The world and its modification have the same seed, but not the same random numbers."""
    world = ModifiedWorld({"LinearWorld": {"rounds": 3000, "groups": ["a", "b"]}}, missing=0.5, random_state=3)
    visits = [(visit.group == "a", bool(np.isnan(visit.rewards[0]))) for visit in world.visits()]
    assert abs(np.corrcoef(np.array(visits, float).T)[0, 1]) < 0.06


def test_feedback_is_biased_by_group_and_stays_within_range():
    for plain, visit in both(LINEAR, bias={"a": -0.4}):
        bias = -0.4 if visit.group == "a" else 0.0
        np.testing.assert_array_equal(visit.rewards, np.clip(plain.rewards + bias, 0, 1))


def test_biased_bernoulli_feedback_is_0_or_1_and_has_the_shifted_mean():
    world = LinearWorld(rounds=4000, noise=0.0)
    seen, shifted = [], []
    for plain, visit in both(world, bias=0.1, noise="bernoulli"):
        seen.append(visit.rewards)
        shifted.append(np.clip(plain.expected + 0.1, 0, 1))
    assert set(np.unique(seen)) == {0.0, 1.0}
    assert np.mean(seen) == pytest.approx(np.mean(shifted), abs=0.01)


def test_noise_keeps_means():
    rewards = [
        visit.rewards - plain.rewards for plain, visit in both(LinearWorld(rounds=3000, noise=0.0), noise=0.2)
    ]
    assert np.mean(rewards) == pytest.approx(0, abs=0.005)
    assert np.std(rewards) > 0.1


def test_gaussian_noise_needs_rewards_between_0_and_1():
    """It would be without effect: noise that keeps 0 and 1 in range and their means unchanged is 0."""
    clicks = ModifiedWorld(LinearWorld(rounds=2000), missing=0.5, noise="bernoulli")
    message = r"where all rewards of the first 100 rounds are 0 or 1, .*, got 0\.1; use bias with noise='berno"
    with pytest.raises(ValueError, match=message):
        ModifiedWorld(clicks, noise=0.1)
    ModifiedWorld(clicks, noise=0.0)
    # Bias comes before noise, and makes room for it.
    assert any((visit.rewards != plain.rewards).any() for plain, visit in both(clicks, bias=0.3, noise=0.1))
    # Some ratings are at an end of the scale; the others have noise.
    assert any((visit.rewards != plain.rewards).any() for plain, visit in both(FILMS, noise=0.1))


def test_the_remedy_flips_rewards_at_random():
    clicks = ModifiedWorld(LinearWorld(rounds=2000), noise="bernoulli")
    pairs = [(plain.rewards, visit.rewards) for plain, visit in both(clicks, bias=-0.2, noise="bernoulli")]
    plain, seen = (np.concatenate(rewards) for rewards in zip(*pairs, strict=True))
    assert seen[plain == 1].mean() == pytest.approx(0.8, abs=0.02)
    assert not seen[plain == 0].any()


def test_preferences_turn():
    for number, (plain, visit) in enumerate(both(LINEAR, drift=0.5)):
        if number < 100:
            np.testing.assert_array_equal(visit.expected, plain.expected)
            continue
        assert visit.expected[plain.expected.argmax()] == plain.expected.min()
        assert visit.expected[plain.expected.argmin()] == plain.expected.max()
        # Each reward moves with its mean.
        pairs = sorted(zip(plain.expected, plain.rewards, strict=True))
        assert sorted(zip(visit.expected, visit.rewards, strict=True)) == pairs
        assert np.array_equal(np.argsort(visit.expected), np.argsort(plain.expected)[::-1])


@pytest.mark.parametrize("world", [LINEAR, VIDEOS, FILMS], ids=["matrix", "offer", "changing arms"])
def test_arms_come_and_go(world):
    seen = {}
    numbers = []
    for number, (plain, visit) in enumerate(both(world, present=0.4, period=20)):
        ids = list(range(len(plain.expected))) if plain.arms is None else list(plain.arms)
        places = [ids.index(arm) for arm in visit.arms]
        assert len(places) >= 1
        np.testing.assert_array_equal(np.asarray(visit.contexts), np.asarray(plain.contexts)[places])
        np.testing.assert_array_equal(visit.expected, plain.expected[places])
        np.testing.assert_array_equal(visit.rewards, plain.rewards[places])
        numbers.append(len(places) / len(ids))
        for arm in ids:
            seen.setdefault(arm, []).append((number, arm in visit.arms))
    assert np.mean(numbers) == pytest.approx(0.4, abs=0.1)
    for rounds in seen.values():  # nobody stays, nobody is gone for good
        assert {here for _, here in rounds} == {False, True}


def test_one_arm_is_always_on_offer():
    for visit in ModifiedWorld(LinearWorld(n_arms=2, rounds=50), present=0.0).visits():
        assert len(visit.arms) == 1


def test_arms_of_sparse_matrices_come_and_go():
    contexts = scipy.sparse.coo_array(np.eye(3))
    visit = Visit(contexts, "a", np.full(3, 0.5), np.full(3, 0.5), ("x", "y", "z"))
    world = ModifiedWorld(ScriptedWorld([visit] * 10), present=0.4, period=5)
    check_world(world)
    for each in world.visits():
        rows = [("x", "y", "z").index(arm) for arm in each.arms]
        np.testing.assert_array_equal(each.contexts.toarray(), np.eye(3)[rows])


def test_groups_are_looked_up_among_all_attributes():
    world = ModifiedWorld(FILMS, missing={"female": 1.0, 21: 1.0})
    for visit in world.visits():
        lost = visit.group["sex"] == "female" or visit.group["age"] == 21
        assert np.isnan(visit.rewards).all() == lost


def test_a_world_can_be_given_by_name():
    by_name = ModifiedWorld({"LinearWorld": {"rounds": 20}}, delay=3, random_state=5)
    by_path = ModifiedWorld({"fairbandits.worlds.synthetic:LinearWorld": {"rounds": 20}}, delay=3, random_state=5)
    given_world = ModifiedWorld(LinearWorld(rounds=20, random_state=5), delay=3, random_state=5)
    for visits in zip(*(world.visits() for world in (by_name, by_path, given_world)), strict=True):
        assert len({visit.rewards.tobytes() for visit in visits}) == 1
    run = Run(LinUCB, ModifiedWorld, 5, {}, {"world": {"LinearWorld": {"rounds": 20}}, "delay": 3})
    assert run.simulate().to_bytes() == simulate(run.make_policy(), by_name).to_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"world": 3}, r"world must have the methods __len__\(\) and visits\(\), got a int"),
        ({"world": {"Mars": {}}}, "world 'Mars' cannot be imported: "),
        ({"world": {"nowhere:Mars": {}}}, "world 'nowhere:Mars' cannot be imported: "),
        ({"world": {"LinearWorld": {}, "Mars": {}}}, "world must have the methods .*, got a dict"),
        ({"world": {"LinearWorld": {"size": 3}}}, "world 'LinearWorld' does not take these parameters: .*'size'"),
        ({"delay": -1}, "delay must be an integer of at least 0, got -1"),
        ({"delay": [5, 2]}, "delay must be an integer of at least 5, got 2"),
        ({"delay": "long"}, "delay must be an integer of at least 0, got 'long'"),
        ({"missing": 1.5}, "missing must be a number from 0 to 1, got 1.5"),
        ({"missing": {"a": -1}}, r"missing\['a'\] must be a number from 0 to 1, got -1"),
        ({"missing": {"c": 0.5}}, "missing must name groups of the world, got 'c'; the groups are a, b"),
        ({"bias": 2}, "bias must be a number from -1 to 1, got 2"),
        ({"bias": {"z": 0.1}}, "bias must name groups of the world, got 'z'; the groups are a, b"),
        ({"noise": "loud"}, "noise must be a number of at least 0, got 'loud'"),
        ({"drift": 2}, "drift must be a number from 0 to 1, got 2"),
        ({"present": -0.1}, "present must be a number from 0 to 1, got -0.1"),
        ({"period": 1}, "period must be an integer of at least 2, got 1"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ModifiedWorld(**{"world": LINEAR, **options})


def test_drift_needs_known_means():
    replayed = ReplayWorld(uniform_log(), arm="shown", reward="click", group="sex")
    with pytest.raises(ValueError, match="drift must be None if the mean rewards of some arms are unknown"):
        list(ModifiedWorld(replayed, drift=0.5).visits())


def test_delays_of_the_world_add_up():
    late = ScriptedWorld([replace(visit, delay=2) for visit in LinearWorld(rounds=3).visits()])
    assert [visit.delay for visit in ModifiedWorld(late, delay=1).visits()] == [3, 3, 3]


@pytest.mark.parametrize("options", [{"bias": 0.1}, {"bias": {"a": -0.1}}, {"noise": 0.1}, {"noise": "bernoulli"}])
def test_rewards_outside_the_range_are_not_cut_off(options):
    class Stars(LinearWorld):
        def visits(self):
            for visit in super().visits():
                yield replace(visit, rewards=5 * visit.rewards)

    with pytest.raises(ValueError, match="rewards must be from 0 to 1 if bias or noise is set, got "):
        list(ModifiedWorld(Stars(rounds=50), **options).visits())
    assert max(visit.rewards.max() for visit in ModifiedWorld(Stars(rounds=50), missing=0.1).visits()) > 1


def test_a_group_may_be_absent_from_another_seed():
    ModifiedWorld({"LinearWorld": {"rounds": 50}}, missing={"c": 0.5}, random_state=1)
    with pytest.raises(ValueError, match="missing must name groups of the world, got 'c'"):
        ModifiedWorld({"LinearWorld": {"rounds": 50}}, missing={"c": 0.5}, random_state=0)


def test_without_any_arm_in_its_time_the_next_one_is_on_offer():
    rhythm = ArmRhythm(present=0.1, period=10, start=0.0)
    # The phases are 0 and 0.618: the arms come in rounds 0 and 4.
    assert [rhythm.places(round_, ("a", "b")).tolist() for round_ in (0, 2, 5, 9)] == [[0], [1], [0], [0]]
