"""Policies for obp and its bandit feedback; what needs obp itself is in test_peers.py."""

import sys

import numpy as np
import pandas as pd
import pytest

from fairbandits import EpsilonGreedy, EqualRegretLinUCB, FairLinUCB, LinUCB, Uniform
from fairbandits.adapters.obp import ObpPolicy, from_bandit_feedback, to_bandit_feedback
from fairbandits.logs import Log
from fairbandits.ope import evaluate
from tests.ope.logs import ARMS, make_log


def side(context):
    return "a" if context[0] > 0 else "b"


def play(policy, n=60, late=0):
    """Run a policy as obp's simulator does, with rewards that come some rounds late."""
    rng = np.random.default_rng(0)
    contexts, waiting = rng.normal(size=(n, 1, 3)), []
    for context in contexts:
        waiting.append((policy.select_action(context)[0], context))
        while len(waiting) > late:
            action, seen = waiting.pop(0)
            policy.update_params(action=action, reward=np.array([float(action == 1)]), context=seen)
    return contexts


def test_a_policy_learns_what_obp_tells_it():
    policy = ObpPolicy(FairLinUCB(alpha=0.2, random_state=0), 3, group=side)
    contexts = play(policy)
    direct = FairLinUCB(alpha=0.2, random_state=0)
    for context in contexts:
        decision = direct.choose(np.repeat(context, 3, axis=0), side(context[0]))
        direct.learn(decision, float(decision.arm == 1))
    assert policy.policy.checksum() == direct.checksum()
    assert policy.policy.groups.gap() == direct.groups.gap()


def test_late_rewards_are_learned():
    policy = ObpPolicy(LinUCB(alpha=0.2, random_state=0), 3)
    play(policy, late=5)
    assert policy.policy.rounds_learned == 55
    assert policy.select_action(np.ones((1, 3))).tolist() == [1]


def test_several_actions_at_once():
    policy = ObpPolicy(LinUCB(random_state=0), 5, len_list=3)
    selected = policy.select_action(np.ones((1, 2)))
    assert len(set(selected.tolist())) == 3
    policy.update_params(action=selected[2], reward=1.0, context=np.ones((1, 2)))
    assert policy.policy.arms_learned == (selected[2],)
    with pytest.raises(ValueError, match="len_list must be 1 for probabilities, got 3"):
        policy.predict(np.ones((1, 2)))


def test_the_adapter_is_a_candidate_for_evaluation():
    frame = make_log(1_000).assign(arm=lambda frame: [ARMS.index(arm) for arm in frame["arm"]])
    policy = ObpPolicy(EpsilonGreedy(epsilon=0.3, random_state=0), 3)
    contexts = frame[["x_low", "x_high"]].to_numpy()
    for context, arm, reward in zip(contexts, frame["arm"], frame["reward"], strict=True):
        policy.update_params(arm, reward, context[None])
    probability = policy.predict(contexts)[np.arange(len(frame)), frame["arm"], 0]
    by_hand = (probability / frame["propensity"] * frame["reward"]).mean()
    found = evaluate(frame, policy).policies[0].estimates["ips"].value.overall
    assert found.value == pytest.approx(by_hand, abs=1e-9)


def test_what_does_not_fit_is_refused():
    with pytest.raises(
        ValueError, match=r"model must have a part for each arm, .* got 'shared'; use model=\"disj"
    ):
        ObpPolicy(LinUCB(model="shared"), 3)
    with pytest.raises(ValueError, match="policy must be a fairbandits policy, got 'LinUCB'"):
        ObpPolicy("LinUCB", 3)
    with pytest.raises(ValueError, match="n_actions must be an integer of at least 2, got 1"):
        ObpPolicy(Uniform(), 1)
    with pytest.raises(ValueError, match=r"context must belong to one user, got shape \(2, 3\)"):
        ObpPolicy(Uniform(), 2).select_action(np.ones((2, 3)))
    keeps_records = ObpPolicy(EqualRegretLinUCB(), 3)
    play(keeps_records)
    with pytest.raises(
        ValueError, match="EqualRegretLinUCB keeps records of its own decisions, and cannot learn those"
    ):
        keeps_records.update_params(0, 1.0, np.ones((1, 3)))


