"""Every policy of the package passes check_policy, and policies with a defect fail it."""

import numpy as np
import pytest

from fairbandits import FairLinUCB, GreedyPicker, LinUCB, NaiveLinUCB, Policy
from fairbandits.policies import share_of_best
from fairbandits.policies.uniform import UniformPicker
from fairbandits.testing import check_policy, policy_checks
from tests.helpers import POLICIES, fresh

CASES = [(name, check) for name, policy in POLICIES.items() for check, _ in policy_checks(policy)]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_policy_passes(name, check):
    dict(policy_checks(POLICIES[name]))[check]()


class Greedy(Policy):
    """A custom policy in the fewest lines."""

    def terms(self, predictions):
        return 0.0, 0.0


def test_a_minimal_custom_policy_passes():
    check_policy(Greedy())
    check_policy(Greedy(model="shared", ridge=0.5))


def test_a_class_defined_twice_passes():
    first = Greedy()
    type("Greedy", (Policy,), {"terms": Greedy.terms})
    check_policy(first)


def picking(picker, *bases):
    """Return a policy class that has a picker."""
    return type(picker.__name__, bases or (LinUCB,), {"picker": property(lambda self: picker())})


class WrongProbability(UniformPicker):
    def pick(self, scores, group, rng):
        return super().pick(scores, group, rng)[0], 0.9


class LearnsWhileChoosing(LinUCB):
    def terms(self, predictions):
        self.rounds_learned += 1
        return super().terms(predictions)


class IgnoresMerged(LinUCB):
    def merge(self, other):
        return super().merge(IgnoresMerged())


class AcceptsNaN(LinUCB):
    def learn(self, decision, reward, *, again=False):
        super().learn(decision, 0.5 if np.isnan(reward) else reward, again=again)


class ScoresNaN(LinUCB):
    def terms(self, predictions):
        exploration, _ = super().terms(predictions)
        return exploration, np.where(predictions.arms >= 0, np.nan, 0.0)


class OtherRuleThanStated(GreedyPicker):
    def pick(self, scores, group, rng):
        return UniformPicker().pick(scores, group, rng)


class IgnoresSeed(LinUCB):
    def choose(self, contexts, group=None, arms=None):
        self._rng = np.random.default_rng()
        return super().choose(contexts, group, arms)

    def terms(self, predictions):
        return self._rng.random(predictions.mean.shape), 0.0


class RepeatsArms(GreedyPicker):
    def slate(self, scores, k, group, rng):
        return [0] * k, 1.0


class WrongSlateProbability(UniformPicker):
    def slate(self, scores, k, group, rng):
        return super().slate(scores, k, group, rng)[0], 0.9


class ShortSlates(LinUCB):
    def choose(self, contexts, group=None, arms=None, *, k=None):
        return super().choose(contexts, group, arms, k=None if k is None else min(k, 2))


class IgnoresMinProbability(LinUCB):
    def choose_many(self, contexts, groups=None, arms=None, *, k=None):
        given, self.min_probability = self.min_probability, 0.0
        try:
            return super().choose_many(contexts, groups, arms, k=k)
        finally:
            self.min_probability = given

    def probabilities(self, contexts, groups=None, arms=None, *, draws=100):
        return share_of_best(self.score(contexts, groups, arms).total)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (IgnoresMinProbability(), r"every arm must have at least that probability, got 0"),
        (picking(WrongProbability)(), r"but its stated probability is 90\.0%"),
        (LearnsWhileChoosing(), "choose must not change the learned state"),
        (IgnoresMerged(), "two merged halves must score as the whole does"),
        (AcceptsNaN(), "reward nan must be refused"),
        (picking(OtherRuleThanStated)(), "choose_many must choose the same arms as choose"),
        (IgnoresSeed(), "same random_state must choose the same arms"),
        (picking(RepeatsArms)(), "the arms of a slate must differ"),
        (picking(WrongSlateProbability)(), r"slate .* was chosen .* but its stated probability is 90\.0%"),
        (ShortSlates(), "a slate must have k=3 arms, got 2"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Policy) else "",
)
def test_a_policy_with_a_defect_fails(policy, message):
    with pytest.raises(AssertionError, match=message):
        check_policy(policy)


def test_scores_that_are_not_finite_are_refused_when_they_occur():
    with pytest.raises(ValueError, match="scores must be finite"):
        check_policy(ScoresNaN())


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
