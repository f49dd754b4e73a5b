"""A process killed between `choose` and `learn`: every decision with a reward is learned exactly once."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairbandits import Decision, EqualRegretLinUCB
from tests.policies.killed_learner import recover

ROOT = Path(__file__).parents[2]


def kill_learners(folder, kills, seed):
    command = [sys.executable, "-m", "tests.policies.killed_learner", str(folder), str(kills), str(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr


def check(folder):
    """Compare the recovered policy with one that learns the journal in one go; return the open decisions."""
    policy, journal = recover(folder)
    made = journal.decisions()
    learned = [(decision, reward) for decision, reward in made if reward is not None]
    assert len({(decision.policy, decision.number) for decision, _ in made}) == len(made)
    assert [policy.has_learned(decision) for decision, _ in made] == [reward is not None for _, reward in made]
    assert policy.rounds_learned == len(learned)
    expected = EqualRegretLinUCB()
    expected._ledger = recover(folder)[0]._ledger  # which knows the sessions
    for decision, reward in learned:
        expected.learn(decision, reward, again=True)
    groups = [dict(decision.group)["group"] for decision, _ in learned]
    for each in (policy.groups, *policy.records().values()):
        assert {s.group: s.count for s in each.summaries()} == {g: groups.count(g) for g in set(groups)}
    assert policy.groups.gap() == pytest.approx(float(expected.groups.gap()), abs=1e-9)
    assert policy.regrets.gap() == pytest.approx(float(expected.regrets.gap()), abs=1e-9)
    assert sorted(policy.arms_learned) == sorted(expected.arms_learned)
    for arm in policy.arms_learned:
        np.testing.assert_allclose(policy.coefficients(arm), expected.coefficients(arm), atol=1e-9)
    sessions = {decision.policy for decision, _ in made}
    assert len({session.partition(":")[0] for session in sessions}) == 1
    return learned, [decision for decision, reward in made if reward is None], sessions


def test_a_few_kills(tmp_path):
    kill_learners(tmp_path, kills=8, seed=1)
    check(tmp_path)


@pytest.mark.slow
def test_two_hundred_kills(tmp_path):
    kill_learners(tmp_path, kills=200, seed=2)
    learned, open_decisions, sessions = check(tmp_path)
    assert len(sessions) > 80
    assert any(isinstance(decision, Decision) for decision in open_decisions), "some were killed before the reward"
    assert len(learned) > 200
