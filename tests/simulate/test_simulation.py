"""The simulation loop."""

import sys

import numpy as np
import pytest

from fairbandits import FairLinUCB, LinUCB, Uniform
from fairbandits.simulate import simulate
from fairbandits.worlds import LinearWorld, StudentsAndVideos
from tests.simulate.scripted import SMALL, ScriptedWorld, assert_identical, one_arm_visit


def test_the_loop_is_choose_reward_learn():
    world = StudentsAndVideos(**SMALL, noise=0.05)
    trace = simulate(FairLinUCB(random_state=1), world)
    policy = FairLinUCB(random_state=1)
    before = None
    for number, visit in enumerate(world.visits()):
        if before == "train" and visit.part == "test":
            policy.groups.restart()
        before = visit.part
        decision = policy.choose(visit.contexts, visit.group, visit.arms)
        policy.learn(decision, visit.rewards[decision.index])
        assert trace.arm[number] == decision.arm
        assert trace.reward[number] == visit.rewards[decision.index]
        assert trace.expected[number] == visit.expected[decision.index]
        assert trace.best[number] == visit.expected.max()
        assert trace.worst[number] == visit.expected.min()
        assert trace.probability[number] == decision.probability
        assert trace.part[number] == visit.part
        assert trace.group["group"][number] == visit.group
    assert len(trace) == len(world)
    assert trace.data_source == world.data_source


def test_a_trace_of_slates_holds_means_over_the_slate():
    world = StudentsAndVideos(**SMALL, noise=0.05)
    trace = simulate(FairLinUCB(random_state=1), world, k=3)
    policy = FairLinUCB(random_state=1)
    before = None
    for number, visit in enumerate(world.visits()):
        if before == "train" and visit.part == "test":
            policy.groups.restart()
        before = visit.part
        slate = policy.choose(visit.contexts, visit.group, visit.arms, k=3)
        indices = list(slate.indices)
        policy.learn(slate, visit.rewards[indices])
        assert trace.arm[number] == slate.picked
        assert trace.reward[number] == pytest.approx(visit.rewards[indices].mean())
        assert trace.expected[number] == pytest.approx(visit.expected[indices].mean())
        assert trace.best[number] == pytest.approx(np.mean(sorted(visit.expected)[-3:]))
        assert trace.worst[number] == pytest.approx(np.mean(sorted(visit.expected)[:3]))
    values = trace.metrics()
    assert values["utility_loss"] == pytest.approx(np.mean((trace.best - trace.expected)[trace.part == "test"]))
    assert policy.groups.gap() == pytest.approx(values["observed_reward_gap"])


def test_invalid_slate_sizes_are_refused():
    with pytest.raises(ValueError, match="k must be an integer of at least 1, got 0"):
        simulate(LinUCB(), LinearWorld(), k=0)
    with pytest.raises(ValueError, match=r"k must be at most the 5 arm\(s\) on offer, got 6"):
        simulate(LinUCB(), LinearWorld(), k=6)


def test_a_policy_learns_from_one_reward_per_slate():
    world = LinearWorld(n_arms=8, rounds=600, noise=0.0)
    best, rewards = [], {LinUCB: [], Uniform: []}
    for cls, gains in rewards.items():
        policy = cls(random_state=0)
        for visit in world.visits():
            slate = policy.choose(visit.contexts, visit.group, k=3)
            gains.append(visit.rewards[list(slate.indices)].mean())
            policy.learn(slate, gains[-1])
            best.append(np.mean(sorted(visit.expected)[-3:]))
    loss = {cls: np.mean(best[:600]) - np.mean(gains) for cls, gains in rewards.items()}
    assert loss[LinUCB] < 0.5 * loss[Uniform]


def test_the_test_part_resets_group_means_but_not_arm_means():
    policy = LinUCB(random_state=0)
    simulate(
        policy,
        ScriptedWorld(
            [one_arm_visit(0.2, "a", "train"), one_arm_visit(0.4, "a", "train"), one_arm_visit(0.9, "a")]
        ),
    )
    assert policy.groups.summaries()[0].count == 1
    assert policy.groups.summaries()[0].mean == 0.9
    assert policy.groups.arm_means[0, 0] == pytest.approx(0.5)


def test_group_means_are_not_reset_without_a_training_part():
    policy = LinUCB(random_state=0)
    simulate(policy, ScriptedWorld([one_arm_visit(0.2, "a"), one_arm_visit(0.4, "a")]))
    assert policy.groups.summaries()[0].count == 2


def test_rounds_ends_a_simulation_early():
    world = LinearWorld(rounds=50)
    assert_identical(
        simulate(LinUCB(random_state=0), world, 20), simulate(LinUCB(random_state=0), LinearWorld(rounds=20))
    )


@pytest.mark.parametrize("rounds", [0, -1, 51, 2.5, True])
def test_invalid_rounds_are_refused(rounds):
    with pytest.raises(
        ValueError, match=r"rounds must be (at most 50, the length of the world|an integer of at least 1), got"
    ):
        simulate(LinUCB(), LinearWorld(rounds=50), rounds)


def test_an_object_without_visits_is_refused():
    with pytest.raises(ValueError, match=r"world must have the methods __len__\(\) and visits\(\), got a int"):
        simulate(LinUCB(), 3)


def test_a_world_that_ends_early_is_an_error():
    world = ScriptedWorld([one_arm_visit(0.5, "a")])
    world.__class__ = type("Short", (ScriptedWorld,), {"__len__": lambda self: 2})
    with pytest.raises(ValueError, match="Short ended after 1 of 2 rounds; see check_world"):
        simulate(LinUCB(), world)


def test_the_progress_bar_does_not_change_the_trace():
    assert_identical(
        simulate(LinUCB(random_state=0), LinearWorld(rounds=20), progress=True),
        simulate(LinUCB(random_state=0), LinearWorld(rounds=20)),
    )


def test_a_progress_bar_needs_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"progress bar needs tqdm; .* pip install 'fairbandits\[cli\]'"):
        simulate(LinUCB(random_state=0), LinearWorld(rounds=2), progress=True)
