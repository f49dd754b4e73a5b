"""The policy under test: copies of it, suitable rounds, and assertions shared by several checks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.policies import Decision, Policy

Floats = NDArray[np.float64]
#: The contexts, the group and the reward of a round.
Round = tuple[Floats, str, float]

N_ARMS = 6
_WIDTH = 9


class PolicySubject:
    """Makes copies of the policy under test, and rounds that suit its parameters."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        params = policy.get_params(deep=False)
        columns = params.get("columns")
        self.feature_map = getattr(params.get("model"), "feature_map", None)
        if self.feature_map is not None:
            self.width = int(self.feature_map.n_features_in_)
        else:
            self.width = _WIDTH if columns is None else len(columns)

    def new(self, **changes: Any) -> Policy:
        """Return an untrained copy."""
        return type(self.policy)(**{**self.policy.get_params(deep=False), **changes})

    def trained(self, random_state: int = 0) -> Policy:
        """Return a copy that has been trained for some rounds."""
        policy = self.new(random_state=random_state)
        self.train(policy)
        return policy

    def train(self, policy: Policy) -> list[Any]:
        """Train a policy for some rounds, and return the arms that it chose."""
        arms = []
        for contexts, group, reward in self.rounds(40, seed=2):
            decision = policy.choose(contexts, group)
            policy.learn(decision, reward)
            arms.append(decision.arm)
        return arms

    def reloaded(self, policy: Policy, copies: int = 1) -> list[Policy]:
        """Save a policy, and return copies of it loaded from the file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "policy"
            policy.save(path)
            return [type(self.policy).load(path, feature_map=self.feature_map) for _ in range(copies)]

    def rounds(self, n: int, seed: int = 0) -> Iterator[Round]:
        """Iterate over rounds with mostly one-hot contexts, two groups, and rewards within the reward range."""
        low, high = self.policy.reward_range
        rng = np.random.default_rng(seed)
        for _ in range(n):
            contexts = np.zeros((N_ARMS, self.width))
            contexts[np.arange(N_ARMS), rng.integers(self.width, size=N_ARMS)] = 1.0
            contexts[:, rng.integers(self.width)] = rng.random()
            yield contexts, ("female", "male")[rng.integers(2)], low + (high - low) * float(rng.random())

    def first_round(self) -> Round:
        """Return a single round."""
        return next(self.rounds(1))

    def forced_decisions(self, policy: Policy, n: int) -> list[Decision]:
        """Return n decisions with a single arm on offer, so that every policy makes the same decisions."""
        return [
            policy.choose(contexts[:1], group, arms=[i % 4])
            for i, (contexts, group, _) in enumerate(self.rounds(n))
        ]

    def assert_equivalent(self, one: Policy, other: Policy, promise: str) -> None:
        """Assert that two policies give the same scores, and have the same gap between groups."""
        # If the order of rewards matters, only the groups must be equal.
        for contexts, group, _ in () if one.order_dependent else self.rounds(5, seed=8):
            a, b = one.score(contexts[None], [group]), other.score(contexts[None], [group])
            for term in ("mean", "width", "fairness"):
                assert close(getattr(a, term), getattr(b, term)), f"{promise}; scores.{term} differs"
        assert abs(one.groups.gap() - other.groups.gap()) < 1e-9, f"{promise}; the reward gap differs"


def close(a: Floats, b: Floats) -> bool:
    """Return whether two arrays agree up to rounding errors."""
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


def assert_refused(policy: Policy, call: Callable[[], Any], what: str) -> None:
    """Assert that a call raises ValueError with a message, and leaves the policy unchanged."""
    before = policy.checksum()
    message = ""
    try:
        call()
    except ValueError as error:
        message = str(error)
    assert message, f"{what} must be refused with a ValueError that has a message, but was not"
    assert policy.checksum() == before, f"{what} was refused, but the policy had already changed"
