"""Every policy passes the suite that users run on theirs; a policy that cheats does not."""

import numpy as np
import pytest

from fairbandits import EpsilonGreedy, FairLinUCB, LinUCB, NaiveLinUCB, Policy, Uniform
from fairbandits.testing import check_policy, policy_checks
from tests.helpers import POLICIES, fresh

CASES = [(name, check) for name, policy in POLICIES.items() for check, _ in policy_checks(policy)]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_policy(name, check):
    dict(policy_checks(POLICIES[name]))[check]()


class Greedy(Policy):
    """A user's own policy, in the fewest lines."""

    def terms(self, seen):
        return 0.0, 0.0


def test_a_policy_of_three_lines_passes():
    check_policy(Greedy())
    check_policy(Greedy(model="shared", ridge=0.5))


def test_a_class_that_was_defined_twice_still_passes():
    first = Greedy()
    type("Greedy", (Policy,), {"terms": Greedy.terms})
    check_policy(first)


class Liar(Uniform):
    def pick(self, scores, rng):
        index, _ = super().pick(scores, rng)
        return index, 0.9


class Hoarder(LinUCB):
    def terms(self, seen):
        self.rounds_learned += 1
        return super().terms(seen)


class Forgetful(LinUCB):
    def _absorb(self, other):
        pass


class Trusting(LinUCB):
    def learn(self, decision, reward, *, again=False):
        super().learn(decision, 0.5 if np.isnan(reward) else reward, again=again)


class Muddled(LinUCB):
    def terms(self, seen):
        exploration, _ = super().terms(seen)
        return exploration, np.where(seen.rows >= 0, np.nan, 0.0)


class Vague(EpsilonGreedy):
    def pick(self, scores, rng):
        return Uniform().pick(scores, rng)


class Restless(LinUCB):
    def choose(self, contexts, group=None, arms=None):
        self._rng = np.random.default_rng()
        return super().choose(contexts, group, arms)

    def terms(self, seen):
        return self._rng.random(seen.mean.shape), 0.0


class Repeating(LinUCB):
    def pick_slate(self, scores, k, rng):
        return [0] * k, 1.0


class Boastful(Uniform):
    def pick_slate(self, scores, k, rng):
        picked, _ = super().pick_slate(scores, k, rng)
        return picked, 0.9


class Careless(LinUCB):
    def choose(self, contexts, group=None, arms=None, *, k=None):
        return super().choose(contexts, group, arms, k=None if k is None else min(k, 2))


@pytest.mark.parametrize(
    ("policy", "promise"),
    [
        (Liar(), "its probability is stated as"),
        (Hoarder(), "choose must not change what was learned"),
        (Forgetful(), "two halves merged"),
        (Trusting(), "reward nan must be refused"),
        (Muddled(), "scores.fairness must be finite"),
        (Vague(epsilon=0.2), "override pick and chances together"),
        (Restless(), "same random_state must pick the same arms"),
        (Repeating(), "the arms of a slate must differ"),
        (Boastful(), "slate .* was picked .* but its probability is stated as 90.0%"),
        (Careless(), "a slate must have as many arms as were asked for, 3; it has 2"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Policy) else "",
)
def test_a_policy_that_breaks_a_promise_is_found_out(policy, promise):
    with pytest.raises(AssertionError, match=promise):
        check_policy(policy)


def test_policies_with_other_rewards_and_columns_pass():
    check_policy(FairLinUCB(reward_range=(1, 5)))
    check_policy(LinUCB(reward_range=(-10, -2), model="shared"))
    check_policy(NaiveLinUCB(drop=["a"], columns=["a", "b"]))
    check_policy(NaiveLinUCB(drop=["a"], columns=np.array(["a", "b", "c"])))


def test_only_policies_are_checked():
    with pytest.raises(TypeError, match="takes a policy"):
        check_policy("LinUCB")


def test_the_policy_that_is_checked_stays_as_it_was():
    policy = fresh(POLICIES["FairLinUCB"])
    before = policy.checksum()
    check_policy(policy)
    assert policy.checksum() == before
