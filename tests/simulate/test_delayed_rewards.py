"""Rewards that arrive late, or never."""

import numpy as np
import pytest

from fairbandits import FairLinUCB, LinUCB
from fairbandits.simulate import Trace, simulate
from fairbandits.worlds import LinearWorld, ModifiedWorld, StudentsAndVideos, Visit
from tests.simulate.scripted import SMALL, ScriptedWorld


def simulate_by_hand(policy, world, k=None):
    """Choose, keep what was chosen, and in each round learn what is due, in the order of the decisions."""
    waiting, arms, parts = [], [], []
    for number, visit in enumerate(world.visits()):
        if parts and (parts[-1], visit.part) == ("train", "test"):
            policy.groups.restart()
        parts.append(visit.part)
        decision = policy.choose(visit.contexts, visit.group, visit.arms, k=k)
        index = decision.index if k is None else list(decision.indices)
        waiting.append((number + visit.delay, number, decision, visit.rewards[index]))
        arms.append(decision.arm if k is None else decision.picked)
        for due, _, late, reward in sorted(waiting, key=lambda entry: entry[:2]):
            if due > number or np.isnan(reward).all():
                continue
            policy.learn(late, reward if k is None else [None if np.isnan(each) else each for each in reward])
        waiting = [entry for entry in waiting if entry[0] > number]
    return arms


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize(
    "options",
    [{"delay": 1}, {"delay": 15}, {"delay": [0, 20]}, {"delay": [0, 20], "missing": {"female": 0.5}}],
    ids=str,
)
def test_the_loop_learns_rewards_when_they_are_due(options, k):
    world = ModifiedWorld(StudentsAndVideos(**SMALL, noise=0.05), **options)
    policy, by_hand = FairLinUCB(random_state=1), FairLinUCB(random_state=1)
    trace = simulate(policy, world, k=k)
    assert trace.arm.tolist() == simulate_by_hand(by_hand, world, k)
    assert policy.groups.summaries() == by_hand.groups.summaries()


def test_a_delay_is_the_number_of_decisions_before_the_reward_arrives():
    """With two arms of certain rewards, the policy repeats an arm until it knows the reward."""
    for delay in (0, 1, 4):
        visit = Visit(np.eye(2), "a", np.array([0.0, 1.0]), np.array([0.0, 1.0]), ("x", "y"), "test", delay)
        policy = LinUCB(alpha=0.0, random_state=0)
        learned = []

        class Counting(ScriptedWorld):
            def visits(self, learned=learned, policy=policy):
                for each in self._visits:
                    learned.append(sum(summary.count for summary in policy.groups.summaries()))
                    yield each

        simulate(policy, Counting([visit] * 8))
        assert learned == [max(number - delay, 0) for number in range(8)]


def test_what_is_still_due_at_the_end_is_not_learned():
    policy = LinUCB(random_state=0)
    trace = simulate(policy, ModifiedWorld(LinearWorld(rounds=30), delay=20))
    assert sum(summary.count for summary in policy.groups.summaries()) == 10
    assert not np.isnan(trace.reward).any()


def test_missing_rewards_are_never_learned_and_do_not_count_as_observed():
    policy = LinUCB(random_state=0)
    trace = simulate(policy, ModifiedWorld(LinearWorld(rounds=400), missing={"a": 0.6}))
    seen = ~np.isnan(trace.reward)
    counts = {summary.group: summary.count for summary in policy.groups.summaries()}
    values = trace.metrics()
    means = {}
    for group in ("a", "b"):
        rounds = seen & (trace.group["group"] == group)
        assert counts[group] == rounds.sum()
        means[group] = trace.reward[rounds].mean()
        assert values[f"cmr_{group}"] == pytest.approx(trace.expected[trace.group["group"] == group].mean())
    assert values["observed_reward_gap"] == pytest.approx(abs(means["a"] - means["b"]))
    assert values["observed_reward_gap"] == pytest.approx(policy.groups.gap())
    assert not np.isnan(list(values.values())).any()


def test_a_trace_without_any_observed_reward_has_no_observed_gap():
    trace = simulate(LinUCB(random_state=0), ModifiedWorld(LinearWorld(rounds=20), missing=1.0))
    assert np.isnan(trace.reward).all()
    assert trace.metrics()["observed_reward_gap"] == 0.0
    assert trace.metrics()["reward_gap"] > 0.0


def test_a_slate_learns_the_arms_whose_rewards_are_seen():
    rewards = np.array([0.5, np.nan, 1.0, np.nan])
    visits = [Visit(np.eye(4), "a", np.full(4, 0.5), rewards, ("w", "x", "y", "z"))] * 3
    policy = LinUCB(random_state=0)
    trace = simulate(policy, ScriptedWorld(visits), k=4)
    assert trace.reward.tolist() == [0.75] * 3
    assert policy.groups.summaries()[0].count == 3
    nothing = [Visit(np.eye(4), "a", np.full(4, 0.5), np.full(4, np.nan))]
    assert np.isnan(simulate(LinUCB(random_state=0), ScriptedWorld(nothing), k=2).reward).all()


def test_traces_with_missing_rewards_can_be_saved_and_logged(tmp_path):
    trace = simulate(LinUCB(random_state=0), ModifiedWorld(LinearWorld(rounds=50), missing=0.4))
    (tmp_path / "trace.npz").write_bytes(trace.to_bytes())
    np.testing.assert_array_equal(Trace.load(tmp_path / "trace.npz").reward, trace.reward)
    assert np.isnan(trace.to_log()["reward"]).sum() == np.isnan(trace.reward).sum() > 0


def test_biased_feedback_shows_in_the_observed_gap_and_not_in_the_true_one():
    world = LinearWorld(rounds=600, gap=0.0, noise=0.0)
    trace = simulate(LinUCB(random_state=0), ModifiedWorld(world, bias={"a": -0.3}))
    values = trace.metrics()
    assert values["observed_reward_gap"] > values["reward_gap"] + 0.2
