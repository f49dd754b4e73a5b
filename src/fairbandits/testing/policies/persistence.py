"""Persistence: a loaded policy continues exactly like the saved one."""

from __future__ import annotations

from fairbandits.policies.serialisation import params_to_dict
from fairbandits.testing.policies.subject import PolicySubject


def check_saved_and_loaded(subject: PolicySubject) -> None:
    """Check that a loaded policy has the same parameters and state, and chooses and learns in the same way."""
    policy = subject.trained()
    contexts, group, _ = subject.first_round()
    pending = policy.choose(contexts, group)
    (loaded,) = subject.reloaded(policy)
    ours, theirs = (params_to_dict(each.get_params()) for each in (policy, loaded))
    assert ours == theirs, "a loaded policy must have the parameters of the saved one"
    assert loaded.checksum() == policy.checksum(), "a loaded policy must have the learned state of the saved one"
    reward = sum(policy.reward_range) / 2.0
    policy.learn(pending, reward)
    loaded.learn(pending, reward)
    assert subject.train(loaded) == subject.train(policy), "a loaded policy must choose as the saved one does"
    assert loaded.checksum() == policy.checksum(), (
        "a loaded policy must learn as the saved one does, bitwise identically"
    )


CHECKS = (check_saved_and_loaded,)
