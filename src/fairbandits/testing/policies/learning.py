"""Learning: in any order, exactly once, from a policy's own decisions and from logs."""

from __future__ import annotations

import numpy as np

from fairbandits.categorical import Categorical
from fairbandits.testing.policies.subject import PolicySubject, assert_refused


def check_rewards_in_any_order(subject: PolicySubject) -> None:
    """Check that the order in which rewards arrive does not matter."""
    ordered, shuffled = subject.new(random_state=0), subject.new(random_state=0)
    rewards = [reward for _, _, reward in subject.rounds(30)]
    ordered.learn_many(subject.forced_decisions(ordered, 30), rewards)
    decisions = subject.forced_decisions(shuffled, 30)
    for i in np.random.default_rng(1).permutation(30):
        shuffled.learn(decisions[i], rewards[i])
    subject.assert_equivalent(ordered, shuffled, "rewards learned in another order must lead to the same scores")


def check_each_decision_is_learned_once(subject: PolicySubject) -> None:
    """Check that a decision of another policy, or one that was already learned, is rejected."""
    policy, other = subject.new(random_state=0), subject.new(random_state=0)
    contexts, group, reward = subject.first_round()
    decision = policy.choose(contexts, group)
    assert_refused(other, lambda: other.learn(decision, reward), "a decision of another policy")
    policy.learn(decision, reward)
    assert_refused(policy, lambda: policy.learn(decision, reward), "a decision that was learned before")
    policy.learn(decision, reward, again=True)
    assert policy.rounds_learned == 2, "with again=True, a decision must count twice"


def check_logged_decisions_are_learned(subject: PolicySubject) -> None:
    """Check that decisions from a log are learned in the same way as the policy's own decisions."""
    online, logged = subject.new(random_state=0), subject.new(random_state=0)
    contexts, groups, rewards = zip(*subject.rounds(40), strict=True)
    online.learn_many(subject.forced_decisions(online, 40), rewards)
    arms = Categorical(np.arange(40, dtype=np.int32) % 4, [0, 1, 2, 3])
    sexes = Categorical(np.array([group == "male" for group in groups], np.int32), ["female", "male"])
    chosen = np.concatenate([each[:1] for each in contexts])
    logged.learn_logged(chosen, arms, np.array(rewards), {"group": sexes})
    assert logged.rounds_learned == 40, "every logged decision must count as a round"
    subject.assert_equivalent(logged, online, "logged decisions must be learned as the policy's own decisions are")


CHECKS = (check_rewards_in_any_order, check_each_decision_is_learned_once, check_logged_decisions_are_learned)
