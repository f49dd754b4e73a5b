"""FairGreedy: the paper's estimates, written out, and what it does with slates, files and stored decisions."""

import json
import math

import numpy as np
import pytest
from scipy import sparse

from fairbandits import Decision, FairGreedy
from fairbandits.testing import check_policy
from tests.helpers import contexts_for


class TextbookFairGreedy:
    """Ridge regression on the first half of the rounds, empirical distribution functions on the second."""

    def __init__(self, ridge, growth, memory, groups):
        self.ridge, self.growth, self.memory, self.groups = ridge, growth, memory, groups
        self.rounds = []  # the contexts of all arms, the arms, the index that was picked, the reward
        self.renewed = 0

    def ranks(self, contexts, arms):
        n = len(self.rounds)
        if self.renewed == 0 or n >= self.renewed + max(1, math.ceil(self.growth * self.renewed)):
            self.renewed = n
        first = self.rounds[: self.renewed // 2]
        oldest = self.renewed // 2 if self.memory is None else max(self.renewed // 2, self.renewed - self.memory)
        second = self.rounds[oldest:]
        width = len(contexts[0])
        gram, moment = self.ridge * np.eye(width), np.zeros(width)
        for offered, _, index, reward in first:
            gram += np.outer(offered[index], offered[index])
            moment += reward * offered[index]
        theta = np.linalg.solve(gram, moment)
        ranks = []
        for x, arm in zip(contexts, arms, strict=True):
            own = [
                theta @ offered[j] <= theta @ x + 1e-10
                for offered, others, _, _ in second
                for j in range(len(others))
                if self.groups.get(others[j], others[j]) == self.groups.get(arm, arm)
            ]
            ranks.append(sum(own) / len(own) if own else 0.5)
        return np.array(ranks)


def dense(rng, n):
    return rng.normal(size=(n, 4))


def one_hot(rng, n):
    contexts = np.zeros((n, 12))
    contexts[:, rng.integers(5)] = 1.0
    contexts[np.arange(n), 5 + rng.integers(7, size=n)] = 1.0
    return contexts


@pytest.mark.parametrize("contexts_of", [dense, one_hot])
@pytest.mark.parametrize(("growth", "memory"), [(0.0, None), (0.0, 7), (0.3, None), (0.3, 11)])
@pytest.mark.parametrize("groups", [{}, {"a": "f", "b": "m", "c": "f"}])
def test_agrees_with_the_textbook(contexts_of, growth, memory, groups):
    rng = np.random.default_rng(1)
    policy = FairGreedy(arm_groups=list(groups.items()), growth=growth, memory=memory, ridge=0.1, random_state=0)
    textbook = TextbookFairGreedy(0.1, growth, memory, groups)
    for t in range(150):
        arms = ["a", "b", "c", "d"][: 3 + t % 2]
        contexts = contexts_of(rng, len(arms))
        expected = textbook.ranks(contexts, arms)
        decision = policy.choose(contexts if t % 3 else sparse.csr_array(contexts), None, arms)
        np.testing.assert_allclose(decision.scores.total, expected, rtol=1e-9, atol=1e-9, err_msg=f"round {t}")
        assert expected[decision.index] == expected.max()
        contexts_then = contexts.copy()
        contexts[:] = np.nan  # decisions do not share the caller's memory
        reward = float(rng.random())
        policy.learn(decision, reward)
        textbook.rounds.append((contexts_then, arms, decision.index, reward))


@pytest.mark.parametrize(
    "policy", [FairGreedy(), FairGreedy(arm_groups=[(0, "f"), (1, "m")], growth=0.0, memory=None)]
)
def test_conformance(policy):
    check_policy(policy)


def test_agrees_with_the_textbook_where_arms_come_and_many_rounds_follow_a_renewal():
    rng = np.random.default_rng(2)
    policy = FairGreedy(growth=5.0, memory=1, ridge=0.1, random_state=0)
    textbook = TextbookFairGreedy(0.1, 5.0, 1, {})
    for t in range(400):
        # A new arm every 20 rounds; with two candidates, a group is full 64 rounds after a renewal.
        arms = ["a", f"arm {t // 20}"]
        contexts = dense(rng, 2)
        expected = textbook.ranks(contexts, arms)
        decision = policy.choose(contexts, arms=arms)
        np.testing.assert_allclose(decision.scores.total, expected, rtol=1e-9, atol=1e-9, err_msg=f"round {t}")
        reward = float(rng.random())
        policy.learn(decision, reward)
        textbook.rounds.append((contexts, arms, decision.index, reward))


def test_every_group_is_chosen_equally_often_whatever_its_rewards():
    rng = np.random.default_rng(0)
    policy = FairGreedy(arm_groups=[("low", 0), ("high", 1)], random_state=0)
    theta, picked = np.array([0.3, 0.2, 0.4]), []
    for _ in range(1500):
        contexts = np.column_stack([rng.random((2, 2)), [0.0, 1.0]])
        decision = policy.choose(contexts, arms=["low", "high"])
        policy.learn(decision, float(np.clip(contexts[decision.index] @ theta + 0.05 * rng.normal(), 0, 1)))
        picked.append(decision.arm)
    assert abs(picked[500:].count("low") / 1000 - 0.5) < 0.06


def test_rewards_in_other_units_lead_to_the_same_arms():
    def arms_in(low, high):
        rng, policy = np.random.default_rng(0), FairGreedy(reward_range=(low, high), random_state=0)
        arms = []
        for _ in range(60):
            decision = policy.choose(contexts_for(rng))
            policy.learn(decision, low + (high - low) * rng.random())
            arms.append(decision.arm)
        return arms

    assert arms_in(0.0, 1.0) == arms_in(-2.0, 3.0)


def test_many_users_and_eligible_arms_are_remembered_as_one_by_one():
    together, alone = (FairGreedy(growth=0.0, random_state=0) for _ in range(2))
    rng = np.random.default_rng(0)
    contexts = np.array([contexts_for(rng) for _ in range(6)])
    eligible = [None, [0, 1, 2], [3, 4], None, [0, 1, 2], [5]]
    for _ in range(3):
        many = together.choose_many(contexts, eligible=eligible)
        single = [alone.choose(c, eligible=e) for c, e in zip(contexts, eligible, strict=True)]
        assert list(many.picked) == [decision.arm for decision in single]
        together.learn_many(list(many), [0.1, 0.9, 0.3, 0.5, 0.2, 0.8])
        alone.learn_many(single, [0.1, 0.9, 0.3, 0.5, 0.2, 0.8])
    ours, theirs = (policy.score(contexts).total for policy in (together, alone))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_slates_rank_candidates_and_remember_all_of_them():
    policy = FairGreedy(growth=0.0, random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        slate = policy.choose(contexts_for(rng), k=3)
        ranks = slate.scores.total[list(slate.indices)]
        assert (np.diff(ranks) <= 1e-12).all()
        policy.learn(slate, [0.2, None, 0.9])
    assert policy.rounds_learned == 20


def test_stored_decisions_teach_theta_but_not_the_ranks():
    whole, stored = (FairGreedy(growth=0.0, random_state=0) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(10):
        contexts, reward = contexts_for(rng), float(rng.random())
        first = whole.choose(contexts)
        whole.learn(first, reward)
        values = json.loads(json.dumps(stored.choose(contexts[[first.index]], arms=[first.arm]).to_dict()))
        stored.learn(Decision.from_dict({**values, "n_arms": 6}), reward)
    np.testing.assert_allclose(stored.coefficients(), whole.coefficients(), rtol=1e-12)
    assert len(whole.candidates.arrays()["sizes"]) == 5
    assert len(stored.candidates.arrays()["sizes"]) == 0


def test_a_log_of_a_service_cannot_be_replayed():
    with pytest.raises(ValueError, match="FairGreedy cannot replay"):
        FairGreedy().replay(0.5, (), [])


def test_a_damaged_history_is_refused():
    policy = FairGreedy(random_state=0)
    for seed in range(4):
        policy.learn(policy.choose(contexts_for(np.random.default_rng(seed))), 0.5)
    names, arrays = policy.candidates.to_json(), policy.candidates.arrays()
    with pytest.raises(ValueError, match=r"candidates must have \[\d+, \d+\] groups and positions, got"):
        policy.candidates.restore(names, {**arrays, "values": arrays["values"][:-1]})
    model = policy.reward_model
    with pytest.raises(ValueError, match=r"contexts has shape \(2, 9\), for 2 rewards"):
        model.restore({**model.arrays(), "contexts": np.zeros((2, 9))})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"arm_groups": ["ann"]}, r"arm_groups must be pairs of an arm and its group, or None, got \['ann'\]"),
        ({"arm_groups": [("a", "f"), ("a", "m")]}, r"arm_groups must have one group per arm, got an arm twice"),
        ({"growth": -0.1}, r"growth must be a number of at least 0, got -0.1"),
        ({"memory": 0}, r"memory must be a positive integer or None, got 0"),
        ({"memory": 2.5}, r"memory must be a positive integer or None, got 2.5"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        FairGreedy(**params)


def test_parameters_can_change_until_something_is_learned():
    policy = FairGreedy(random_state=0).set_params(arm_groups=[("a", "f")], memory=3, growth=0.0)
    policy.learn(policy.choose(np.eye(2), arms=["a", "b"]), 0.5)
    assert policy.candidates.to_json() == ["f", "b"]
    with pytest.raises(ValueError, match="memory cannot be changed after learning"):
        policy.set_params(memory=5)
