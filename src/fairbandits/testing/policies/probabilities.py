"""Probabilities: those of decisions match the observed frequencies, and those of all arms sum to 1."""

from __future__ import annotations

import numpy as np

from fairbandits.testing.policies.subject import PolicySubject, close

_COPIES = 60
_SEEDS_PER_COPY = 10
_LOWEST = 0.05


def check_stated_probabilities(subject: PolicySubject) -> None:
    """Check that, over many seeds, arms and slates are chosen with their stated probability."""
    if "random_state" not in subject.new().get_params():
        return
    contexts, group, _ = next(subject.rounds(1, seed=9))
    contexts = np.repeat(contexts[:2], 2, axis=0)
    arms = ["v", "w", "x", "y"]
    decisions, slates = [], []
    # Loading takes longer than choosing, so each copy is used for several seeds.
    for seed, policy in enumerate(subject.reloaded(subject.trained(), _COPIES) * _SEEDS_PER_COPY):
        policy.set_params(random_state=seed)
        decisions.append(policy.choose(contexts, group, arms))
        slates.append(policy.choose(contexts, group, arms, k=2))
    _assert_frequencies([(f"arm {d.arm!r}", d.probability) for d in decisions])
    _assert_frequencies([(f"slate {s.picked}", s.probability) for s in slates])


def _assert_frequencies(choices: list[tuple[str, float | None]]) -> None:
    if any(probability is None for _, probability in choices):
        return
    for choice in {choice for choice, _ in choices}:
        stated = [probability for what, probability in choices if what == choice and probability is not None]
        expected, observed = float(np.mean(stated)), len(stated) / len(choices)
        # The tolerance is five standard errors.
        error = 5.0 * np.sqrt(max(expected * (1.0 - expected), 1e-9) / len(choices))
        assert abs(observed - expected) <= error, (
            f"{choice} was chosen {observed:.1%} of the time, but its stated probability is {expected:.1%}"
        )


def check_probabilities_of_all_arms(subject: PolicySubject) -> None:
    """Check that the probabilities of all arms are a distribution, and agree with those of decisions."""
    policy = subject.trained()
    before = policy.checksum()
    rounds = list(subject.rounds(6, seed=6))
    contexts, groups = np.array([contexts for contexts, _, _ in rounds]), [group for _, group, _ in rounds]
    probabilities = policy.probabilities(contexts, groups, draws=3)
    assert probabilities.min() >= 0.0, "probabilities must not be negative"
    assert close(probabilities.sum(axis=1), np.ones(len(rounds))), "the probabilities of all arms must sum to 1"
    assert policy.checksum() == before, "probabilities must not change the learned state"
    # Probabilities that depend on the number of draws are estimates and have no closed form.
    if np.array_equal(probabilities, policy.probabilities(contexts, groups, draws=50)):
        for user, decision in enumerate(policy.choose_many(contexts, groups)):
            stated, computed = decision.probability, probabilities[user, decision.index]
            assert stated is None or abs(computed - stated) < 1e-9, (
                f"a decision states the probability {stated:.3g}, but probabilities() returns {computed:.3g}; "
                "both must follow the same rule"
            )


def check_min_probability(subject: PolicySubject) -> None:
    """Check that with `min_probability` every arm on offer has at least that probability."""
    if "min_probability" not in subject.policy.get_params():
        return
    policy = subject.new(random_state=0, min_probability=_LOWEST)
    subject.train(policy)
    rounds = list(subject.rounds(6, seed=6))
    contexts, groups = np.array([contexts for contexts, _, _ in rounds]), [group for _, group, _ in rounds]
    stated = [decision.probability for decision in policy.choose_many(contexts, groups)]
    if None not in stated:
        stated += policy.probabilities(contexts, groups).ravel().tolist()
    lowest = min((probability for probability in stated if probability is not None), default=1.0)
    assert lowest > _LOWEST - 1e-9, (
        f"with min_probability={_LOWEST} every arm must have at least that probability, got {lowest:.3g}; pass "
        "scores to the picker, and pick nowhere else"
    )


CHECKS = (check_stated_probabilities, check_probabilities_of_all_arms, check_min_probability)