def test_without_obp_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "obp", None)
    with pytest.raises(ImportError, match="policy_type needs obp, which is not installed: pip install obp"):
        _ = ObpPolicy(Uniform(), 2).policy_type


def test_a_log_becomes_feedback_and_comes_back():
    frame = make_log(500)
    frame.loc[3, "reward"] = None
    feedback = to_bandit_feedback(frame)
    assert (feedback["n_rounds"], feedback["n_actions"], feedback["arms"]) == (499, 3, list(ARMS))
    assert feedback["position"] is None
    kept = frame.drop(index=3).reset_index(drop=True)
    assert np.array(ARMS)[feedback["action"]].tolist() == kept["arm"].tolist()
    back = from_bandit_feedback(feedback, {"sex": kept["sex"]})
    expected = kept.assign(arm=feedback["action"])[["arm", "reward", "propensity", "x_low", "x_high", "sex"]]
    renamed = expected.rename(columns={"x_low": "context_0", "x_high": "context_1"})
    pd.testing.assert_frame_equal(back, renamed)
    log = Log.open(back)
    assert (log.roles.propensity, log.roles.contexts) == ("propensity", ("context_0", "context_1"))


def test_the_features_of_a_log_are_all_there_and_not_scaled():
    frame = make_log(240).drop(columns=["x_low", "x_high"])
    since = pd.date_range("2024-01-01", periods=240, freq="D")
    features = {
        "age": 20 + np.arange(240) % 50,
        "city": [f"city {i % 60:02d}" for i in range(240)],
        "since": since,
    }
    log = frame.assign(**features, name=[f"name {i:03d}" for i in range(240)])
    context = to_bandit_feedback(log, contexts=[*features, "name"])["context"]
    seconds = since.to_numpy().astype("datetime64[s]").astype(float)
    cities = np.eye(60)[np.arange(240) % 60]
    np.testing.assert_array_equal(context, np.column_stack([features["age"], cities, seconds, np.eye(240)]))
    # A log with the encoder of another keeps its columns, as a model fitted to the other needs it.
    other = Log.open(log, contexts=[*features, "name"])
    part = Log.open(log[:30], contexts=[*features, "name"]).with_encoder(other.plain_encoder())
    np.testing.assert_array_equal(to_bandit_feedback(part)["context"], context[:30])


def test_feedback_of_slates_becomes_a_log_of_slates():
    feedback = {
        "context": np.array([[1.0], [2.0]]), "slate_id": np.array([0, 0, 1, 1]), "action": np.array([1, 0, 0, 2]),
        "position": np.array([0, 1, 0, 1]), "reward": np.array([1, 0, 0, 1]), "pscore": np.full(4, 0.1),
        "pscore_item_position": np.full(4, 0.3), "pscore_cascade": np.full(4, 0.2),
    }  # fmt: skip
    frame = from_bandit_feedback(feedback)
    assert frame["context_0"].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert {"decision", "position", "propensity", "propensity_position", "propensity_cascade"} <= set(frame)
    roles = Log.open(frame, contexts=["context_0"]).roles
    assert (roles.decision, roles.position) == ("decision", "position")


def test_feedback_that_does_not_fit_is_refused(monkeypatch):
    good = {"context": np.eye(2), "action": np.array([0, 1]), "reward": np.array([0, 1])}
    with pytest.raises(ValueError, match="feedback must have 'reward', got context, action"):
        from_bandit_feedback({name: good[name] for name in ("context", "action")})
    with pytest.raises(ValueError, match=r"must have one entry per round, got .*'sex': 1"):
        from_bandit_feedback(good, {"sex": ["f"]})
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="from_bandit_feedback needs pandas"):
        from_bandit_feedback(good)
