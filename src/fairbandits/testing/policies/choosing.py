"""Choosing: decisions, scores, determinism, and all kinds of contexts, arms and groups."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fairbandits.policies import Decision
from fairbandits.testing.policies.subject import N_ARMS, PolicySubject, assert_refused, close


def check_decision(subject: PolicySubject) -> None:
    """Check that a decision is consistent, and that its score is the sum of its terms."""
    policy = subject.new(random_state=0)
    arms = [f"arm{i}" for i in range(N_ARMS)]
    for contexts, group, reward in subject.rounds(20):
        decision = policy.choose(contexts, group, arms)
        assert isinstance(decision, Decision), "choose must return a Decision"
        assert decision.arm == arms[decision.index], "decision.arm must be the arm at decision.index"
        assert decision.probability is None or 0.0 < decision.probability <= 1.0, (
            f"the probability of the chosen arm must be in (0, 1], got {decision.probability}"
        )
        scores = decision.scores
        for name in ("mean", "width", "exploration", "fairness", "total"):
            term = getattr(scores, name)
            assert term.shape == (N_ARMS,), f"scores.{name} must have one entry per arm, got shape {term.shape}"
            assert np.isfinite(term).all(), f"scores.{name} must be finite"
        total = scores.mean + scores.exploration + scores.fairness
        assert np.allclose(total, scores.total, atol=1e-12), "scores.total must be the sum of the other terms"
        policy.learn(decision, reward)


def check_choosing_does_not_learn(subject: PolicySubject) -> None:
    """Check that choosing and scoring leave the learned state unchanged."""
    policy = subject.trained()
    before = policy.checksum()
    for contexts, group, _ in subject.rounds(5):
        policy.choose(contexts, group)
        policy.choose_many(contexts[None], [group])
        policy.score(contexts[None], [group])
    assert policy.checksum() == before, "choose must not change the learned state"


def check_random_state_determines_choices(subject: PolicySubject) -> None:
    """Check that equal seeds lead to equal choices."""
    one, other = (subject.train(subject.new(random_state=3)) for _ in range(2))
    assert one == other, "two policies with the same random_state must choose the same arms"


def check_dense_and_sparse_contexts_agree(subject: PolicySubject) -> None:
    """Check that dense and sparse contexts lead to the same scores and choices."""
    with_dense, with_sparse = subject.new(random_state=0), subject.new(random_state=0)
    for contexts, group, reward in subject.rounds(40):
        one = with_dense.choose(contexts, group)
        other = with_sparse.choose(sparse.csr_array(contexts), group)
        assert one.arm == other.arm, "dense and sparse contexts must lead to the same arm"
        assert close(one.scores.total, other.scores.total), "dense and sparse contexts must have the same scores"
        with_dense.learn(one, reward)
        with_sparse.learn(other, reward)


def check_many_users_at_once(subject: PolicySubject) -> None:
    """Check that choose_many makes the same decisions as choose does, user by user."""
    together, one_by_one = subject.trained(), subject.trained()
    rounds = list(subject.rounds(12, seed=5))
    groups = [group for _, group, _ in rounds]
    stacked = np.array([contexts for contexts, _, _ in rounds])
    many = together.choose_many(stacked, groups)
    single = [one_by_one.choose(contexts, group) for contexts, group, _ in rounds]
    many_slates = together.choose_many(stacked, groups, k=2)
    single_slates = [one_by_one.choose(contexts, group, k=2) for contexts, group, _ in rounds]
    pairs = [(a.scores, b.scores) for a, b in zip(many, single, strict=True)]
    assert all(close(a.mean, b.mean) for a, b in pairs), "choose_many must predict the same means as choose"
    # Random scores may be drawn in a different order for many users at once. Without them, all choices are equal.
    if all(np.array_equal(a.exploration, b.exploration) for a, b in pairs):
        assert [d.arm for d in many] == [d.arm for d in single], "choose_many must choose the same arms as choose"
        slates = ([slate.picked for slate in each] for each in (many_slates, single_slates))
        assert next(slates) == next(slates), "choose_many must choose the same slates as choose"


def check_arms_come_and_go(subject: PolicySubject) -> None:
    """Check that new arms can be offered, and that arms can be forgotten and offered again."""
    policy = subject.new(random_state=0)
    for contexts, group, reward in subject.rounds(20):
        policy.learn(policy.choose(contexts, group), reward)
    contexts, group, reward = subject.first_round()
    decision = policy.choose(contexts[:3], group, arms=["new", 2, "newer"])
    assert decision.arm in ("new", 2, "newer"), "the chosen arm must be one of the arms on offer"
    policy.learn(decision, reward)
    policy.forget_arm(decision.arm)
    policy.learn(policy.choose(contexts[:1], group, arms=[decision.arm]), reward)
    assert_refused(policy, lambda: policy.forget_arm(0.5), "an arm id that is a fraction")  # type: ignore[arg-type]
    assert_refused(policy, lambda: policy.forget_arm("misspelt"), "an arm of which nothing was learned")


def check_groups_of_any_kind(subject: PolicySubject) -> None:
    """Check that groups can be strings, integers, unknown, or mappings of attributes."""
    policy = subject.new(random_state=0)
    contexts, _, reward = subject.first_round()
    for group in ("a", 7, None, {"sex": "female", "race": "Black"}, {"sex": "male", "race": None}, "b", "c"):
        policy.learn(policy.choose(contexts, group), reward)
    assert policy.groups.attributes == {
        "group": ("a", 7, "b", "c"),
        "sex": ("female", "male"),
        "race": ("Black",),
    }, "policy.groups must contain every known group that received a reward, and no unknown group"


CHECKS = (
    check_decision,
    check_choosing_does_not_learn,
    check_random_state_determines_choices,
    check_dense_and_sparse_contexts_agree,
    check_many_users_at_once,
    check_arms_come_and_go,
    check_groups_of_any_kind,
)
