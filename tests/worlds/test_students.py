"""The students-and-videos world, against the facts of the paper's experiment."""

from collections import Counter

import numpy as np
import pytest

from fairbandits.testing import check_world
from fairbandits.worlds import StudentsAndVideos, World
from fairbandits.worlds.datasets import loading
from fairbandits.worlds.features import CONTEXT_COLUMNS

COLUMN = {name: number for number, name in enumerate(CONTEXT_COLUMNS)}


def make(source="stand-in", **parameters):
    return StudentsAndVideos(**{"train": 40, "test": 20, "data": source} | parameters)


def groups(world, part=None):
    return [visit.group for visit in world.visits() if part in {None, visit.part}]


def test_the_world_has_the_size_of_the_papers_experiment(source):
    world = StudentsAndVideos(data=source)
    assert isinstance(world, World)
    assert (len(world), world.n_arms, len(world.columns)) == (5_000, 100, 134)
    assert Counter(groups(world, "train")) == {"male": 1_500, "female": 1_500}
    assert Counter(groups(world, "test")) == {"male": 1_000, "female": 1_000}
    assert Counter(arm[0] for arm in world.arms) == {"m": 30, "f": 70}
    assert world.arms[:2] == ("m00", "m01")
    assert world.arms[-1] == "f69"


def test_no_student_is_drawn_twice(source):
    world = StudentsAndVideos(data=source)
    assert len(set(world._student_of_round)) == 5_000


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"reward": "r2", "order": "males_first"},
        {"sensitive": "race", "noise": 0.2},
        {"sensitive": ("sex", "race")},
        {"male_videos": 1, "female_videos": 0, "train": 0},
    ],
)
def test_the_world_passes_check_world(source, parameters):
    check_world(make(source, **parameters))


def test_the_reward_is_the_papers_formula(source):
    for visit in make(source).visits():
        row = np.asarray(visit.contexts)
        match = row[:, COLUMN["match"]]
        same = (row[:, COLUMN["speaker=Male"]] == 1) == (visit.group == "male")
        assert (match == same).all()
        number = 1 + 15 * row[0, COLUMN["education-num"]]
        level = np.searchsorted([4, 8, 9, 10], round(number)) / 4
        rating = (visit.expected - 0.4 * level - 0.3 * match) / 0.3
        assert np.allclose(rating * 5, np.rint(rating * 5))
        # A rating of n whole stars lies in the bin that ends at n, or in the next one.
        bins = row[:, COLUMN["video-rate=0-1"] : COLUMN["video-rate=4-5"] + 1].argmax(axis=1)
        assert set(np.rint(rating * 5) - bins) <= {0, 1}


def test_the_second_reward_does_not_depend_on_the_match(source):
    one, two = make(source, male_videos=1, female_videos=0), make(source, male_videos=0, female_videos=1)
    for male, female in zip(one.visits(), two.visits(), strict=True):
        assert abs(male.expected - female.expected) == pytest.approx(0.3)
    one, two = (
        make(source, male_videos=male, female_videos=1 - male, reward="r2", random_state=3) for male in (1, 0)
    )
    for male, female in zip(one.visits(), two.visits(), strict=True):
        assert male.expected == female.expected


def test_groups_agree_with_the_contexts(source):
    for visit in make(source, sensitive=["race", "sex"]).visits():
        assert list(visit.group) == ["race", "sex"]
        assert np.asarray(visit.contexts)[0, COLUMN[f"race={visit.group['race']}"]] == 1
        assert np.asarray(visit.contexts)[0, COLUMN[f"sex={visit.group['sex'].capitalize()}"]] == 1


def test_the_sexes_are_balanced_only_where_sex_is_sensitive():
    visits = make(sensitive="race", train=2_000).visits()
    sexes = [np.asarray(visit.contexts)[0, COLUMN["sex=Male"]] for visit in visits]
    assert 0.63 < np.mean(sexes) < 0.71  # two thirds of all students are male
    sexes = Counter(group["sex"] for group in groups(make(sensitive=("race", "sex"))))
    assert sexes == {"male": 30, "female": 30}


@pytest.mark.parametrize(("order", "first"), [("females_first", "female"), ("males_first", "male")])
def test_the_order_of_the_training_part(order, first):
    world = make(order=order)
    train, test = groups(world, "train"), groups(world, "test")
    assert set(train[:20]) == {first}
    assert set(train[20:]) == {"male", "female"} - {first}
    assert test != sorted(test)
    assert test != sorted(test, reverse=True)


def test_odd_and_large_sizes():
    assert Counter(groups(make(train=3, test=1))) == {"male": 3, "female": 1}
    world = make(train=40_000, test=5, male_videos=2, female_videos=0)
    assert Counter(groups(world)) == {"male": 20_003, "female": 20_002}
    assert make(male_videos=2_000).n_arms == 2_070
    assert make(male_videos=2_000).arms[:1] == ("m0000",)


def test_the_random_state_determines_the_world():
    def total(state):
        visits = make(random_state=state).visits()
        return sum(np.asarray(visit.contexts).sum() + visit.rewards.sum() for visit in visits)

    assert total(1) == total(1)
    assert total(1) != total(2)
    assert total(np.random.default_rng(1)) == total(1)
    assert total(None) != total(None)


def test_noise_keeps_rewards_in_range_and_their_means():
    world = make(noise=0.3, train=2_000)
    noise = []
    for visit in world.visits():
        assert (visit.rewards >= 0).all()
        assert (visit.rewards <= 1).all()
        noise.append(visit.rewards - visit.expected)
    assert np.std(noise) > 0.1
    assert abs(np.mean(noise)) < 0.002


