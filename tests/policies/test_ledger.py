"""Every decision is learned once: also by a policy that was loaded after the process that made it had died."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import Decision, LinUCB, Policy, Slate
from fairbandits.policies import persistence
from tests.helpers import as_version, contexts_for, teach

CONTEXTS = contexts_for(np.random.default_rng(0))


@pytest.fixture
def saved(tmp_path):
    policy, _ = teach(LinUCB(random_state=0))
    before = policy.choose(CONTEXTS, "male")
    policy.save(tmp_path / "policy")
    return policy, before, tmp_path / "policy"


def test_decisions_made_after_the_save_are_learned_once(saved):
    policy, before, path = saved
    after = [policy.choose(CONTEXTS, "female") for _ in range(3)]
    loaded = LinUCB.load(path)
    for decision in (before, *after):
        assert not loaded.has_learned(decision)
        loaded.learn(decision, 0.5)
        assert loaded.has_learned(decision)
        with pytest.raises(ValueError, match="has already been learned"):
            loaded.learn(decision, 0.5)
    assert loaded.rounds_learned == 64


def test_decisions_of_a_session_that_was_never_saved_are_learned_once(saved, tmp_path):
    _, _, path = saved
    died = LinUCB.load(path)
    decisions = [died.choose(CONTEXTS, "female") for _ in range(20)]
    loaded = LinUCB.load(path)
    loaded.learn(decisions[17], 0.5)
    loaded.save(tmp_path / "again")
    again = LinUCB.load(tmp_path / "again")
    assert [again.has_learned(decision) for decision in decisions] == [i == 17 for i in range(20)]
    again.learn_many([d for d in decisions if not again.has_learned(d)], [0.5] * 19)
    assert again.rounds_learned == 80
    with pytest.raises(ValueError, match="has already been learned"):
        again.learn(decisions[17], 0.5)


def test_decisions_that_were_not_made_are_refused(saved):
    policy, before, path = saved
    values = before.to_dict()
    not_yet = Decision.from_dict({**values, "number": before.number + 1})
    with pytest.raises(ValueError, match="must have been made by this policy, got decision 61"):
        policy.learn(not_yet, 0.5)
    loaded = LinUCB.load(path)
    for change in ({"number": -1}, {"number": 2**40}, {"policy": "f00:bar.0"}, {"policy": "f00"}, {"policy": ""}):
        with pytest.raises(ValueError, match="must have been made by this policy"):
            loaded.learn(Decision.from_dict({**values, **change}), 0.5)
        assert not loaded.has_learned(Decision.from_dict({**values, **change}))
    with pytest.raises(ValueError, match="must be a Decision or Slate that choose returned, got dict"):
        loaded.has_learned(values)


def test_an_arm_forgotten_later_is_forgotten_for_every_earlier_session(saved, tmp_path):
    """Whether the session was saved or not, and also after another save."""
    policy, before, path = saved
    died = LinUCB.load(path)
    unseen = died.choose(CONTEXTS, "female")
    after = policy.choose(CONTEXTS, "female")
    loaded = LinUCB.load(path)
    arms = {each.arm for each in (before, unseen, after)}
    for arm in arms:
        loaded.forget_arm(arm)
    loaded.save(tmp_path / "again")
    for each in (loaded, LinUCB.load(tmp_path / "again")):
        for decision in (before, unseen, after):
            each.learn(decision, 0.5)
        assert not arms & set(each.arms_learned)
        assert each.rounds_learned == 63


def test_an_arm_that_was_forgotten_and_offered_again_is_learned(saved, tmp_path):
    """By a session that began after it was forgotten, and that was never saved."""
    policy, before, path = saved
    policy.forget_arm(before.arm)
    policy.save(path)
    died = LinUCB.load(path)
    new = died.choose(CONTEXTS[[before.index]], "male", arms=[before.arm])
    loaded = LinUCB.load(path)
    loaded.learn(before, 0.5)
    assert before.arm not in loaded.arms_learned
    loaded.learn(new, 0.5)
    assert before.arm in loaded.arms_learned


def test_forgetting_twice_keeps_the_order(saved):
    policy, before, path = saved
    others = [arm for arm in policy.arms_learned if arm != before.arm]
    for arm in (before.arm, others[0]):
        policy.forget_arm(arm)
    policy.learn(policy.choose(CONTEXTS[[0]], arms=[before.arm]), 0.5)
    policy.save(path)
    died = LinUCB.load(path)
    open_decision = died.choose(CONTEXTS[[0]], arms=[before.arm])
    loaded = LinUCB.load(path)
    loaded.forget_arm(before.arm)
    loaded.learn(open_decision, 0.5)
    assert before.arm not in loaded.arms_learned


def test_merged_policies_know_both_families_and_share_them():
    left, right = teach(LinUCB(random_state=0))[0], teach(LinUCB(random_state=1))[0]
    merged = left.merge(right)
    for policy in (left, right):
        decision = policy.choose(CONTEXTS, "male")  # after the merge
        merged.learn(decision, 0.5)
        assert merged.has_learned(decision)
        with pytest.raises(ValueError, match="must not share a history"):
            merged.merge(policy)
        with pytest.raises(ValueError, match="must have been made by this policy"):
            policy.learn(merged.choose(CONTEXTS), 0.5)
    merged.merge(LinUCB())


def test_loaded_copies_share_a_past(saved):
    policy, _, path = saved
    for other in (policy, LinUCB.load(path), copy.deepcopy(policy)):
        with pytest.raises(ValueError, match="must not share a history"):
            LinUCB.load(path).merge(other)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))])  # noqa: S301
def test_copies_in_memory_name_their_decisions_differently(copied):
    policy, _ = teach(LinUCB(random_state=0))
    before = policy.choose(CONTEXTS, "male")
    twin = copied(policy)
    ours, theirs = policy.choose(CONTEXTS, "male"), twin.choose(CONTEXTS, "male")
    assert ours.policy != theirs.policy
    twin.learn_many([before, theirs], [0.5, 0.5])


def test_sessions_without_decisions_leave_no_trace(saved):
    _, _, path = saved
    for _ in range(5):
        LinUCB.load(path).save(path)
    assert len(persistence.read(path).header["ledger"]["accounts"]) == 2


def test_files_of_version_4_keep_their_decisions(tmp_path):
    """In which a ledger had accounts by policy, without families."""
    policy, _ = teach(LinUCB(random_state=0))
    pending = policy.choose(CONTEXTS, "male")
    state = policy.state()
    ledger = state.header["ledger"]
    [(session, account)] = ledger["accounts"].items()
    state.header["ledger"] = {"policy": "abcd", "accounts": {"abcd": {**account, "forgotten": [[5, 3]]}}}
    del state.header["ledger"]["accounts"]["abcd"]["epoch"]
    state.arrays["ledger.abcd"] = state.arrays.pop(f"ledger.{session}")
    (tmp_path / "old").write_bytes(as_version(state.to_bytes(), "4"))
    loaded = Policy.load(tmp_path / "old")
    assert loaded.choose(CONTEXTS).policy.startswith("abcd:")
    for number in (pending.number, pending.number + 7):
        old = Decision.from_dict({**pending.to_dict(), "policy": "abcd", "number": number})
        loaded.learn(old, 0.5)
        assert loaded.has_learned(old)
    assert loaded.has_learned(Decision.from_dict({**pending.to_dict(), "policy": "abcd", "number": 3}))


def apply(journal, policy):
    """Learn what the policy has not learned of a journal."""
    for decision in journal:
        if not policy.has_learned(decision):
            policy.learn(decision, 0.5 if isinstance(decision, Decision) else [0.5, None])


def forget_first(policy):
    if policy.arms_learned:
        policy.forget_arm(policy.arms_learned[0])


@settings(max_examples=30, deadline=None)
@given(lives=st.lists(st.lists(st.sampled_from(["choose", "slate", "learn", "save", "forget"])), max_size=5))
def test_whatever_is_saved_lost_and_loaded_each_decision_is_learned_once(tmp_path_factory, lives):
    """A process saves, dies and is started again at random; its journal is applied after each start."""
    path = tmp_path_factory.mktemp("ledger") / "policy"
    LinUCB(random_state=0).save(path)
    journal = []
    for life in [*lives, []]:
        policy = Policy.load(path)
        apply(journal, policy)
        assert policy.rounds_learned == len(journal)
        steps = {
            "choose": lambda p: journal.append(Decision.from_dict(p.choose(CONTEXTS, "male").to_dict())),
            "slate": lambda p: journal.append(Slate.from_dict(p.choose(CONTEXTS, "male", k=2).to_dict())),
            "learn": lambda p: apply(journal, p),
            "save": lambda p: p.save(path),
            "forget": forget_first,
        }
        for step in life:
            steps[step](policy)
    assert policy.groups.counts.tolist() == [len(journal)] * bool(journal)
