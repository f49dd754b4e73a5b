"""Small things that several test files need."""

import json

import numpy as np
from safetensors.numpy import load, save
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import SplineTransformer

from fairbandits import (
    DUCB,
    FUCB,
    AlphaFairLinUCB,
    ConservativeLinUCB,
    CounterfactualLinUCB,
    EpsilonGreedy,
    EqualRegretLinUCB,
    EvenLinUCB,
    FairLinUCB,
    FairXTS,
    FairXUCB,
    LinTS,
    LinUCB,
    MaxMinLinUCB,
    Model,
    NaiveLinUCB,
    NeuralLinear,
    PrimalDualLinUCB,
    Uniform,
)

SAMPLE = np.random.default_rng(0).random((50, 10))
CURVED = Nystroem(n_components=8, random_state=0).fit(SAMPLE)
SPLINES = SplineTransformer(n_knots=3, degree=2, sparse_output=True).fit(SAMPLE)

#: Every model, in several ways.
MODELS = {
    "hybrid": "hybrid",
    "auto": "auto",
    "curved auto": Model(kind="auto", feature_map=CURVED),
    "logistic": Model(link="logistic"),
    "logistic shared": Model(kind="shared", link="logistic"),
    "logistic hybrid": Model(kind="hybrid", link="logistic"),
    "discount": Model(discount=0.9),
    "discount shared": Model(kind="shared", discount=0.99),
    "discount hybrid": Model(kind="hybrid", discount=0.9),
    "discount logistic": Model(link="logistic", discount=0.9),
    "curved": Model(feature_map=CURVED),
    "splines shared": Model(kind="shared", feature_map=SPLINES),
    "curved hybrid": Model(kind="hybrid", feature_map=CURVED),
}

#: One of each kind, and every model.
POLICIES = {
    "LinUCB": LinUCB(),
    "LinUCB shared": LinUCB(model="shared"),
    "LinUCB theory": LinUCB(alpha="theory", model="shared"),
    "FairLinUCB": FairLinUCB(),
    "FairLinUCB shared": FairLinUCB(model="shared", gamma=1.0),
    "FairLinUCB auto": FairLinUCB(gamma="auto", tolerance=0.02),
    "EvenLinUCB": EvenLinUCB(),
    "EvenLinUCB shared": EvenLinUCB(tolerance=0.05, model="shared"),
    "NaiveLinUCB": NaiveLinUCB(drop=[0, 3]),
    "PrimalDualLinUCB": PrimalDualLinUCB(),
    "CounterfactualLinUCB": CounterfactualLinUCB(swap=[(0, 1)], flip=[4]),
    "CounterfactualLinUCB curved": CounterfactualLinUCB(flip=(4,), model=Model(feature_map=CURVED)),
    "MaxMinLinUCB": MaxMinLinUCB(),
    "AlphaFairLinUCB": AlphaFairLinUCB(),
    "EqualRegretLinUCB": EqualRegretLinUCB(),
    "EqualRegretLinUCB shared": EqualRegretLinUCB(model="shared"),
    "DUCB": DUCB(separators=[1, 4, 5]),
    "FUCB": FUCB(swap=[(0, 1)], flip=[4], tolerance=0.3, delta=0.5),
    "FairXUCB": FairXUCB(steepness=5.0),
    "FairXUCB power": FairXUCB(merit="power", steepness=3.0, model="shared"),
    "FairXTS": FairXTS(),
    "FairXTS shared": FairXTS(model="shared", merit="power", steepness=2.0),
    "ConservativeLinUCB": ConservativeLinUCB(max_loss=0.4),
    "ConservativeLinUCB known": ConservativeLinUCB(baseline=1, baseline_reward=0.5, max_loss=0.4),
    "Uniform": Uniform(),
    "EpsilonGreedy": EpsilonGreedy(epsilon=0.3),
    "EpsilonGreedy shared": EpsilonGreedy(model="shared"),
    "LinTS": LinTS(),
    "LinTS shared": LinTS(model="shared"),
    "LinTS hybrid": LinTS(model="hybrid"),
    "LinTS logistic": LinTS(model=Model(link="logistic")),
    "LinTS logistic shared": LinTS(model=Model(kind="shared", link="logistic")),
    "NeuralLinear": NeuralLinear(hidden=(6, 4)),
    "NeuralLinear disjoint": NeuralLinear(hidden=(5,), model="disjoint"),
    "EpsilonGreedy hybrid": EpsilonGreedy(model="hybrid"),
    "NaiveLinUCB curved": NaiveLinUCB(drop=[0, 3], model=Model(feature_map=CURVED)),
    **{f"FairLinUCB {name}": FairLinUCB(model=model) for name, model in MODELS.items()},
}


#: Those that take contexts of any width, and have a repr that can be pasted: a map must be fitted again.
ANY_WIDTH = [name for name in POLICIES if "curved" not in name and "splines" not in name]


#: Written once per installation, by whichever test comes first.
NOTICE = "compiling kernels, once per installation ...\n"


def without_notice(text):
    """Return what a process wrote to its log, without the notice that it compiled kernels."""
    return text.replace(NOTICE, "")


def fresh(policy, **changes):
    return type(policy)(**{**policy.get_params(deep=False), **changes})


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


def as_version(content, version):
    """Return the content of a policy file under another version."""
    metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    return save(load(content), {**metadata, "version": version})