def test_shared_rewards_are_read_only():
    visit = next(make().visits())
    with pytest.raises(ValueError, match="read-only"):
        visit.expected[0] = 1


def test_data_source_names_the_data(source):
    line = make(source).data_source
    if source == "stand-in":
        assert line.startswith("STAND-IN data: synthetic rows with the counts of UCI Adult and SFU YouTube")
    else:
        assert line == "real data: UCI Adult, SFU YouTube 2007-03-02"


def test_data_source_names_real_and_stand_in_data(real_folder, tmp_path, monkeypatch):
    monkeypatch.setenv(loading.VARIABLE, str(tmp_path))
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult/adult.data").symlink_to(real_folder / "adult/adult.data")
    line = make("auto").data_source
    assert line.startswith("real data: UCI Adult; STAND-IN data: synthetic rows with the counts of SFU YouTube")


def test_the_repr_can_be_evaluated():
    text = repr(make(sensitive=("sex", "race")))
    assert text.startswith("StudentsAndVideos(male_videos=30, female_videos=70, reward='r'")
    assert repr(eval(text)) == text  # noqa: S307


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"male_videos": -1}, r"male_videos must be an integer of at least 0, got -1"),
        ({"female_videos": 1.5}, r"female_videos must be an integer of at least 0, got 1\.5"),
        ({"male_videos": 0, "female_videos": 0}, r"male_videos \+ female_videos must be at least 1, got 0"),
        ({"train": True}, r"train must be an integer of at least 0, got True"),
        ({"test": "many"}, r"test must be an integer of at least 0, got 'many'"),
        ({"train": 0, "test": 0}, r"train \+ test must be at least 1 round, got 0"),
        ({"reward": "r3"}, r"reward must be one of 'r', 'r2', 'match_half', 'curved', got 'r3'"),
        ({"order": ["shuffled"]}, r"order must be one of 'shuffled', 'females_first', .*, got \['shuffled'\]"),
        ({"noise": -0.1}, r"noise must be a number of at least 0, got -0\.1"),
        ({"noise": float("nan")}, r"noise must be a number of at least 0, got nan"),
        ({"noise": float("inf")}, r"noise must be a number of at least 0, got inf"),
        ({"sensitive": "age"}, r"sensitive must be one of 'sex', 'race', got 'age'"),
        ({"sensitive": ()}, r"sensitive must be 'sex', 'race', 'sex x race' or \('sex', 'race'\), got \(\)"),
        ({"sensitive": ("sex", "sex")}, r"sensitive must be .*, got \('sex', 'sex'\)"),
        ({"sensitive": None}, r"sensitive must be .*, got None"),
        (
            {"sensitive": "race", "shares": {"Blue": 0.1}},
            r"shares must name groups of the data, got 'Blue'; the groups are Amer-Indian-Eskimo, .*, White",
        ),
        ({"shares": {"male": 1.2}}, r"shares\['male'\] must be a number from 0 to 1, got 1.2"),
        ({"shares": {"male": 0.6, "female": 0.6}}, r"shares must sum to 1, got 1.2"),
        ({"shares": {"male": 0.3, "female": 0.3}}, r"shares must sum to 1, got 0.6"),
        ({"sensitive": "race", "shares": {"Black": 0.7, "Other": 0.7}}, r"shares must sum to at most 1, got 1.4"),
        ({"sensitive": ("sex",), "shares": {"male": 0.3}}, r"shares must be None if sensitive is a sequence"),
        ({"drift": "yes"}, r"drift must be True or False, got 'yes'"),
        ({"source": 3}, r"data must be 'auto', 'local', 'real', 'stand-in' or an existing folder, got 3"),
        (
            {"source": "reel"},
            r"data must be 'auto', 'local', 'real', 'stand-in' or an existing folder, got 'reel'",
        ),
        ({"random_state": -1}, r"random_state must be an integer of at least 0, got -1"),
        ({"random_state": "x"}, r"random_state must be an integer of at least 0, got 'x'"),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters)


def test_shares_set_the_size_of_groups(source):
    shares = {"Amer-Indian-Eskimo": 0.02, "Other": 0.02, "Black": 0.3}
    world = make(source, sensitive="race", shares=shares, train=300, test=100)
    for part, size in (("train", 300), ("test", 100)):
        counts = Counter(groups(world, part))
        assert sum(counts.values()) == size
        assert {name: counts[name] / size for name in shares} == shares
        assert counts["White"] > counts["Asian-Pac-Islander"] > 0
    check_world(world)
    minority = make(source, shares={"male": 0.02}, train=0, test=200)
    assert Counter(groups(minority)) == {"female": 196, "male": 4}
    both = make(source, sensitive="sex x race", shares={"female Black": 1.0})
    assert set(groups(both)) == {"female Black"}


def test_half_of_the_reward_is_the_match():
    world = make(reward="match_half")
    for visit in world.visits():
        match = np.asarray(visit.contexts)[:, COLUMN["match"]] == 1
        assert visit.expected[match].min() >= 0.5 > visit.expected[~match].max() - 1e-9
    drifting = make(reward="match_half", drift=True)
    last = list(drifting.visits())[-1]
    match = np.asarray(last.contexts)[:, COLUMN["match"]] == 1
    assert last.expected[match].max() <= 0.5
