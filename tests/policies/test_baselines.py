"""The baselines of the literature do what their words say, on small made-up cases."""

import math

import numpy as np
import pytest

from fairbandits import (
    CounterfactualLinUCB,
    EqualRegretLinUCB,
    GroupRewards,
    LinUCB,
    MaxMinLinUCB,
    Model,
    PrimalDualLinUCB,
)
from fairbandits.fairness import dual_prices, hedge_weights
from fairbandits.registry import make_run
from fairbandits.worlds import StudentsAndVideos
from tests.helpers import CURVED, contexts_for, fresh, teach

BASELINES = [
    PrimalDualLinUCB(step=1.0),
    MaxMinLinUCB(step=1.0),
    EqualRegretLinUCB(step=1.0),
    CounterfactualLinUCB(swap=[(0, 1)], flip=[4], tolerance=0.0),
]


def lived(policy, rewards, rounds=600, seed=0):
    """Let a policy serve two groups in turn, where `rewards` says what each arm gives each."""
    rng = np.random.default_rng(seed)
    groups = list(rewards)
    n_arms = len(rewards[groups[0]])
    for t in range(rounds):
        group = groups[t % 2]
        contexts = np.ones((n_arms, 2))
        contexts[:, 1] = t % 2
        decision = policy.choose(contexts, group)
        policy.learn(decision, float(np.clip(rewards[group][decision.index] + rng.normal(0.0, 0.02), 0.0, 1.0)))
    return policy


def mean_of(groups, group):
    return next(standing.mean for standing in groups.summaries() if standing.group == group)


# -- what all have in common ---------------------------------------------------------------------------


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda policy: type(policy).__name__)
def test_users_of_unknown_group_are_served_as_by_linucb(baseline):
    policy, _ = teach(fresh(baseline, random_state=0))
    contexts = contexts_for(np.random.default_rng(1))
    known, unknown = policy.score(contexts[None], ["male"]), policy.score(contexts[None])
    np.testing.assert_allclose(unknown.total, unknown.mean + 0.5 * unknown.width)
    assert not np.allclose(known.total, unknown.total)


