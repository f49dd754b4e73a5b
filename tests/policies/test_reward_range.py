"""The same problem in other units of reward: the same arms, and the same regret after rescaling."""

from functools import cache

import numpy as np
import pytest

from fairbandits import (
    CounterfactualLinUCB,
    EqualRegretLinUCB,
    EvenLinUCB,
    FairLinUCB,
    IndividualGaps,
    LinTS,
    LinUCB,
    Policy,
    PolicyFileError,
    PrimalDualLinUCB,
    twin_rewards,
)
from fairbandits.categorical import Categorical
from fairbandits.models import RewardModel
from fairbandits.policies import Picker, SufficientStatistics
from fairbandits.policies.reward_scale import UnitScale
from tests.helpers import POLICIES, as_version, contexts_for, fresh

RANGES = [(1.0, 5.0), (0.0, 128.0), (-1.0, 1.0)]
GROUPS = [{"sex": "female"}, {"sex": "male", "age": 3}, {"sex": "male", "age": 4}, None]


class RunningMeans(RewardModel):
    """A custom model: the mean reward of each arm."""

    def __init__(self, width):
        super().__init__(width)
        self.sums = np.zeros((64, 2))

    def score(self, rows, arms):
        n, total = self.sums[arms, 0], self.sums[arms, 1]
        shape = (rows.n_users, rows.n_arms)
        return np.broadcast_to(total / (1.0 + n), shape).copy(), np.broadcast_to((1.0 + n) ** -0.5, shape).copy()

    def learn(self, arm, row, reward):
        assert 0.0 <= reward <= 1.0
        self.sums[arm] += 1.0, reward

    def arrays(self):
        return {"sums": self.sums}

    def restore(self, arrays):
        self.sums = np.array(arrays["sums"])


class Softmax(Picker):
    def probabilities(self, scores, groups):
        e = np.exp(5.0 * (scores.total - scores.total.max(axis=1, keepdims=True)))
        return e / e.sum(axis=1, keepdims=True)


class SoftmaxUCB(Policy):
    """A custom policy with a custom picker."""

    def terms(self, predictions):
        return 0.7 * predictions.width, 0.0

    @property
    def picker(self):
        return Softmax()


SUBJECTS = {
    **POLICIES,
    "custom model": FairLinUCB(model=RunningMeans),
    "custom picker": SoftmaxUCB(),
    "fixed tolerance": PrimalDualLinUCB(tolerance=0.05),
}


def in_units(policy, reward_range):
    """Return a copy of a policy for rewards of another range."""
    changes = {"reward_range": reward_range, "random_state": 1}
    tolerance = policy.get_params().get("tolerance")
    if tolerance is not None:
        changes["tolerance"] = tolerance * (reward_range[1] - reward_range[0])
    baseline_reward = policy.get_params().get("baseline_reward")
    if baseline_reward is not None:
        changes["baseline_reward"] = reward_range[0] + baseline_reward * (reward_range[1] - reward_range[0])
    return fresh(policy, **changes)


def run(policy, k=None, rounds=80):
    """Return arms, scores on [0, 1], and the regret of a policy in units of reward."""
    low, high = policy.reward_range
    rng = np.random.default_rng(4)
    truth = rng.random((6, 10)) / 2.0
    arms, totals, regret = [], [], 0.0
    for t in range(rounds):
        contexts = contexts_for(rng)
        expected = np.clip((contexts * truth).sum(axis=1), 0.0, 1.0)
        rewards = low + (high - low) * (rng.random(6) < expected)
        decision = policy.choose(contexts, GROUPS[t % len(GROUPS)], k=k)
        totals.append((decision.scores.total - low) / (high - low))
        if k is None:
            policy.learn(decision, rewards[decision.index])
            arms.append(decision.arm)
            regret += (high - low) * (expected.max() - expected[decision.index])
        else:
            policy.learn(decision, [None if i % 5 == 4 else rewards[i] for i in decision.indices])
            arms.append(decision.picked)
    return arms, np.array(totals), regret


@cache
def unit_run(name):
    policy = in_units(SUBJECTS[name], (0.0, 1.0))
    return policy, run(policy)


