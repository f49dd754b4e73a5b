"""The served recommender: a policy and its catalogue, as they follow from the log."""

import numpy as np
import pytest

from fairbandits import FairLinUCB
from fairbandits.service.demo import demo_config
from fairbandits.service.log.events import ArmAdded, ArmChanged, ArmRetired, Entry, Rewarded
from fairbandits.service.state.decider import EmptyCatalogueError, decide, new_ids
from fairbandits.service.state.recommender import ServedRecommender
from fairbandits.worlds.datasets.stand_in import stand_in_students
from fairbandits.worlds.features import student_features, video_features
from tests.helpers import as_version
from tests.service.small import USER, small_config, small_recommender

FEATURES, GROUPS = USER["features"], USER["groups"]


def dense(decided, place=0):
    columns, values, _ = decided.contexts[place]
    x = np.zeros(decided.width)
    x[columns] = values
    return x.tolist()


class Log:
    """Entries that are applied as they are added."""

    def __init__(self, recommender):
        self.recommender = recommender
        self.entries = []

    def add(self, event, decided=None):
        entry = Entry(self.recommender.seq + 1, event, decided)
        self.entries.append(entry)
        self.recommender.apply(entry)
        return event

    def decide(self, *args, **how):
        return self.add(decide(self.recommender, *(args or (FEATURES, GROUPS)), **how))

    def reward(self, decided, reward):
        self.add(Rewarded(decided.id, 0.0, reward), decided)


@pytest.fixture
def log():
    return Log(small_recommender())


def test_a_decision_contains_what_learning_and_audits_need(log):
    decided = log.decide(arms=["python"])
    assert decided.picked == ["python"]
    assert dense(decided) == [0.2, 1.0, 0.0, 0.25, 1.0, 1.0]
    assert (decided.at, decided.offered, decided.slate, decided.propensity) == (3, 1, False, 1.0)
    assert (decided.features, decided.groups) == (FEATURES, GROUPS)
    [parts] = decided.scores
    assert parts["total"] == parts["mean"] + parts["exploration"] + parts["fairness"]


def test_contexts_follow_user_and_arm(log):
    french = {"age": None, "language": "fr"}
    assert dense(log.decide(french, {"gender": "male"}, arms=["algèbre"])) == [0.5, 0.0, 1.0, 0.5, 1.0, 0.0]
    assert dense(log.decide(french, {"gender": "male"}, arms=["chess"])) == [0.5, 0.0, 1.0, 1.0, 0.0, 0.0]
    assert dense(log.decide(french, {"gender": None}, arms=["python"])) == [0.5, 0.0, 1.0, 0.25, 0.0, 0.0]


def test_the_contexts_of_the_demo_are_those_of_the_paper(students):
    config = demo_config()
    recommender = ServedRecommender(config)
    for seq, arm in enumerate(config.arms, start=1):
        recommender.apply(Entry(seq, ArmAdded(arm["arm"], 1, 0.0, arm["features"], arm["matches"])))
    people = student_features(stand_in_students())
    for number in (0, 7, 1000, 32_560):
        request = students.request(number)
        decided = decide(recommender, request["features"], request["groups"])
        x = np.array(dense(decided))
        np.testing.assert_array_equal(x[:107], people[number])
        assert x[107:132].sum() == 6
        is_male = decided.picked[0].startswith("m")
        assert x[132] == is_male
        assert x[133] == (is_male == (request["groups"]["sex"] == "Male"))
    assert len(config.columns) == len(x) == 134
    assert video_features is not None


def test_deciding_changes_nothing(log):
    before = log.recommender.checksum()()
    for _ in range(5):
        decide(log.recommender, FEATURES, GROUPS)
        decide(log.recommender, FEATURES, GROUPS, k=2)
    assert log.recommender.checksum()() == before


def test_it_learns_like_the_policy(log):
    policy = FairLinUCB(alpha=0.3, gamma=1, random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        decided = log.decide(FEATURES, {"gender": str(rng.choice(["female", "male"]))})
        decision = policy.choose([dense(decided)], decided.groups, arms=decided.picked)
        reward = float(rng.random())
        log.reward(decided, reward)
        policy.learn(decision, reward)
    assert log.recommender.policy.groups.summaries() == policy.groups.summaries()
    for arm in ("python", "algèbre", "chess"):
        ours, theirs = (each.coefficients(arm) for each in (log.recommender.policy, policy))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_slates(log):
    decided = log.decide(k=2)
    assert decided.slate
    assert len(decided.picked) == len(set(decided.picked)) == len(decided.scores) == len(decided.contexts) == 2
    log.reward(decided, [0.25, None])
    assert log.recommender.policy.groups.means.tolist() == [0.25, 0.25]
    log.reward(log.decide(k=3), 0.75)
    assert log.recommender.policy.groups.means.tolist() == [0.5, 0.5]
    assert log.recommender.policy.rounds_learned == 2


def test_rewards_of_a_retired_arm_count_for_the_groups_alone(log):
    before, after = log.decide(arms=["chess"]), log.decide(arms=["chess"])
    log.reward(before, 1.0)
    log.add(ArmRetired("chess", 2, 0.0))
    assert "chess" not in log.recommender.policy._arms
    log.reward(after, 0.0)
    assert "chess" not in log.recommender.policy._arms
    assert log.recommender.policy.groups.means.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match=r"in the catalogue, got \['chess'\]"):
        log.decide(arms=["chess"])