@pytest.mark.parametrize("baseline", BASELINES[:3], ids=lambda policy: type(policy).__name__)
def test_while_one_group_alone_was_served_it_is_linucb(baseline):
    policy, plain = fresh(baseline, random_state=0), LinUCB(random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        contexts, reward = contexts_for(rng), rng.random()
        one, two = policy.choose(contexts, "male"), plain.choose(contexts, "male")
        assert one.arm == two.arm
        policy.learn(one, reward)
        plain.learn(two, reward)


def test_weights_of_several_attributes_and_values_are_those_by_hand():
    groups = GroupRewards((-1.0, 3.0))
    given = {("f", "x"): [1.0, 2.0], ("m", "x"): [0.0], ("m", "y"): [2.0, 2.0, 0.5], ("m", "z"): [1.0]}
    for (sex, place), rewards in given.items():
        for reward in rewards:
            groups.add(reward, {"sex": sex, "place": place})
    sex = {"f": (1.5, 2), "m": (5.5 / 5, 5)}
    place = {"x": (1.0, 3), "y": (1.5, 3), "z": (1.0, 1)}
    weights, prices = hedge_weights(groups, 0.7), dual_prices(groups, 0.7, 0.1, 9.0)
    for attribute, peers in (("sex", sex), ("place", place)):
        n = min(count for _, count in peers.values())
        raw = {value: math.exp(-0.7 * n * mean / 4.0) for value, (mean, _) in peers.items()}
        for value, (mean, _) in peers.items():
            number = groups.numbers_of(((attribute, value),))[0]
            assert groups.means[number] == pytest.approx(mean)
            assert weights[number] == pytest.approx(raw[value] * len(raw) / sum(raw.values()))
    price = 0.7 * 2 * (0.4 - 0.1) / 4.0
    assert prices[groups.numbers_of((("sex", "f"), ("sex", "m")))] == pytest.approx([-price, price])
    price = 0.7 * 3 * (0.5 - 0.1) / 4.0
    of_place = prices[groups.numbers_of(tuple(("place", value) for value in "xyz"))]
    assert of_place == pytest.approx([price, -price, 0.0]), "x is behind: it came before z, which is level with it"
    assert groups.numbers_of((("sex", "other"), ("age", 7))) == []
    assert abs(dual_prices(groups, 100.0, 0.0, 1.5)).max() == 1.5
    groups.restart()
    assert hedge_weights(groups, 0.7).tolist() == [1.0] * 5, "groups without rewards do not count"
    assert dual_prices(groups, 0.7, 0.1, 9.0).tolist() == [0.0] * 5


# -- each of its own -----------------------------------------------------------------------------------

# The last arm is bad for both; nothing gives women more than 0.5.
UNFAIR = {"male": [0.9, 0.6, 0.3], "female": [0.5, 0.4, 0.2]}


def test_primal_dual_keeps_the_difference_at_its_tolerance():
    plain = lived(LinUCB(alpha=1.0, random_state=0), UNFAIR).groups
    assert plain.gap() > 0.35
    for tolerance in (0.02, 0.2):
        groups = lived(PrimalDualLinUCB(alpha=1.0, tolerance=tolerance, step=1.0, random_state=0), UNFAIR).groups
        assert groups.gap() == pytest.approx(tolerance, abs=0.015)
        assert mean_of(groups, "female") > 0.45, "women are not the ones who pay"


def test_primal_dual_does_nothing_while_the_constraint_holds():
    policy, _ = teach(PrimalDualLinUCB(tolerance=1.0, step=100.0, random_state=0))
    assert not policy.score(contexts_for(np.random.default_rng(0))[None], ["male"]).fairness.any()


def test_max_min_lets_those_ahead_explore_and_serves_the_worst_off():
    # Four arms of twenty are good, and for both groups the same ones; women start behind.
    good = {"male": [0.8] * 4 + [0.3] * 16, "female": [0.7] * 4 + [0.2] * 16}
    plain, fair = (
        lived(kind(alpha=1.0, random_state=0), good, rounds=400).groups for kind in (LinUCB, MaxMinLinUCB)
    )
    assert mean_of(fair, "female") > mean_of(plain, "female") + 0.03
    assert fair.gap() < plain.gap()


def test_max_min_weighs_the_predicted_reward():
    policy, _ = teach(MaxMinLinUCB(step=0.5, random_state=0))
    contexts = contexts_for(np.random.default_rng(1))[None]
    weights = dict(zip(("male", "female"), hedge_weights(policy.groups, 0.5), strict=True))
    assert sum(weights.values()) == pytest.approx(2.0)
    for group, weight in weights.items():
        scores = policy.score(contexts, [group])
        np.testing.assert_allclose(scores.total, weight * scores.mean + 0.5 * scores.width)


def test_equal_regret_keeps_regrets_level():
    # Arms are all alike to men, so that they give up nothing; women pay for every arm that is tried.
    stakes = {"male": [0.8] * 20, "female": [0.9] + [0.1] * 19}
    apart = []
    for step in (0.0, 1.0):
        policy = lived(EqualRegretLinUCB(alpha=1.0, step=step, random_state=0), stakes)
        apart.append(policy.regrets.gap())
        assert sum(standing.count for standing in policy.regrets.summaries()) == 600
    assert apart[1] < 0.5 * apart[0]


def test_estimated_regret_is_what_was_predicted_when_it_was_decided(tmp_path):
    policy = EqualRegretLinUCB(alpha=2.0, reward_range=(-1.0, 3.0), random_state=0)
    rng = np.random.default_rng(0)
    by_hand = {"male": [], "female": []}
    for t in range(60):
        contexts, group = contexts_for(rng), ("male", "female")[t % 2]
        if t % 3:
            decision = policy.choose(contexts, group)
            regret = decision.scores.mean.max() - decision.scores.mean[decision.index]
        else:
            decision = policy.choose(contexts, group, k=2)
            mean = decision.scores.mean
            regret = np.sort(mean)[-2:].mean() - mean[list(decision.indices)].mean()
        policy.learn(decision, -1.0 + 4.0 * rng.random())
        by_hand[group].append(regret)
    policy.forget_arm(0)
    policy.save(tmp_path / "policy")
    loaded = EqualRegretLinUCB.load(tmp_path / "policy")
    other, _ = teach(fresh(policy, random_state=1))
    merged = policy.merge(other)
    for group, regrets in by_hand.items():
        assert max(regrets) > 0.0
        assert mean_of(policy.regrets, group) == pytest.approx(np.mean(regrets))
        assert mean_of(loaded.regrets, group) == mean_of(policy.regrets, group)
        both = (np.mean(regrets) + mean_of(other.regrets, group)) / 2
        assert mean_of(merged.regrets, group) == pytest.approx(both)
    assert EqualRegretLinUCB().set_params(reward_range=(0, 5)).regrets.reward_range == (0.0, 5.0)


@pytest.mark.parametrize("model", ["disjoint", "shared", Model(kind="hybrid", feature_map=CURVED)])
@pytest.mark.parametrize("tolerance", [0.0, 0.02, 10.0])
def test_counterfactual_keeps_the_arms_that_treat_twins_alike(model, tolerance):
    policy = CounterfactualLinUCB(
        swap=[(0, 1), (3, 2)], flip=[9], tolerance=tolerance, model=model, random_state=0
    )
    rng = np.random.default_rng(0)
    kept_some = False
    for t in range(150):
        contexts = contexts_for(rng) if t % 2 else rng.random((6, 10))
        twins = contexts[:, [1, 0, 3, 2, *range(4, 10)]]
        twins[:, 9] = 1.0 - twins[:, 9]
        scores, twin_mean = policy.score(contexts[None], ["male"]), policy.score(twins[None]).mean[0]
        apart = np.abs(scores.mean[0] - twin_mean)
        kept = apart <= tolerance
        decision = policy.choose(contexts, "male")
        ucb = scores.mean[0] + scores.exploration[0]
        if kept.any():
            kept_some = True
            assert kept[decision.index]
            assert ucb[decision.index] == pytest.approx(ucb[kept].max())
        else:
            assert apart[decision.index] == pytest.approx(apart.min())
        slate = policy.choose(contexts, "male", k=6)
        barred = [index for index in slate.indices if not kept[index]]
        assert all(kept[list(slate.indices[: kept.sum()])])
        assert (np.diff(apart[barred]) >= -1e-9).all()
        policy.learn(decision, float(contexts[decision.index, 0] > 0.3) * 0.9)
    assert kept_some


def test_counterfactual_knows_the_twins_of_students():
    run = make_run("CounterfactualLinUCB", "StudentsAndVideos", rounds=20, arms=10)
    world = StudentsAndVideos(**run.world_params, data="stand-in", random_state=0)
    policy = run.make_policy()
    for visit, twin in world.twins():
        twins = policy._twins(visit.contexts.rows)
        np.testing.assert_array_equal(twins.toarray(), np.asarray(twin.contexts))


def test_counterfactual_refuses_columns_that_contexts_do_not_have():
    policy = CounterfactualLinUCB(swap=[(0, 12)])
    with pytest.raises(ValueError, match=r"swap must have columns in 0\.\.1, got 12"):
        policy.choose(np.eye(2))
    with pytest.raises(ValueError, match=r"flip must have columns in 0\.\.1, got 3"):
        CounterfactualLinUCB(flip=[3]).choose(np.eye(2))
    with pytest.raises(ValueError, match="one name per column of contexts, got 1 for 2"):
        CounterfactualLinUCB(flip=["a"], columns=["a"]).choose(np.eye(2))