@pytest.mark.parametrize("reward_range", RANGES)
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_policy_chooses_the_same_arms(name, reward_range):
    span = reward_range[1] - reward_range[0]
    unit, (arms, totals, regret) = unit_run(name)
    other = in_units(SUBJECTS[name], reward_range)
    same_arms, same_totals, same_regret = run(other)
    assert arms == same_arms
    assert same_regret / span == pytest.approx(regret, rel=1e-9)
    if reward_range == (0.0, 128.0):
        np.testing.assert_array_equal(same_totals, totals)
        np.testing.assert_array_equal(other.groups.means / span, unit.groups.means)
    else:
        np.testing.assert_allclose(same_totals, totals, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((other.groups.means - reward_range[0]) / span, unit.groups.means, atol=1e-12)
    assert other.groups.gap() / span == pytest.approx(float(unit.groups.gap()), rel=1e-9)
    for record, theirs in zip(unit.records().values(), other.records().values(), strict=True):
        np.testing.assert_allclose(theirs.means / span, record.means, atol=1e-12)


@pytest.mark.parametrize("name", SUBJECTS)
def test_slates_and_batches_are_the_same(name):
    unit, other = (in_units(SUBJECTS[name], each) for each in ((0.0, 1.0), (1.0, 5.0)))
    assert run(unit, k=3, rounds=25)[0] == run(other, k=3, rounds=25)[0]
    contexts = np.stack([contexts_for(np.random.default_rng(seed)) for seed in range(9)])
    groups = [GROUPS[i % 4] for i in range(9)]
    ours, theirs = (policy.choose_many(contexts, groups) for policy in (unit, other))
    assert ours.picked == theirs.picked
    np.testing.assert_allclose(
        [p or 0.0 for p in ours.probability], [p or 0.0 for p in theirs.probability], atol=1e-9
    )
    np.testing.assert_allclose(
        *(policy.probabilities(contexts, groups, draws=5) for policy in (unit, other)), atol=1e-9
    )


@pytest.mark.parametrize("name", [name for name, policy in SUBJECTS.items() if not policy.records()])
def test_logged_rewards_are_learned_alike(name):
    rng = np.random.default_rng(2)
    contexts, arms, rewards = rng.random((60, 10)), rng.integers(6, size=60), rng.random(60)
    groups = {"sex": Categorical(rng.integers(2, size=60), ["female", "male"])}
    policies = []
    for low, high in ((0.0, 1.0), (1.0, 5.0)):
        policy = in_units(SUBJECTS[name], (low, high))
        scaled = low + (high - low) * rewards
        policy.learn_logged(
            contexts[:30], Categorical(arms[:30], list(range(6))), scaled[:30], groups_of(groups, 30)
        )
        if policy.is_additive:
            statistics = SufficientStatistics(policy)
            statistics.add(
                contexts[30:], Categorical(arms[30:], list(range(6))), scaled[30:], groups_of(groups, -30)
            )
            policy.learn_statistics(statistics)
        policy.replay(
            float(scaled[0]), (("sex", "male"),), [(2, policy.choose(contexts[:1]).row, float(scaled[0]))]
        )
        policies.append(policy)
    unit, other = (policy.score(contexts[:6][None], ["female"]) for policy in policies)
    np.testing.assert_allclose((other.total - 1.0) / 4.0, unit.total, rtol=1e-9, atol=1e-9)


def groups_of(groups, n):
    part = slice(0, n) if n > 0 else slice(n, None)
    return {name: Categorical(column.codes[part], column.labels) for name, column in groups.items()}


def test_the_best_arm_is_found_on_a_scale_of_one_to_five():
    """Five arms on a scale of 1 to 5: exploration must not end before the best one was tried."""
    means = np.array([0.1, 0.2, 0.05, 0.15, 0.95])

    def rewards_of(reward_range, seed):
        low, high = reward_range
        policy = LinUCB(reward_range=reward_range, random_state=seed)
        rng = np.random.default_rng(seed)
        arms, total = [], 0.0
        for _ in range(300):
            decision = policy.choose(np.ones((5, 1)))
            reward = float(np.clip(means[decision.arm] + 0.05 * rng.standard_normal(), 0.0, 1.0))
            policy.learn(decision, low + (high - low) * reward)
            arms.append(decision.arm)
            total += reward
        return arms, total / 300

    for seed in range(20):
        arms, mean = rewards_of((0.0, 1.0), seed)
        others, same_mean = rewards_of((1.0, 5.0), seed)
        assert 4 in others
        assert others == arms
        assert same_mean == pytest.approx(mean, rel=1e-12)
        assert same_mean > 0.9


def test_ties_do_not_depend_on_the_units():
    """Scores that differ by a millionth of the range are no tie, however large or small the range."""
    contexts = np.array([[1.0], [1.0 - 1e-6]])
    for reward_range in ((0.0, 1.0), (0.0, 1e-9), (1e4, 1e4 + 1.0), (0.0, 1e9)):
        policy = LinUCB(alpha=1.0, reward_range=reward_range, random_state=0)
        assert [policy.choose(contexts).arm for _ in range(8)] == [0] * 8
        own, twin = twin_rewards(policy, [contexts], [contexts])
        assert own == twin


def test_coefficients_are_those_of_rewards_on_the_unit_scale():
    policy = LinUCB(reward_range=(1, 5), random_state=0)
    policy.learn(policy.choose([[1.0]]), 5.0)
    assert policy.coefficients(0).tolist() == [0.5]
    assert policy.score([[[1.0]]]).mean.tolist() == [[3.0]]


@pytest.mark.parametrize("kind", [FairLinUCB, EvenLinUCB, PrimalDualLinUCB, CounterfactualLinUCB])
def test_the_default_tolerance_is_one_percent_of_the_range(kind):
    assert kind().tolerance is None
    assert UnitScale((0.0, 1.0)).tolerance(kind().tolerance) == 0.01
    assert UnitScale((1.0, 5.0)).tolerance(None) == pytest.approx(0.04)
    assert UnitScale((1.0, 5.0)).tolerance(0.5) == 0.5
    with pytest.raises(ValueError, match="tolerance must be a number of at least 0 or None, got -1"):
        kind(tolerance=-1)


def test_the_range_can_change_before_anything_was_learned():
    policy = EqualRegretLinUCB(random_state=0)
    policy.set_params(reward_range=(1, 5))
    policy.learn(policy.choose([[1.0]], "male"), 5.0)
    assert policy.score([[[1.0]]]).mean.tolist() == [[3.0]]


def test_merged_and_reloaded_policies_keep_their_units(tmp_path):
    left, right = (LinTS(reward_range=(1, 5), random_state=seed) for seed in range(2))
    for policy in (left, right):
        policy.learn(policy.choose([[1.0]], "male"), 5.0)
    merged = left.merge(right)
    merged.save(tmp_path / "policy")
    again = Policy.load(tmp_path / "policy")
    assert again.score([[[1.0]]]).mean.item() == pytest.approx(1.0 + 4.0 * 2.0 / 3.0)
    assert again.groups.means.tolist() == [5.0]


@pytest.mark.parametrize("version", ["3", "4"])
def test_older_files_with_other_ranges_are_refused(version, tmp_path):
    policy = LinUCB(reward_range=(1, 5), random_state=0)
    policy.learn(policy.choose([[1.0]]), 4.0)
    (tmp_path / "old").write_bytes(as_version(policy.state().to_bytes(), version))
    with pytest.raises(
        PolicyFileError, match=r"must be \(0, 1\) in a policy file of version ., got \(1, 5\).*log$"
    ):
        Policy.load(tmp_path / "old")


def test_files_of_version_4_with_rewards_in_the_unit_range_load(tmp_path):
    policy = LinUCB(reward_range=(0, 1), random_state=0)
    decision = policy.choose([[1.0]])
    policy.learn(decision, 1.0)
    (tmp_path / "old").write_bytes(as_version(policy.state().to_bytes(), "4"))
    assert Policy.load(tmp_path / "old").checksum() == policy.checksum()


def test_the_default_tolerance_of_older_files_is_that_of_today(tmp_path):
    old, other = EvenLinUCB(tolerance=0.01, random_state=0), EvenLinUCB(tolerance=0.02, random_state=0)
    for policy, tolerance in ((old, None), (other, 0.02)):
        (tmp_path / "old").write_bytes(as_version(policy.state().to_bytes(), "4"))
        assert Policy.load(tmp_path / "old").tolerance == tolerance


def test_individual_gaps_are_the_same_shares_of_the_range():
    rng = np.random.default_rng(0)
    own, twin = rng.random(50), rng.random(50)
    unit, stars = IndividualGaps(), IndividualGaps((1.0, 5.0))
    unit.add(own, twin)
    stars.add(1.0 + 4.0 * own, 1.0 + 4.0 * twin)
    assert stars.mean() / 4.0 == pytest.approx(float(unit.mean()))
    assert stars.quantile(0.9) / 4.0 == pytest.approx(unit.quantile(0.9))
