"""Small things that several test files need."""

import numpy as np

from fairbandits import EpsilonGreedy, FairLinUCB, LinTS, LinUCB, NaiveLinUCB, Uniform

#: One of each kind, and every model.
POLICIES = {
    "LinUCB": LinUCB(),
    "LinUCB shared": LinUCB(model="shared"),
    "LinUCB theory": LinUCB(alpha="theory", model="shared"),
    "FairLinUCB": FairLinUCB(),
    "FairLinUCB shared": FairLinUCB(model="shared", gamma=1.0),
    "NaiveLinUCB": NaiveLinUCB(drop=[0, 3]),
    "Uniform": Uniform(),
    "EpsilonGreedy": EpsilonGreedy(epsilon=0.3),
    "EpsilonGreedy shared": EpsilonGreedy(model="shared"),
    "LinTS": LinTS(),
    "LinTS shared": LinTS(model="shared"),
}


def fresh(policy, **changes):
    return type(policy)(**{**policy.get_params(), **changes})


def contexts_for(rng, n_arms=6, width=10):
    contexts = np.zeros((n_arms, width))
    contexts[:, rng.integers(width // 2)] = 1.0
    contexts[np.arange(n_arms), width // 2 + rng.integers(width // 2, size=n_arms)] = rng.random(n_arms)
    return contexts


def teach(policy, rounds=60, seed=0, n_arms=6, width=10):
    """Let a policy choose and learn for a while; return it and the arms it chose."""
    rng = np.random.default_rng(seed)
    arms = []
    for t in range(rounds):
        decision = policy.choose(contexts_for(rng, n_arms, width), ("male", "female")[t % 2])
        policy.learn(decision, rng.random())
        arms.append(decision.arm)
    return policy, arms
