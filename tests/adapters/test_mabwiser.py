"""Policies with the interface of MABWiser's bandits, beside MABWiser itself."""

import logging

import numpy as np
import pandas as pd
import pytest
from mabwiser.mab import MAB, LearningPolicy, NeighborhoodPolicy
from mabwiser.simulator import Simulator
from sklearn.preprocessing import StandardScaler

from fairbandits import EqualRegretLinUCB, EvenLinUCB, FairLinUCB, LinUCB
from fairbandits.adapters.mabwiser import PolicyMAB
from fairbandits.ope import evaluate
from tests.ope.logs import ARMS, make_log

ADS = [1, 2, 3, 4, 5]


def users(n=60, seed=0, width=3):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, width))
    return rng.choice(ADS, n).tolist(), rng.random(n), contexts


@pytest.fixture
def both():
    """Return MABWiser's LinUCB and ours, both fitted."""
    # With another l2_lambda, MABWiser's width of an arm without rewards is not that of a ridge regression.
    theirs = MAB(ADS, LearningPolicy.LinUCB(alpha=0.7, l2_lambda=1.0))
    ours = PolicyMAB(ADS, LinUCB(alpha=0.7, ridge=1.0, random_state=0))
    decisions, rewards, contexts = users()
    for bandit in (theirs, ours):
        bandit.fit(decisions, rewards, contexts)
    return theirs, ours


def same(theirs, ours, contexts):
    assert ours.predict(contexts) == theirs.predict(contexts)
    for one, two in zip(ours.predict_expectations(contexts), theirs.predict_expectations(contexts), strict=True):
        assert one == pytest.approx(two, abs=1e-9)


def test_linucb_predicts_what_that_of_mabwiser_predicts(both):
    same(*both, users(20, seed=1)[2])
    for bandit in both:
        bandit.partial_fit(*users(30, seed=2))
    same(*both, users(20, seed=3)[2])
    for bandit in both:
        bandit.fit(*users(30, seed=4))
    same(*both, users(20, seed=5)[2])


def test_arms_are_added_and_removed(both):
    for bandit in both:
        bandit.add_arm(6)
        bandit.remove_arm(2)
        bandit.partial_fit([6, 6], [1.0, 0.9], np.ones((2, 3)))
        bandit.add_arm(2)
    same(*both, users(20, seed=1)[2])
    assert both[1].cold_arms == [2]
    both[1].add_arm(7)
    both[1].remove_arm(7)  # nothing was learned of it


def test_arguments_of_mabwiser(both):
    theirs, ours = both
    frame = pd.DataFrame(users(5)[2])
    assert ours.predict(frame) == theirs.predict(frame)
    one = frame.iloc[0].tolist()
    assert ours.predict([one]) == theirs.predict([one])
    assert isinstance(ours.predict_expectations([one]), dict)
    decisions, rewards, contexts = users(10, seed=9)
    for bandit in both:
        bandit.partial_fit(pd.Series(decisions), pd.Series(rewards), pd.DataFrame(contexts))
    same(theirs, ours, frame)
    narrow = PolicyMAB(ADS, LinUCB(random_state=0))
    narrow.fit([1, 2, 3], [0.0, 1.0, 0.0], [0.5, 0.1, 0.2])
    assert narrow.policy.n_features_in_ == 1


def test_without_contexts():
    bandit = PolicyMAB(["a", "b"], LinUCB(alpha=0.0, random_state=0), is_contextual=False)
    bandit.fit(["a", "b", "b"], [0.1, 0.9, 0.8])
    assert bandit.predict() == "b"
    assert bandit.predict([[1.0], [2.0]]) == ["b", "b"]
    assert bandit.arm_to_expectation == pytest.approx({"a": 0.05, "b": 1.7 / 3})


def test_groups_come_from_contexts():
    bandit = PolicyMAB(ADS, FairLinUCB(random_state=0), group=lambda x: {"side": "a" if x[0] > 0 else None})
    decisions, rewards, contexts = users()
    bandit.fit(decisions, rewards, contexts)
    [group] = bandit.policy.groups.summaries("side")
    assert group.mean == pytest.approx(rewards[contexts[:, 0] > 0].mean())


