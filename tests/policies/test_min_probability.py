"""Every arm keeps a chance: exact probabilities, those that picks are made with."""

from collections import Counter

import numpy as np
import pytest

from fairbandits import EpsilonGreedy, FairLinUCB, LinTS, LinUCB, Policy, Uniform
from fairbandits.policies import Picker
from fairbandits.policies.picker import GREEDY
from tests.helpers import POLICIES, contexts_for, fresh, teach

CONTEXTS = contexts_for(np.random.default_rng(3))
GROUPS = ["male", "female"]


class Softmax(Picker):
    def probabilities(self, scores, groups):
        e = np.exp(3.0 * (scores.total - scores.total.max(axis=1, keepdims=True)))
        return e / e.sum(axis=1, keepdims=True)


class SoftmaxUCB(Policy):
    def terms(self, predictions):
        return 0.3 * predictions.width, 0.0

    @property
    def picker(self):
        return Softmax()


SUBJECTS = {**POLICIES, "custom": SoftmaxUCB(), "stars": LinUCB(reward_range=(1, 5))}


def taught(name, **changes):
    policy, n = fresh(SUBJECTS[name], random_state=0), 0
    low, high = policy.reward_range
    rng = np.random.default_rng(0)
    for n in range(30):
        policy.learn(policy.choose(contexts_for(rng), GROUPS[n % 2]), low + (high - low) * rng.random())
    return policy.set_params(**{"random_state": 5, **changes})


@pytest.mark.parametrize("name", SUBJECTS)
def test_probabilities_are_mixed_and_picks_follow_them(name):
    """Over 3,000 users alike: as often as stated, within five standard errors."""
    users = 1000 if "LinTS" in name else 3000
    base = taught(name).probabilities(CONTEXTS[None], ["male"], draws=2000)[0]
    policy = taught(name, min_probability=0.06)
    decisions = policy.choose_many(np.broadcast_to(CONTEXTS, (users, *CONTEXTS.shape)), ["male"] * users)
    observed = np.bincount(decisions.indices, minlength=6) / users
    expected = 0.06 + (1.0 - 6 * 0.06) * base
    has_closed_form = decisions[0].probability is not None
    if has_closed_form:
        computed = policy.probabilities(CONTEXTS[None], ["male"])[0]
        np.testing.assert_allclose(computed, expected, atol=1e-8)
        assert computed.min() >= 0.06 - 1e-12
        np.testing.assert_allclose(decisions.probability, computed[decisions.indices], atol=1e-8)
    spread = 5.0 * np.sqrt(expected * (1.0 - expected) / users) + (0.0 if has_closed_form else 0.06)
    assert (np.abs(observed - expected) <= spread).all()


@pytest.mark.parametrize("name", ["LinUCB", "EpsilonGreedy", "Uniform", "custom", "FairLinUCB", "stars"])
def test_slates_are_mixed_at_each_position(name):
    policy = taught(name, min_probability=0.1)
    slates = [policy.choose(CONTEXTS, "male", k=2) for _ in range(3000)]
    counts = Counter(slate.picked for slate in slates)
    stated = {slate.picked: slate.probability for slate in slates}
    first = policy.probabilities(CONTEXTS[None], ["male"])[0]
    for picked, probability in stated.items():
        a, b = picked
        left = np.delete(np.arange(6), a)
        second = policy.probabilities(CONTEXTS[left][None], ["male"], arms=left.tolist())[0]
        if name != "FairLinUCB":  # its penalty depends on the arms on offer
            assert probability == pytest.approx(first[a] * second[left.tolist().index(b)], rel=1e-9)
        error = 5.0 * np.sqrt(probability * (1.0 - probability) / 3000)
        assert abs(counts[picked] / 3000 - probability) <= error
    assert min(stated.values()) >= 0.1 * 0.1 - 1e-12


def test_thompson_slates_have_no_closed_form():
    policy = taught("LinTS", min_probability=0.1)
    assert policy.choose(CONTEXTS, "male", k=2).probability is None
    assert policy.choose(CONTEXTS, "male").probability >= 0.1
    certain = taught("LinTS", min_probability=0.1, alpha=0.0)
    assert certain.choose(CONTEXTS, "male", k=2).probability >= 0.01


@pytest.mark.parametrize("name", ["LinUCB", "LinTS", "LinTS shared", "custom", "Uniform", "EpsilonGreedy"])
def test_from_one_over_the_arms_on_all_are_equally_probable(name):
    for lowest in (1.0 / 6.0, 0.5, 1.0):
        policy = taught(name, min_probability=lowest)
        assert policy.choose(CONTEXTS, "male").probability == 1.0 / 6.0
        assert (policy.probabilities(CONTEXTS[None]) == 1.0 / 6.0).all()
    assert policy.choose(CONTEXTS[:1]).probability == 1.0


@pytest.mark.parametrize("kind", [LinUCB, FairLinUCB, EpsilonGreedy, Uniform])
def test_many_users_are_served_as_one_after_the_other(kind):
    one, many = (teach(kind(random_state=0, min_probability=0.1))[0] for _ in range(2))
    contexts = np.stack([contexts_for(np.random.default_rng(seed)) for seed in range(40)])
    decisions = [one.choose(each, "male") for each in contexts]
    batch = many.choose_many(contexts, ["male"] * 40)
    assert [decision.arm for decision in decisions] == batch.picked
    assert [decision.probability for decision in decisions] == batch.probability


def test_without_it_the_picker_is_the_policys_own():
    assert LinUCB()._mixed_picker() is GREEDY
    plain, zero = teach(LinTS(random_state=0))[1], teach(LinTS(random_state=0, min_probability=0.0))[1]
    assert plain == zero


def test_it_is_saved_and_can_change_later(tmp_path):
    policy, _ = teach(LinUCB(random_state=0, min_probability=0.1))
    policy.save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy")
    assert loaded.min_probability == 0.1
    loaded.min_probability = 0.0
    assert loaded.choose(CONTEXTS).probability == 1.0
    with pytest.raises(ValueError, match=r"min_probability must be a number of .* at most 1, got 1\.5"):
        loaded.min_probability = 1.5
    with pytest.raises(ValueError, match=r"min_probability must be a number of at least 0 .* got -0\.1"):
        LinUCB(min_probability=-0.1)


def test_scores_that_are_not_finite_are_refused_also_where_any_arm_is_picked():
    class Infinite(Policy):
        def terms(self, predictions):
            return np.full(predictions.mean.shape, np.nan), 0.0

    policy = Infinite(random_state=0, min_probability=0.1)
    for _ in range(20):
        with pytest.raises(ValueError, match="scores must be finite"):
            policy.choose(CONTEXTS)


def test_arms_that_were_never_best_are_logged_with_their_probability():
    """What off-policy evaluation needs: importance weights that do not divide by zero."""
    policy = LinUCB(alpha=0.0, random_state=0, min_probability=0.02)
    policy.learn(policy.choose([[1.0]], arms=["best"]), 1.0)
    decisions = [policy.choose([[1.0], [1.0]], arms=["best", "other"]) for _ in range(300)]
    assert {(d.arm, round(d.probability, 9)) for d in decisions} == {("best", 0.98), ("other", 0.02)}
