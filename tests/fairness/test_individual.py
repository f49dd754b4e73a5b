"""Individual fairness: users beside their twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import Catalogue, IndividualGaps, LinUCB, NaiveLinUCB, Uniform, twin_rewards
from fairbandits.policies.twins import reward_of_best
from fairbandits.simulate import individual_gaps, simulate
from fairbandits.worlds import LinearWorld, StudentsAndVideos

SMALL = {"male_videos": 6, "female_videos": 4, "train": 60, "test": 40, "data": "stand-in"}
REWARDS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(REWARDS)
def test_the_record_is_that_of_the_gaps(pairs):
    own, twin = np.array(pairs).T
    at_once, one_by_one = IndividualGaps(), IndividualGaps()
    at_once.add(own, twin)
    for pair in pairs:
        one_by_one.add(*pair)
    gaps = np.abs(own - twin)
    for record in (at_once, one_by_one):
        assert record.count == len(pairs)
        assert record.largest == gaps.max()
        assert record.mean() == pytest.approx(gaps.mean())
        for share in (0.0, 0.5, 0.9, 1.0):
            truth = np.quantile(gaps, share, method="inverted_cdf")
            assert record.quantile(share) == pytest.approx(truth, abs=1.001e-3)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(REWARDS, REWARDS)
def test_two_records_merged_are_one(first, second):
    ours, theirs, whole = IndividualGaps(), IndividualGaps(), IndividualGaps()
    ours.add(*np.array(first).T)
    theirs.add(*np.array(second).T)
    whole.add(*np.array(first + second).T)
    ours.merge(theirs)
    assert (ours.count, ours.largest) == (whole.count, whole.largest)
    assert ours.mean() == pytest.approx(whole.mean())
    assert ours.mean().high == pytest.approx(whole.mean().high)
    assert ours.quantile(0.7) == pytest.approx(whole.quantile(0.7))


def test_the_interval_covers_the_mean_and_narrows():
    rng = np.random.default_rng(0)
    gaps = IndividualGaps((0.0, 2.0))
    empty = gaps.mean()
    assert (empty, empty.low, empty.high) == (0.0, 0.0, 2.0)
    assert str(gaps) == "no users yet"
    gaps.add(1.0 + 0.2 * rng.random(5000), np.ones(5000))
    mean = gaps.mean()
    assert mean.low < 0.1 < mean.high
    assert mean.high - mean.low < 0.02
    assert gaps.mean(0.5).high < mean.high
    assert str(gaps).startswith("5,000 users: mean gap 0.1")


def test_predictions_beyond_the_rewards_count_as_the_nearest_reward():
    gaps = IndividualGaps()
    gaps.add([1.4, -3.0], [1.2, 0.25])
    gaps.add([], [])
    assert gaps.count == 2
    assert gaps.mean() == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda gaps: gaps.add([0.5, 0.6], [0.5]), r"twin must have one entry per user, got 1 for 2"),
        (lambda gaps: gaps.add(float("nan"), 0.5), "own must be finite numbers, one per user, got nan"),
        (lambda gaps: gaps.add(0.5, [[0.5]]), "twin must be finite numbers, one per user"),
        (lambda gaps: gaps.add(0.5, "much"), "twin must be a number or a list of numbers"),
        (lambda gaps: gaps.quantile(1.5), "share must be a number from 0 to 1, got 1.5"),
        (lambda gaps: gaps.quantile(0.5), "a quantile needs at least one user"),
        (lambda gaps: gaps.merge(IndividualGaps((0, 2))), "must have the same reward_range to merge"),
    ],
)
def test_impossible_records(call, message):
    gaps = IndividualGaps()
    with pytest.raises(ValueError, match=message):
        call(gaps)
    assert gaps.count == 0


def taught_on_videos():
    """A woman's video gives women 0.8 and men 0.2; a man's video gives everybody 0.5."""
    videos = Catalogue(np.eye(2), 2, ["hers", "his"], {"sex": ["female", "male"]})
    policy = LinUCB(alpha=0.0, ridge=1e-3, random_state=0)
    for _ in range(30):
        for user, sex, rewards in (([1, 0], "female", (0.8, 0.5)), ([0, 1], "male", (0.2, 0.5))):
            for arm, reward in zip(videos.arms, rewards, strict=True):
                policy.learn(policy.choose(videos.offer(user, {"sex": sex}, [arm]), sex), reward)
    return policy, videos


def test_predicted_gaps_of_a_catalogues_users():
    policy, videos = taught_on_videos()
    users, sexes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), ["female", "male", "female"]
    others = ["male", "female", "male"]
    offers = videos.offer_many(users, {"sex": sexes}), videos.offer_many(users[:, ::-1], {"sex": others})
    own, twin = twin_rewards(policy, *offers, sexes, others)
    assert own == pytest.approx([0.8, 0.5, 0.8], abs=0.01)
    assert twin == pytest.approx([0.5, 0.8, 0.5], abs=0.01)
    gaps = IndividualGaps(policy.reward_range)
    gaps.add(own, twin)
    assert gaps.mean() == pytest.approx(0.3, abs=0.01)
    own, twin = twin_rewards(policy, offers[0], offers[0])
    assert own.tolist() == twin.tolist()


def test_each_user_has_one_twin():
    policy = LinUCB(random_state=0)
    with pytest.raises(ValueError, match=r"twins must have one entry per user, got 1 for 2"):
        twin_rewards(policy, [np.eye(2), np.eye(2)], [np.eye(2)])
    with pytest.raises(ValueError, match="scores must be finite"):
        reward_of_best(np.array([[np.nan]]), np.zeros((1, 1)))


@pytest.mark.parametrize("sensitive", ["sex", "race", "sex x race", ("sex", "race")])
def test_a_students_twin_differs_in_sex_alone(sensitive):
    world = StudentsAndVideos(**SMALL, sensitive=sensitive, drift=True, noise=0.1)
    columns = np.array(world.columns)
    flipped = {"female": "male", "male": "female"}
    for plain, (visit, twin) in zip(world.visits(), world.twins(), strict=True):
        assert (visit.rewards == plain.rewards).all()
        assert (np.asarray(visit.contexts) == np.asarray(plain.contexts)).all()
        ours, theirs = np.asarray(visit.contexts), np.asarray(twin.contexts)
        assert set(columns[(ours != theirs).any(axis=0)]) == {"sex=Male", "sex=Female", "match"}
        assert (ours[:, -1] == 1 - theirs[:, -1]).all()
        assert np.abs(visit.expected - twin.expected) == pytest.approx(np.full(10, 0.3))
        assert twin.part == visit.part
        if sensitive == "race":
            assert twin.group == visit.group
        elif isinstance(sensitive, tuple):
            assert twin.group == {**visit.group, "sex": flipped[visit.group["sex"]]}
        else:
            sex, *race = visit.group.split(" ")
            assert twin.group == " ".join([flipped[sex], *race])


def test_true_gaps_by_hand():
    world = StudentsAndVideos(**SMALL)
    policy = LinUCB(random_state=0)
    simulate(policy, world)
    before = policy.checksum()
    gaps = individual_gaps(policy, world)
    assert policy.checksum() == before
    by_hand = []
    for visit, twin in world.twins():
        if visit.part == "test":
            pair = []
            for each in (visit, twin):
                total = policy.score(each.contexts, [each.group]).total[0]
                pair.append(each.expected[total >= total.max() - 1e-10].mean())
            by_hand.append(abs(pair[0] - pair[1]))
    assert gaps.count == 40
    assert gaps.mean() == pytest.approx(np.mean(by_hand))
    assert gaps.largest == pytest.approx(max(by_hand))
    assert individual_gaps(policy, world, "train").count == 60


def test_a_policy_that_does_not_look_and_arms_that_do_not_care_leave_no_gap():
    blind = NaiveLinUCB(
        drop=[107 + 25 + 1, *(StudentsAndVideos.columns.index(f"sex={s}") for s in ("Male", "Female"))]
    )
    world = StudentsAndVideos(**SMALL, reward="r2")
    simulate(blind, world)
    assert individual_gaps(blind, world).largest == 0.0
    # Whoever gets any arm gets the mean of all, which leans to the sex with more videos: 0.3 (6 - 4) / 10.
    by_chance = individual_gaps(Uniform(random_state=0), StudentsAndVideos(**SMALL))
    assert by_chance.quantile(0.0) == pytest.approx(0.06)
    assert by_chance.largest == pytest.approx(0.06)


def test_twins_of_a_linear_world():
    world = LinearWorld(groups=("a", "b", "c"), rounds=20)
    following = {"a": "b", "b": "c", "c": "a"}
    for visit, twin in world.twins():
        assert twin.group == following[visit.group]
        assert (visit.contexts[:, :-1] == twin.contexts[:, :-1]).all()
        assert twin.expected == pytest.approx(twin.contexts @ world.theta)


def test_worlds_and_parts_without_twins():
    class Plain:
        def __len__(self):
            return 1

        def visits(self):
            return iter(())

    with pytest.raises(ValueError, match=r"world must have a method twins\(\), got a Plain"):
        individual_gaps(LinUCB(), Plain())
    with pytest.raises(ValueError, match="part must be a part in which LinearWorld has visits, got 'train'"):
        individual_gaps(LinUCB(), LinearWorld(rounds=5), "train")
