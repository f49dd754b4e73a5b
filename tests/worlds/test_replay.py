"""The replay of logs whose arms were chosen uniformly at random."""

import numpy as np
import pytest

from fairbandits import LinUCB, Uniform
from fairbandits.simulate import simulate
from fairbandits.testing import check_world
from fairbandits.worlds import ModifiedWorld, ReplayWorld
from tests.worlds.tables import uniform_log

LOG = uniform_log()


def world_of(log=LOG, **changes):
    return ReplayWorld(log, **{"arm": "shown", "reward": "click", "group": "sex", **changes})


def test_only_the_reward_of_the_arm_that_was_shown_is_known():
    world = world_of(propensity="p")
    check_world(world)
    assert "p" not in world.columns
    assert "click" not in world.columns
    shown = []
    for visit in world.visits():
        (known,) = np.flatnonzero(~np.isnan(visit.expected))
        np.testing.assert_array_equal(visit.expected, visit.rewards)
        shown.append((visit.arms[known], visit.expected[known]))
    assert sorted(shown) == sorted(zip(LOG["shown"], LOG["click"], strict=True))


def test_a_policy_learns_only_rounds_in_which_it_chooses_the_arm_that_was_shown():
    world, policy = world_of(), LinUCB(random_state=0)
    trace = simulate(policy, world)
    by_hand, matched = LinUCB(random_state=0), 0
    for number, visit in enumerate(world.visits()):
        decision = by_hand.choose(visit.contexts, visit.group, visit.arms)
        assert trace.arm[number] == decision.arm
        reward = visit.rewards[decision.index]
        np.testing.assert_equal(trace.reward[number], reward)
        if not np.isnan(reward):
            by_hand.learn(decision, reward)
            matched += 1
    assert sum(summary.count for summary in policy.groups.summaries()) == matched
    assert matched == pytest.approx(len(LOG) / 4, rel=0.3)


def test_means_are_known_and_what_needs_other_arms_is_not():
    trace = simulate(LinUCB(random_state=0), world_of())
    values = trace.metrics()
    known = ~np.isnan(trace.expected)
    by_group = {name: trace.expected[known & (trace.group["group"] == name)].mean() for name in ("female", "male")}
    assert values["cmr_male"] == pytest.approx(by_group["male"])
    assert values["reward_gap"] == pytest.approx(abs(by_group["male"] - by_group["female"]))
    assert values["observed_reward_gap"] == values["reward_gap"]
    assert values["worst_off_reward"] == pytest.approx(min(by_group.values()))
    assert all(np.isnan(values[name]) for name in ("utility_loss", "regret_male", "regret_female"))
    assert trace.running_means("test")["male"][-1] == pytest.approx(by_group["male"])


def test_the_mean_is_that_of_the_policy_and_not_of_the_log():
    log = uniform_log(20_000)
    world = world_of(log, rounds=20_000)
    uniform = simulate(Uniform(random_state=0), world).metrics()
    for group in ("female", "male"):
        assert uniform[f"cmr_{group}"] == pytest.approx(log["click"][log["sex"] == group].mean(), abs=0.03)
    learned = simulate(LinUCB(alpha=1.0, random_state=0), world).last(10_000).metrics()
    assert learned["cmr_male"] == pytest.approx(0.7, abs=0.05)  # arm a1
    assert learned["cmr_female"] == pytest.approx(0.5, abs=0.05)  # arm a2


def test_rows_without_arm_or_reward_are_dropped_and_counted():
    log = LOG.assign(click=LOG["click"].where(LOG.index > 9, None))
    assert f"replay of {len(LOG) - 10} rows with 4 arms, 10 incomplete rows dropped (" in world_of(log).data_source


def test_the_seed_is_the_order_of_the_rows():
    rows = [
        [visit.contexts.toarray()[0, 1] for visit in world_of(random_state=seed).visits()] for seed in (0, 0, 1)
    ]
    assert rows[0] == rows[1] != rows[2]
    assert sorted(rows[0]) == sorted(rows[2])
    assert len(world_of(rounds=10)) == 10


def test_missing_rewards_of_a_replay_stay_missing_with_noise():
    for visit in ModifiedWorld(world_of(rounds=20), noise="bernoulli").visits():
        assert np.isnan(visit.rewards).sum() == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arm": "none"}, "arm must name columns of log, got 'none'"),
        ({"reward": "none"}, "reward must name columns of log, got 'none'"),
        ({"reward": "sex"}, "reward must be a column of numbers, got 'sex' with text or dates"),
        ({"group": "none"}, "group must name columns of log, got 'none'"),
        ({"propensity": "q"}, "propensity must name columns of log, got 'q'"),
        (
            {"propensity": "x"},
            "propensity must be 0.25 in every row, for 4 arms chosen uniformly at random, got 0.*; evaluate",
        ),
        ({"log": LOG[LOG["shown"] == "a1"]}, "log must have at least two arms, got 1"),
        (
            {"log": LOG[(LOG["shown"] == "a1") | (LOG.index < 90)]},
            "log must have arms chosen uniformly at random, got .* to .* rows per arm; evaluate it with",
        ),
        ({"log": LOG.assign(click=np.nan)}, "log must have a row with arm and reward, got none"),
        ({"rounds": 601}, "rounds must be at most the 600 rows of the log, got 601"),
        ({"rounds": 0}, "rounds must be an integer of at least 1, got 0"),
    ],
)
def test_invalid_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        world_of(**changes)


@pytest.mark.parametrize("column", ["shown", "click", "p"])
def test_arm_reward_and_propensity_are_no_features(column):
    with pytest.raises(ValueError, match=f"features must not contain 'shown' or 'click' or 'p', got '{column}'"):
        world_of(propensity="p", features=["x", column])
