"""Invalid input: it is rejected, and leaves the policy unchanged."""

from __future__ import annotations

import numpy as np

from fairbandits.testing.policies.subject import PolicySubject, assert_refused


def check_bad_contexts_are_refused(subject: PolicySubject) -> None:
    """Check that contexts that are not a finite matrix of the right width are rejected."""
    policy = subject.trained()
    good, group, _ = subject.first_round()
    for what, contexts in {
        "NaN in contexts": np.full_like(good, np.nan),
        "infinity in contexts": np.full_like(good, np.inf),
        "contexts of another width": good[:, 1:],
        "contexts without arms": good[:0],
        "contexts that are not a matrix": good[0],
    }.items():
        assert_refused(policy, lambda contexts=contexts: policy.choose(contexts, group), what)  # type: ignore[misc]


def check_bad_rewards_are_refused(subject: PolicySubject) -> None:
    """Check that rewards that are not numbers, or that lie outside the reward range, are rejected."""
    policy = subject.trained()
    contexts, group, _ = subject.first_round()
    decision = policy.choose(contexts, group)
    low, high = policy.reward_range
    for reward in (float("nan"), low - 1.0, high + 1.0, "much", None):
        assert_refused(policy, lambda reward=reward: policy.learn(decision, reward), f"reward {reward!r}")  # type: ignore[misc]


def check_bad_arms_and_groups_are_refused(subject: PolicySubject) -> None:
    """Check that duplicate or missing arm ids, and fractional groups, are rejected."""
    policy = subject.trained()
    contexts, group, _ = subject.first_round()
    duplicates = [0] * len(contexts)
    assert_refused(policy, lambda: policy.choose(contexts, group, arms=duplicates), "duplicate arm ids")
    assert_refused(policy, lambda: policy.choose(contexts, group, arms=[0]), "too few arm ids")
    assert_refused(policy, lambda: policy.choose(contexts, 0.5), "a group that is a fraction")  # type: ignore[call-overload]


CHECKS = (check_bad_contexts_are_refused, check_bad_rewards_are_refused, check_bad_arms_and_groups_are_refused)
