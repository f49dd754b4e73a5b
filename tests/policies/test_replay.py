"""Learning from a log, decision by decision: the same state bitwise, whatever happens in between."""

import numpy as np
import pytest

from fairbandits import EqualRegretLinUCB, FairLinUCB, LinUCB
from tests.helpers import POLICIES, contexts_for, fresh

KEPT = [name for name, policy in POLICIES.items() if not policy.records()]


def rounds(policy, n=60, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        group = {"sex": rng.choice(["f", "m"]), "age": None if rng.random() < 0.3 else "old"}
        yield policy.choose(contexts_for(rng), group), float(rng.random())


@pytest.mark.parametrize("name", KEPT)
def test_as_learning_decisions(name):
    usual, kept = fresh(POLICIES[name], random_state=1), fresh(POLICIES[name], random_state=2)
    for decision, reward in rounds(usual):
        usual.learn(decision, reward)
        kept.replay(reward, decision.group, [(decision.arm, decision.row.alone(), reward)])
        kept.choose(contexts_for(np.random.default_rng(5)))  # which changes nothing that is learned
    assert kept.checksum() == usual.checksum()


def test_as_learning_slates():
    usual, kept = FairLinUCB(random_state=1), FairLinUCB(random_state=2)
    rng = np.random.default_rng(0)
    for _ in range(30):
        slate = usual.choose(contexts_for(rng), group=rng.choice(["f", "m"]), k=3)
        rewards = [0.25, None, float(rng.random())]
        usual.learn(slate, rewards)
        items = [
            (arm, row, r) for arm, row, r in zip(slate.picked, slate.rows, rewards, strict=True) if r is not None
        ]
        kept.replay((0.25 + rewards[2]) / 2, slate.group, items)
    assert kept.checksum() == usual.checksum()


def test_arms_that_were_forgotten_count_for_the_groups_alone():
    usual, kept = LinUCB(random_state=0), LinUCB(random_state=0)
    decisions = [decision for decision, _ in rounds(usual, n=20)]
    for policy in (usual, kept):
        policy.forget_arm(decisions[0].arm, missing_ok=True)
    for decision in decisions:
        usual.learn(decision, 0.5)
        arm = None if decision.arm == decisions[0].arm else decision.arm
        kept.replay(0.5, decision.group, [(arm, decision.row.alone(), 0.5)])
    assert kept.checksum() == usual.checksum()
    assert decisions[0].arm not in kept._arms


def test_a_row_that_the_model_refuses_counts_for_the_groups():
    policy = LinUCB(ridge=1e-45, random_state=0)
    near = np.array([[1e40, 1e40]])
    for row in (near, near * (1 + 1e-15)):
        decision = policy.choose(row, "f", arms=["a"])
        policy.replay(0.5, decision.group, [("a", decision.row.alone(), 0.5)])
    assert policy.groups.counts.tolist() == [2.0]


def test_contexts_of_another_width_are_refused():
    policy = LinUCB(random_state=0)
    decision = policy.choose(np.eye(3), "f")
    policy.learn(decision, 0.5)
    other = LinUCB(random_state=0).choose(np.eye(4), "f")
    with pytest.raises(ValueError, match=r"must have 3 columns, .*, got 4"):
        policy.replay(0.5, other.group, [(other.arm, other.row.alone(), 0.5)])


def test_policies_that_note_more_are_refused():
    policy = EqualRegretLinUCB()
    assert policy.records()
    with pytest.raises(ValueError, match="EqualRegretLinUCB cannot replay"):
        policy.replay(0.5, (), [])


def test_the_state_is_a_copy():
    policy = FairLinUCB(random_state=0)
    for decision, reward in rounds(policy, n=10):
        policy.learn(decision, reward)
    state, before = policy.state(), policy.checksum()
    for decision, reward in rounds(policy, n=10):
        policy.learn(decision, reward)
    assert state.checksum() == before != policy.checksum()
    assert FairLinUCB.from_state(type(state).from_bytes(state.to_bytes())).checksum() == before