def test_a_decision_made_before_a_retirement_but_logged_after_it_does_not_teach_the_arm(log):
    decided = decide(log.recommender, FEATURES, GROUPS, arms=["chess"])
    log.add(ArmRetired("chess", 2, 0.0))
    log.add(decided)
    log.reward(decided, 1.0)
    assert "chess" not in log.recommender.policy._arms


def test_an_arm_that_is_added_again_is_new(log):
    old = log.decide(arms=["chess"])
    log.add(ArmRetired("chess", 2, 0.0))
    log.add(ArmAdded("chess", 3, 0.0, {"hours": 0.0}, {}))
    new = log.decide(arms=["chess"])
    log.reward(old, 1.0)
    assert "chess" not in log.recommender.policy._arms
    log.reward(new, 1.0)
    assert "chess" in log.recommender.policy._arms
    assert log.recommender.catalogue.versions["chess"] == 3


def test_a_changed_arm_has_its_new_features_from_then_on(log):
    old = log.decide(arms=["chess"])
    log.add(ArmChanged("chess", 2, 0.0, {"hours": 0}, {"language": "en"}))
    assert dense(log.decide(arms=["chess"])) == [0.2, 1.0, 0.0, 0.0, 1.0, 0.0]
    assert dense(old)[3] == 1.0


def test_without_arms_there_is_nothing_to_recommend():
    with pytest.raises(EmptyCatalogueError, match="there are no arms to recommend"):
        decide(small_recommender(arms=[]), FEATURES, GROUPS)


@pytest.mark.parametrize(
    "policy",
    [
        "FairLinUCB(gamma=2)",
        "EvenLinUCB(model=shared)",
        "LinTS(model=Model(link=logistic))",
        "EpsilonGreedy(epsilon=0.5)",
        "LinUCB(model=Model(kind=hybrid, discount=0.99))",
        'NaiveLinUCB(drop=["match-gender"])',
        "Uniform",
    ],
)
def test_a_snapshot_and_the_rest_of_the_log_give_the_same_checksum(policy):
    log = Log(small_recommender(policy=policy))
    rng = np.random.default_rng(1)
    waiting = []
    for number in range(150):
        waiting.append(
            log.decide(FEATURES, {"gender": str(rng.choice(["female", "male"]))}, k=2 if number % 3 else None)
        )
        if number % 4:
            log.reward(waiting.pop(rng.integers(len(waiting))), float(rng.random()))
        if number == 60:
            log.add(ArmRetired("chess", 2, 0.0))
        if number == 90:
            log.add(ArmAdded("chess", 3, 0.0, {"hours": 1}, {}))
        if number == 75:
            content = log.recommender.snapshot()()
            at = log.recommender.seq
    restored = ServedRecommender(small_config(policy=policy))
    restored.restore(content)
    assert restored.seq == at
    for entry in log.entries:
        if entry.seq > at:
            restored.apply(entry)
    replayed = small_recommender(policy=policy)
    for entry in log.entries:
        replayed.apply(entry)
    checksums = {each.checksum()() for each in (log.recommender, restored, replayed)}
    assert len(checksums) == 1


def test_every_part_of_the_state_is_in_the_checksum(log):
    seen = [log.recommender.checksum()()]
    decided = log.decide()
    seen.append(log.recommender.checksum()())
    log.reward(decided, 0.5)
    seen.append(log.recommender.checksum()())
    log.add(ArmChanged("chess", 2, 0.0, {"hours": 1}, {}))
    seen.append(log.recommender.checksum()())
    log.add(ArmRetired("python", 2, 0.0))
    seen.append(log.recommender.checksum()())
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: b"", lambda c: c[:100] + b"\0" + c[101:]])
def test_a_damaged_snapshot_is_refused(log, damage):
    content = log.recommender.snapshot()()
    fresh = ServedRecommender(small_config())
    with pytest.raises(ValueError, match="the snapshot"):
        fresh.restore(damage(content))
    assert fresh.seq == 0


def test_an_older_snapshot_of_unscaled_rewards_is_refused():
    """So that the follower reads the log instead."""
    log = Log(small_recommender(reward={"low": 0, "high": 5}))
    log.reward(log.decide(), 4.0)
    content = as_version(log.recommender.snapshot()(), "4")
    fresh = ServedRecommender(log.recommender.config)
    with pytest.raises(
        ValueError, match=r"the snapshot: reward_range must be \(0, 1\) in a policy file of version 4"
    ):
        fresh.restore(content)
    assert fresh.policy.rounds_learned == 0


def test_a_snapshot_of_another_policy_is_refused(log):
    other = ServedRecommender(small_config(policy="LinUCB(alpha=0.3)"))
    with pytest.raises(ValueError, match=r"the snapshot must be of LinUCB.*got FairLinUCB"):
        other.restore(log.recommender.snapshot()())


def test_ids_sort_by_time_and_are_unique():
    ids = [each for step in range(100) for each in new_ids(1.7e9 + step, 1)]
    assert ids == sorted(ids)
    assert len({*new_ids(5.0, 1000)}) == 1000
    assert {len(each) for each in ids} == {32}
