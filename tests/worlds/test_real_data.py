"""Worlds of real data: rounds, groups, errors, and whether there is something to learn."""

import sys
from collections import Counter

import numpy as np
import pytest

from fairbandits import LinUCB, Uniform
from fairbandits.simulate import simulate
from fairbandits.testing import check_world
from fairbandits.worlds import AdultIncome, Compas, DataError, DataMissingError, GermanCredit, MovieLens, Warfarin
from fairbandits.worlds.datasets import frames

DATASETS_OF = {
    AdultIncome: ("adult",),
    Compas: ("compas",),
    GermanCredit: ("german",),
    MovieLens: ("movielens-ratings", "movielens-users", "movielens-films"),
    Warfarin: ("warfarin",),
}
WORLDS = [
    (AdultIncome, "sex", {"female", "male"}),
    (AdultIncome, "race", {"Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"}),
    (Compas, "race", {"African-American", "Caucasian", "Hispanic", "Other"}),
    (Compas, "sex", {"female", "male"}),
    (GermanCredit, "sex", {"female", "male"}),
    (GermanCredit, "age", {"up to 25", "over 25"}),
    (MovieLens, "sex", {"female", "male"}),
    (MovieLens, "age", {"under 25", "25 to 34", "35 to 49", "50 and over"}),
    (MovieLens, "occupation", {"student", "writer", "doctor"}),
    (Warfarin, "race", {"White", "Asian", "Black or African American", "unknown"}),
    (Warfarin, "sex", {"female", "male"}),
    (Warfarin, "age", {"under 70", "70 and over"}),
]
by_world_and_group = pytest.mark.parametrize(
    ("world_class", "group", "expected"), WORLDS, ids=[f"{world.__name__}-{group}" for world, group, _ in WORLDS]
)
by_world = pytest.mark.parametrize("world_class", DATASETS_OF, ids=lambda world: world.__name__)


@pytest.fixture
def real(published_folder):
    """Return a function that makes a world of the published data."""

    def make(world_class, **parameters):
        published_folder(*DATASETS_OF[world_class])
        return world_class(data=published_folder.folder, **parameters)

    return make


def draws(world):
    return [(visit.group, tuple(visit.arms), visit.expected.tolist()) for visit in world.visits()]


@by_world_and_group
def test_every_group_of_the_published_data_comes(real, world_class, group, expected):
    world = real(world_class, group=group, rounds=4000)
    found = Counter(visit.group for visit in world.visits())
    assert expected <= set(found)
    assert set(found) - expected <= {None} or group == "occupation"
    assert world.data_source.startswith("real data: ")
    assert any(name.startswith(("sex", "race", "age", "occupation")) for name in world.columns)


@by_world
def test_a_world_of_the_published_data_is_sound(real, world_class):
    check_world(real(world_class, rounds=200))


@by_world
def test_the_stand_in_is_sound_and_says_so(world_class):
    world = world_class(rounds=100, data="stand-in", **({"n_arms": 50} if world_class is MovieLens else {}))
    check_world(world)
    assert world.data_source.startswith("STAND-IN data: synthetic rows with the columns of ")
    assert len(world) == 100


@by_world
def test_the_random_state_decides_who_comes(real, world_class):
    first = draws(real(world_class, rounds=100))
    assert draws(real(world_class, rounds=100)) == first
    assert draws(real(world_class, rounds=100, random_state=1)) != first


@by_world
def test_a_bandit_learns_something(real, world_class):
    """LinUCB beats uniform choices by more than four standard errors."""
    rounds = 4000 if world_class is MovieLens else 1000
    learned, uniform = (
        simulate(policy(random_state=0), real(world_class, rounds=rounds)).expected for policy in (LinUCB, Uniform)
    )
    difference = np.asarray(learned) - np.asarray(uniform)
    assert difference.mean() > 4 * difference.std() / np.sqrt(rounds)


def test_the_right_class_is_the_only_one_with_a_reward(real):
    for visit in real(Warfarin, rounds=50).visits():
        assert sorted(visit.expected) == [0, 0, 1]


def test_rewards_of_films_are_stars(real, published_folder):
    world = real(MovieLens, rounds=300)
    assert len(world.arms) == 300
    found = np.concatenate([visit.expected for visit in world.visits()])
    assert set(found.tolist()) == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert max(len(visit.arms) for visit in world.visits()) == 20


def test_labels_are_no_features(real):
    for world_class in (AdultIncome, Compas, GermanCredit, Warfarin):
        columns = real(world_class, rounds=1).columns
        assert not any(name.startswith(("label", "income", "risk", "dose", "two_year")) for name in columns)
    assert not any("score" in name for name in real(Compas, rounds=1).columns)


def test_german_credit_repeats_its_applicants(real):
    world = real(GermanCredit, rounds=5000)
    contexts = {visit.contexts.toarray().tobytes() for visit in world.visits()}
    # A draw of 5,000 misses seven applicants of 1,000 on average.
    assert 970 < len(contexts) <= 1000


@by_world
def test_unknown_groups_and_sources_are_refused(world_class):
    with pytest.raises(ValueError, match=r"group must be one of .*, got 'shoe size'"):
        world_class(group="shoe size", data="stand-in")
    with pytest.raises(ValueError, match=r"data must be 'auto', 'local', 'real', 'stand-in' or .* got 3"):
        world_class(data=3)
    with pytest.raises(DataError, match=r"data must be .* got 'reel'"):
        world_class(data="reel")
    with pytest.raises(ValueError, match="rounds must be"):
        world_class(rounds=0, data="stand-in")


@by_world
def test_missing_data_is_an_error_that_names_the_place(world_class, monkeypatch):
    monkeypatch.delenv("FAIRBANDITS_DATA", raising=False)
    with pytest.raises(DataMissingError, match=r"Put the file at .* in a folder and set FAIRBANDITS_DATA"):
        world_class()


def test_without_pyarrow_the_remedy_is_named(monkeypatch):
    frames._as_frame.cache_clear()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"worlds of real data need pyarrow; install .*fairbandits\[logs\]"):
        Compas(data="stand-in")
