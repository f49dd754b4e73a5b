"""Policies as learners of Coba, and its environments as worlds."""

import sys

import coba
import numpy as np
import pytest

from fairbandits import EqualRegretLinUCB, EvenLinUCB, LinTS, LinUCB
from fairbandits.adapters.coba import CobaWorld, PolicyLearner
from fairbandits.ope import evaluate
from fairbandits.simulate import simulate
from fairbandits.testing import check_world
from tests.ope.logs import make_log

RANGE = (-1.0, 2.0)


def side(context):
    return "a" if context[0] > 0 else "b"


def linear(rounds=150, **options):
    return coba.Environments.from_linear_synthetic(rounds, n_actions=3, n_context_features=3, **options)


def rewards_of(environments, *learners):
    result = coba.Experiment(environments, list(learners)).run(quiet=True)
    table = result.interactions.to_pandas()
    return result, [table[table["learner_id"] == number]["reward"].to_numpy() for number in range(len(learners))]


def test_an_experiment_equals_a_simulation_in_the_same_world():
    environments = linear(n_action_features=0)
    params = {"alpha": 0.2, "reward_range": RANGE, "random_state": 0}
    result, [ours] = rewards_of(environments, PolicyLearner(EvenLinUCB(**params), group=side))
    trace = simulate(EvenLinUCB(**params), CobaWorld(environments[0], group=side))
    assert ours == pytest.approx(trace.reward, abs=1e-5)  # results are rounded
    [row] = result.learners.to_dicts()
    assert (row["family"], row["alpha"], row["model"]) == ("fairbandits EvenLinUCB", 0.2, "auto")


def test_a_shared_model_is_the_linucb_of_coba():
    learner = PolicyLearner(LinUCB(alpha=1.0, model="shared", reward_range=(0.0, 1.0), random_state=0))
    theirs = coba.LinUCBLearner(alpha=1.0, features=[1, "a", "xa"])
    rng = np.random.default_rng(0)
    actions = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for _ in range(40):
        context = tuple(rng.normal(size=2))
        action = actions[rng.integers(3)]
        learner.learn(context, action, 0.5, 1.0)
        theirs.learn(context, action, 0.5, 1.0)
        assert learner.score(context, actions, action) == pytest.approx(theirs.score(context, actions, action))


def test_environments_of_other_kinds():
    environments = coba.Environments.from_bandit_synthetic(60, n_actions=3) + linear(60, n_action_features=2)
    shared = PolicyLearner(LinUCB(model="shared", reward_range=RANGE, random_state=0))
    sampling = PolicyLearner(LinTS(model="shared", reward_range=RANGE, random_state=0))
    _, found = rewards_of(
        environments, shared, sampling, PolicyLearner(LinUCB(reward_range=RANGE, random_state=0))
    )
    assert [len(rewards) for rewards in found] == [120, 120, 120]


def test_logged_interactions_are_learned():
    logged = linear(100, n_action_features=0).logged(coba.RandomLearner())
    learner = PolicyLearner(LinUCB(reward_range=RANGE, random_state=0))
    evaluator = coba.evaluators.SequentialCB(learn="off", eval="ips")
    result = coba.Experiment(logged, learner, evaluator).run(quiet=True)
    assert len(result.interactions) == 100


def test_the_learner_is_a_candidate_for_evaluation():
    frame = make_log(300)
    learner = PolicyLearner(LinUCB(random_state=0))
    found = evaluate(frame, learner).policies[0]
    assert found.title == "PolicyLearner"
    assert found.preferred.value.overall.low > 0


def test_an_environment_is_a_world():
    world = CobaWorld(linear(20, n_action_features=0)[0], group=side)
    check_world(world, reward_range=RANGE)
    assert "LinearSynthetic" in world.data_source
    with_actions = CobaWorld(linear(5, n_action_features=2)[0], features=(1, "a", "xa"))
    assert next(with_actions.visits()).contexts.shape == (3, 1 + 2 + 6)


def test_rewards_may_be_a_function():
    interaction = {"context": (1.0,), "actions": [0, 1], "rewards": coba.primitives.BinaryReward(1)}

    class Single:
        def read(self):
            return [interaction]

    assert next(CobaWorld(Single()).visits()).rewards.tolist() == [0.0, 1.0]


def test_what_does_not_fit_is_refused(monkeypatch):
    environments = linear(10, n_action_features=0)
    with pytest.raises(ValueError, match=r"environment must be a single one, got .*; take one: environments\[0\]"):
        CobaWorld(environments)
    with pytest.raises(ValueError, match="interactions must have the rewards of all actions, got context, action"):
        CobaWorld(Logged())
    with pytest.raises(ValueError, match="environment must have interactions, got none"):
        CobaWorld(Logged(0))
    learner = PolicyLearner(LinUCB())
    with pytest.raises(ValueError, match=r"contexts and actions must be numbers, got \('Rome',\) and 'a'; encode"):
        learner.predict(("Rome",), ["a", "b"])
    with pytest.raises(ValueError, match="EqualRegretLinUCB keeps records of its own decisions"):
        PolicyLearner(EqualRegretLinUCB()).learn((1.0,), "a", 1.0, 0.5)
    monkeypatch.setitem(sys.modules, "coba.encodings", None)
    with pytest.raises(ImportError, match=r"need coba; .* pip install 'fairbandits\[coba\]'"):
        PolicyLearner(LinUCB())


class Logged:
    """An environment of logged interactions."""

    def __init__(self, n=1):
        self.n = n

    def read(self):
        return [{"context": (1.0,), "action": "a", "reward": 1.0, "probability": 0.5}] * self.n
