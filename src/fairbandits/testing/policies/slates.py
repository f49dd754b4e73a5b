"""Slates: several arms chosen at once."""

from __future__ import annotations

import json

from fairbandits.policies import Slate
from fairbandits.testing.policies.subject import N_ARMS, PolicySubject, assert_refused, close


def check_slate(subject: PolicySubject) -> None:
    """Check that a slate is consistent, and counts as one round, and once for the group of its user."""
    policy = subject.new(random_state=0)
    arms = [f"arm{i}" for i in range(N_ARMS)]
    for number, (contexts, group, reward) in enumerate(subject.rounds(20)):
        k = 1 + number % N_ARMS
        slate = policy.choose(contexts, group, arms, k=k)
        assert isinstance(slate, Slate), "choose must return a Slate if k is given"
        assert len(slate) == k, f"a slate must have k={k} arms, got {len(slate)}"
        assert len(set(slate.picked)) == k, f"the arms of a slate must differ, got {slate.picked}"
        assert [arms[i] for i in slate.indices] == list(slate.picked), (
            "slate.picked must be the arms at slate.indices"
        )
        assert slate.probability is None or 0.0 < slate.probability <= 1.0, (
            f"the probability of the chosen slate must be in (0, 1], got {slate.probability}"
        )
        assert slate.scores.total.shape == (N_ARMS,), "slate.scores must have one entry per arm on offer"
        policy.learn(Slate.from_dict(json.loads(json.dumps(slate.to_dict()))), [reward] * k)
    assert policy.rounds_learned == 20, f"20 slates must count as 20 rounds, got {policy.rounds_learned}"
    counted = sum(summary.count for summary in policy.groups.summaries())
    assert counted == 20, f"20 slates must count 20 times for the groups of their users, got {counted}"


def check_arms_of_a_slate_are_learned(subject: PolicySubject) -> None:
    """Check that each arm of a slate is learned as if it had been chosen alone."""
    # A slate counts once for its group, so the fairness terms may differ, and only the predictions are compared.
    with_slates, one_by_one = subject.new(random_state=0), subject.new(random_state=0)
    low, high = subject.policy.reward_range
    for contexts, group, reward in subject.rounds(20):
        slate = with_slates.choose(contexts, group, k=3)
        rewards = [reward, None, low + high - reward]
        with_slates.learn(slate, rewards)
        for arm, index, value in zip(slate.picked, slate.indices, rewards, strict=True):
            if value is not None:
                one_by_one.learn(one_by_one.choose(contexts[[index]], group, [arm]), value)
    for contexts, group, _ in subject.rounds(5, seed=8):
        a, b = (policy.score(contexts[None], [group]) for policy in (with_slates, one_by_one))
        assert close(a.mean, b.mean), "the arms of a slate must be learned as if each had been chosen alone"
        assert close(a.width, b.width), "the arms of a slate must be learned as if each had been chosen alone"


def check_pending_slates_survive(subject: PolicySubject) -> None:
    """Check that a pending slate can be learned after saving, loading, merging and forgetting one of its arms."""
    policy, other = subject.trained(), subject.trained(random_state=1)
    contexts, group, reward = subject.first_round()
    pending = policy.choose(contexts, group, k=3)
    policy.forget_arm(pending.picked[0], missing_ok=True)
    (loaded,) = subject.reloaded(policy)
    merged = [policy.merge(other)] if policy.is_mergeable else []
    for each in (policy, loaded, *merged):
        each.learn_many([pending, each.choose(contexts, group)], [[reward] * 3, reward])
        assert_refused(each, lambda each=each: each.learn(pending, reward), "a slate that was learned before")  # type: ignore[misc]
    assert loaded.checksum() == policy.checksum(), "a loaded policy must learn a slate as the saved one does"


def check_invalid_slates_are_refused(subject: PolicySubject) -> None:
    """Check that invalid sizes and rewards of slates are refused."""
    policy = subject.trained()
    contexts, group, reward = subject.first_round()
    for k in (0, -1, N_ARMS + 1, 2.5, True, "all"):
        assert_refused(policy, lambda k=k: policy.choose(contexts, group, k=k), f"k={k!r}")  # type: ignore[misc]
    slate = policy.choose(contexts, group, k=2)
    _, high = policy.reward_range
    for rewards in ([reward], [reward] * 3, [None, None], [reward, high + 1.0], high + 1.0, "much"):
        what = f"rewards {rewards!r} for two arms"
        assert_refused(policy, lambda rewards=rewards: policy.learn(slate, rewards), what)  # type: ignore[misc]


CHECKS = (
    check_slate,
    check_arms_of_a_slate_are_learned,
    check_pending_slates_survive,
    check_invalid_slates_are_refused,
)