@pytest.mark.parametrize("batch_size", [0, 10])
@pytest.mark.filterwarnings("ignore")
def test_the_simulator_of_mabwiser_runs_our_policies(batch_size):
    decisions, rewards, contexts = users(300)
    bandits = [
        ("theirs", MAB(ADS, LearningPolicy.LinUCB(alpha=0.5))),
        ("ours", PolicyMAB(ADS, LinUCB(alpha=0.5, random_state=0))),
        ("fair", PolicyMAB(ADS, EvenLinUCB(random_state=0), group=lambda x: "a" if x[0] > 0 else "b")),
        ("context-free", PolicyMAB(ADS, LinUCB(random_state=0), is_contextual=False)),
    ]
    before = list(logging.getLogger().handlers), logging.getLogger().level
    try:
        simulator = Simulator(
            bandits, decisions, rewards, contexts, scaler=StandardScaler(), test_size=0.5, batch_size=batch_size
        )
        simulator.run()
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)
    assert simulator.bandit_to_predictions["ours"] == simulator.bandit_to_predictions["theirs"]
    for name, _ in bandits:
        assert len(simulator.bandit_to_predictions[name]) == 150


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda bandit: bandit.predict([[1.0]]), "fit must be called before predict"),
        (lambda bandit: bandit.fit([9], [1.0], [[1.0]]), "decisions must be among the arms, got 9; call add_arm"),
        (lambda bandit: bandit.fit([1], [1.0]), "contexts must be given, because is_contextual=True, got none"),
        (lambda bandit: bandit.fit([1, 2], [1.0], [[1.0], [2.0]]), "must have the same length, got 2, 1 and 2"),
        (lambda bandit: bandit.add_arm(1), "arm must be a new one, got 1"),
        (lambda bandit: bandit.add_arm(6, binarizer=max), "binarizer must be None, got .*; pass binary rewards"),
        (lambda bandit: bandit.remove_arm(9), r"arm must be one of \[1, 2, 3, 4, 5\], got 9"),
        (
            lambda _: PolicyMAB(ADS, EqualRegretLinUCB()).fit([1], [1.0], [[1.0]]),
            "keeps records of its own decisions",
        ),
        (
            lambda _: PolicyMAB(ADS, LinUCB(), is_contextual=False).fit([1], [1.0], [[1.0]]),
            "contexts must be None, because is_contextual=False",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(PolicyMAB(ADS, LinUCB(random_state=0)))


def value_of(evaluation):
    return evaluation.policies[0].estimates["ips"].value.overall.value


def test_bandits_of_mabwiser_are_candidates_for_evaluation():
    frame, contexts = make_log(800), ["x_low", "x_high"]
    mab = MAB(list(ARMS), LearningPolicy.LinUCB(alpha=0.1))
    mab.fit(frame["arm"], frame["reward"], frame[contexts])
    chosen = mab.predict(frame[contexts])
    by_hand = ((frame["arm"] == chosen) * frame["reward"] / frame["propensity"]).mean()
    assert value_of(evaluate(frame, mab)) == pytest.approx(by_hand, abs=1e-12)
    epsilon = MAB(list(ARMS), LearningPolicy.EpsilonGreedy(epsilon=0.3))
    epsilon.fit(frame["arm"], frame["reward"])
    best = frame.groupby("arm")["reward"].mean().idxmax()
    probability = np.where(frame["arm"] == best, 0.8, 0.1)
    exact = (probability / frame["propensity"] * frame["reward"]).mean()
    assert value_of(evaluate(frame, epsilon)) == pytest.approx(exact, abs=0.01)
    nearest = MAB(list(ARMS), LearningPolicy.UCB1(), NeighborhoodPolicy.KNearest(k=3))
    nearest.fit(frame["arm"][:50], frame["reward"][:50], frame[contexts][:50])
    assert evaluate(frame[:50], nearest).policies[0].effective_rows.overall > 1.0
