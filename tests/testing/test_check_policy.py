"""Every policy of the package passes check_policy, and policies with a defect fail it."""

import numpy as np
import pytest

from fairbandits import EpsilonGreedy, FairLinUCB, LinearPolicy, LinUCB, NaiveLinUCB, Policy, Uniform
from fairbandits.testing import check_policy, policy_checks
from tests.helpers import POLICIES, fresh

CASES = [(name, check) for name, policy in POLICIES.items() for check, _ in policy_checks(policy)]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_policy_passes(name, check):
    dict(policy_checks(POLICIES[name]))[check]()


class Greedy(LinearPolicy):
    """A custom policy in the fewest lines."""

    def terms(self, seen):
        return 0.0, 0.0


def test_a_minimal_custom_policy_passes():
    check_policy(Greedy())
    check_policy(Greedy(model="shared", ridge=0.5))


def test_a_class_defined_twice_passes():
    first = Greedy()
    type("Greedy", (LinearPolicy,), {"terms": Greedy.terms})
    check_policy(first)


class WrongProbability(Uniform):
    def pick(self, scores, rng):
        index, _ = super().pick(scores, rng)
        return index, 0.9


class LearnsWhileChoosing(LinUCB):
    def terms(self, seen):
        self.rounds_learned += 1
        return super().terms(seen)


class IgnoresMerged(LinUCB):
    def _absorb(self, other):
        pass


class AcceptsNaN(LinUCB):
    def learn(self, decision, reward, *, again=False):
        super().learn(decision, 0.5 if np.isnan(reward) else reward, again=again)


class ScoresNaN(LinUCB):
    def terms(self, seen):
        exploration, _ = super().terms(seen)
        return exploration, np.where(seen.rows >= 0, np.nan, 0.0)


class OtherRuleThanStated(EpsilonGreedy):
    def pick(self, scores, rng):
        return Uniform().pick(scores, rng)


class IgnoresSeed(LinUCB):
    def choose(self, contexts, group=None, arms=None):
        self._rng = np.random.default_rng()
        return super().choose(contexts, group, arms)

    def terms(self, seen):
        return self._rng.random(seen.mean.shape), 0.0


class RepeatsArms(LinUCB):
    def pick_slate(self, scores, k, rng):
        return [0] * k, 1.0


class WrongSlateProbability(Uniform):
    def pick_slate(self, scores, k, rng):
        picked, _ = super().pick_slate(scores, k, rng)
        return picked, 0.9


class ShortSlates(LinUCB):
    def choose(self, contexts, group=None, arms=None, *, k=None):
        return super().choose(contexts, group, arms, k=None if k is None else min(k, 2))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (WrongProbability(), r"but its stated probability is 90\.0%"),
        (LearnsWhileChoosing(), "choose must not change the learned state"),
        (IgnoresMerged(), "two merged halves must score as the whole does"),
        (AcceptsNaN(), "reward nan must be refused"),
        (ScoresNaN(), "scores.fairness must be finite"),
        (OtherRuleThanStated(epsilon=0.2), "both must follow the same rule"),
        (IgnoresSeed(), "same random_state must choose the same arms"),
        (RepeatsArms(), "the arms of a slate must differ"),
        (WrongSlateProbability(), r"slate .* was chosen .* but its stated probability is 90\.0%"),
        (ShortSlates(), "a slate must have k=3 arms, got 2"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Policy) else "",
)
def test_a_policy_with_a_defect_fails(policy, message):
    with pytest.raises(AssertionError, match=message):
        check_policy(policy)


def test_other_reward_ranges_and_columns_pass():
    check_policy(FairLinUCB(reward_range=(1, 5)))
    check_policy(LinUCB(reward_range=(-10, -2), model="shared"))
    check_policy(NaiveLinUCB(drop=["a"], columns=["a", "b"]))
    check_policy(NaiveLinUCB(drop=["a"], columns=np.array(["a", "b", "c"])))


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="policy must be an instance of a subclass of Policy, got 'LinUCB'"):
        check_policy("LinUCB")


def test_the_checked_policy_is_not_changed():
    policy = fresh(POLICIES["FairLinUCB"])
    before = policy.checksum()
    check_policy(policy)
    assert policy.checksum() == before
