"""Several arms at once: which, in which order, with which probability, and what is learned of them."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import EpsilonGreedy, FairLinUCB, LinTS, LinUCB, Scores, Slate, Uniform
from fairbandits.policies.picker import GREEDY
from tests.helpers import contexts_for, teach

GOOD = contexts_for(np.random.default_rng(0))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.data())
def test_the_best_come_first_and_ties_at_random(levels, data):
    k = data.draw(st.integers(1, len(levels)))
    total = np.array(levels, float)
    scores = Scores(total, total, total, total, total)
    picked, probability = GREEDY.slate(scores, k, (), np.random.default_rng(data.draw(st.integers(0, 99))))
    assert total[picked].tolist() == sorted(levels, reverse=True)[:k]
    assert len(set(picked)) == k
    # One order out of all that are equally good.
    left, orders = sorted(levels, reverse=True), 1
    for level in total[picked]:
        orders *= left.count(level)
        left.remove(level)
    assert probability == pytest.approx(1 / orders)


def test_one_arm_in_a_slate_is_the_arm_that_is_chosen_alone():
    for kind in (FairLinUCB, EpsilonGreedy, LinTS, Uniform):
        one, two = (teach(kind(random_state=0))[0] for _ in range(2))
        for seed in range(5):
            contexts = contexts_for(np.random.default_rng(seed))
            decision, slate = one.choose(contexts, "male"), two.choose(contexts, "male", k=1)
            assert isinstance(slate, Slate)
            assert slate.picked == (decision.arm,)
            assert slate.rows[0].dense().tolist() == decision.context.tolist()
            if kind is not LinTS:
                assert slate.probability == pytest.approx(decision.probability)


def test_the_penalty_is_in_the_score_of_every_arm_of_a_slate():
    policy = FairLinUCB(alpha=0.5, gamma=3.0, random_state=0)
    contexts = np.eye(3)
    for arm, male, female in ((0, 0.9, 0.1), (1, 0.5, 0.5), (2, 0.1, 0.4)):
        for group, reward in (("male", male), ("female", female)):
            policy.learn(policy.choose(contexts[[arm]], group, [arm]), reward)
    slate = policy.choose(contexts, "female", k=3)
    # All arms have the same width, and males are ahead: penalties -0.8, 0, +0.3 by hand.
    width = 1 / np.sqrt(3)
    assert slate.scores.width == pytest.approx(np.full(3, width))
    assert slate.scores.fairness == pytest.approx(0.5 * width / 2 * 3.0 * (1 + np.array([-0.8, 0.0, 0.3])))
    assert slate.picked == (1, 2, 0)
    assert slate.picked == tuple(np.argsort(-slate.scores.total))
    without = policy.set_params(gamma=0.0).choose(contexts, "female", k=3)
    assert set(without.picked[:2]) == {0, 1}


def test_the_smallest_width_is_that_of_all_arms_on_offer():
    policy = FairLinUCB(alpha=0.5, gamma=1.0, random_state=0)
    contexts = np.diag([1.0, 0.5, 0.01])
    slate = policy.choose(contexts, "female", k=2)
    assert slate.picked == (0, 1)
    assert slate.scores.fairness == pytest.approx(np.full(3, 0.5 * 0.01 / 2))


def test_epsilon_greedy_picks_each_among_those_left():
    policy = EpsilonGreedy(epsilon=0.3, random_state=0)
    for arm, reward in enumerate((0.9, 0.5, 0.1)):
        policy.learn(policy.choose(np.eye(3)[[arm]], arms=[arm]), reward)
    chance = {slate.picked: slate.probability for slate in (policy.choose(np.eye(3), k=2) for _ in range(200))}
    assert chance[0, 1] == pytest.approx(0.8 * 0.85)
    assert chance[2, 1] == pytest.approx(0.1 * 0.15)
    assert sum(chance.values()) == pytest.approx(1.0)


def test_probabilities_that_have_a_closed_form_and_one_that_has_none():
    assert Uniform(random_state=0).choose(np.eye(4), k=3).probability == pytest.approx(1 / 24)
    assert LinTS(random_state=0).choose(np.eye(4), k=2).probability is None
    assert LinTS(alpha=0.0, random_state=0).choose(np.eye(4), k=2).probability == pytest.approx(1 / 12)


def test_a_reward_for_each_arm():
    policy = LinUCB(random_state=0)
    slate = policy.choose(np.eye(3), "male", ["a", "b", "c"], k=3)
    policy.learn(slate, [0.8, None, 0.2])
    first, nobody, last = slate.picked
    assert policy.coefficients(first).max() == pytest.approx(0.4)
    assert policy.coefficients(nobody).tolist() == [0.0, 0.0, 0.0]
    assert policy.coefficients(last).max() == pytest.approx(0.1)
    (standing,) = policy.groups.summaries()
    assert (standing.count, standing.mean) == (1, 0.5)
    assert policy.groups.arm_means[0, policy._arms.rows[first]] == 0.8
    assert nobody not in policy._arms
    assert policy.rounds_learned == 1


@pytest.mark.parametrize("reward", [0.6, np.float64(0.6), np.array(0.6)])
def test_one_reward_for_the_slate(reward):
    policy = LinUCB(random_state=0)
    slate = policy.choose(np.eye(3), "male", k=2)
    policy.learn(slate, reward)
    for arm in slate.picked:
        assert policy.coefficients(arm)[arm] == pytest.approx(0.3)
        assert policy.groups.arm_means[0, policy._arms.rows[arm]] == 0.6
    (standing,) = policy.groups.summaries()
    assert (standing.count, standing.mean) == (1, 0.6)


def test_rewards_of_slates_and_decisions_together():
    one, two = (LinUCB(random_state=0) for _ in range(2))
    pairs = []
    for policy in (one, two):
        chosen = [policy.choose(np.eye(3), "male", k=2), policy.choose(np.eye(3), "female")]
        pairs.append([*chosen, *policy.choose_many(np.eye(3)[None], k=3)])
    rewards = [np.array([0.1, 0.9]), 0.5, 0.7]
    one.learn_many(pairs[0], iter(rewards))
    for decision, reward in zip(pairs[1], rewards, strict=True):
        two.learn(decision, reward)
    assert one.checksum() == two.checksum()


def test_an_arm_that_was_forgotten_meanwhile_still_counts_for_the_group():
    policy = LinUCB(random_state=0)
    slate = policy.choose(np.eye(2), "male", ["stays", "goes"], k=2)
    policy.forget_arm("goes", missing_ok=True)
    reward = {"stays": 0.2, "goes": 0.8}
    policy.learn(slate, [reward[arm] for arm in slate.picked])
    (standing,) = policy.groups.summaries()
    assert (standing.count, standing.mean) == (1, 0.5)
    assert "goes" not in policy._arms
    assert policy.coefficients("goes").tolist() == [0.0, 0.0]


def test_a_slate_survives_json():
    policy = teach(LinUCB(random_state=0))[0]
    slate = policy.choose(GOOD, {"sex": "male"}, k=3)
    again = Slate.from_dict(json.loads(json.dumps(slate.to_dict())))
    assert again.to_dict() == slate.to_dict()
    assert repr(again) == f"Slate(number=60, picked={list(slate.picked)}, probability=1.0)"


def test_slates_that_make_no_sense():
    policy = teach(LinUCB(random_state=0))[0]
    plain = policy.choose(GOOD, k=2).to_dict()
    row, other = plain["rows"]
    for change in (
        {"picked": [0.5, 1]},
        {"rows": [row]},
        {"rows": [row, other | {"width": 11}]},
        {"rows": [row, other | {"columns": [10] * len(other["columns"])}]},
        {"rows": [row, other | {"columns": [-1] * len(other["columns"])}]},
        {"picked": [], "rows": [], "indices": []},
    ):
        with pytest.raises(ValueError, match=r"values must be those that Slate.to_dict returned"):
            Slate.from_dict({**plain, **change})
    with pytest.raises(ValueError, match=r"values must be those that Slate.to_dict returned"):
        Slate.from_dict({})


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "k must be a positive integer, got 0"),
        (True, "k must be a positive integer, got True"),
        (2.0, "k must be a positive integer, got 2.0"),
        (7, r"k must be at most the 6 arm\(s\) on offer, got 7; offer more, or ask for fewer"),
    ],
)
def test_impossible_sizes(k, message):
    policy = LinUCB()
    for call in (lambda: policy.choose(GOOD, k=k), lambda: policy.choose_many(GOOD[None], k=k)):
        with pytest.raises(ValueError, match=message):
            call()
    assert policy.n_features_in_ is None


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([0.5], r"one entry per arm, in order, .*, got 1 for 2 arm\(s\)"),
        ([0.5, 1.5], "declare its range"),
        ([0.5, float("nan")], "must lie in"),
        ([None, None], "at least one number, got none; do not learn an unseen slate"),
        ({0: 0.5, 1: 0.5}, "in the order of its arms, got a dict"),
        ("ab", "must be a number, got 'ab'"),
        (None, "must be a number, got None"),
    ],
)
def test_impossible_rewards(rewards, message):
    policy = teach(LinUCB(random_state=0))[0]
    slate, decision = policy.choose(GOOD, k=2), policy.choose(GOOD)
    before = policy.checksum()
    with pytest.raises(ValueError, match=message):
        policy.learn(slate, rewards)
    with pytest.raises(ValueError, match=message):
        policy.learn_many([decision, slate], [0.5, rewards])
    assert policy.checksum() == before


def test_a_row_that_float64_cannot_hold_stops_its_slate_and_nothing_is_learned_twice():
    policy = LinUCB(random_state=0)
    contexts = np.array([[1.7e9, 1.7e9, 1.0], [0.0, 0.0, 1.0]])
    slate = policy.choose(contexts, "male", k=2)
    assert slate.picked == (0, 1)
    before = policy.checksum()
    with pytest.raises(ValueError, match="scale the columns to about 1"):
        policy.learn(slate, 0.5)
    assert policy.checksum() == before
    policy.learn(slate, [None, 0.5])
    other = policy.choose(contexts[::-1] * [[9e9], [1.0]], "male", arms=[1, 0], k=2)
    with pytest.raises(ValueError, match="scale the columns to about 1"):
        policy.learn(other, 0.5)
    assert policy.rounds_learned == 2
    with pytest.raises(ValueError, match="has already been learned"):
        policy.learn(other, 0.5)
