"""Merging: two policies that learned from parts of the data equal one that learned from all of it."""

from __future__ import annotations

from fairbandits.testing.policies.subject import PolicySubject, assert_refused


def check_merged_halves(subject: PolicySubject) -> None:
    """Check that two merged halves give the same scores as the whole."""
    whole, left, right = (subject.new(random_state=0) for _ in range(3))
    rewards = [reward for _, _, reward in subject.rounds(40)]
    whole.learn_many(subject.forced_decisions(whole, 40), rewards)
    left.learn_many(subject.forced_decisions(left, 40)[:17], rewards[:17])
    right.learn_many(subject.forced_decisions(right, 40)[17:], rewards[17:])
    if not left.is_mergeable:
        assert_refused(left, lambda: left.merge(right), "merging policies whose model cannot be merged")
        return
    subject.assert_equivalent(left.merge(right), whole, "two merged halves must score as the whole does")


CHECKS = (check_merged_halves,)
