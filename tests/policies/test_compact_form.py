"""The compact form of decisions and slates: small, and as good as the original for learning."""

import json

import numpy as np
import pytest

from fairbandits import Decision, LinUCB, Slate
from fairbandits.worlds import StudentsAndVideos
from tests.helpers import POLICIES, contexts_for, fresh


def stored(decision, **how):
    return type(decision).from_dict(json.loads(json.dumps(decision.to_dict(**how))))


@pytest.mark.parametrize("all_scores", [False, True])
@pytest.mark.parametrize("name", POLICIES)
def test_learning_a_stored_decision_is_learning_the_decision(name, all_scores):
    """Bitwise, records of regret included; for decisions and for slates."""
    original, other = (fresh(POLICIES[name], random_state=0) for _ in range(2))
    rng = np.random.default_rng(0)
    for t in range(30):
        contexts, group, k = contexts_for(rng), {"sex": "fm"[t % 2], "age": t % 3}, (None, 3)[t % 2]
        reward = [1.0, None, rng.random()] if k else rng.random()
        decisions = [policy.choose(contexts, group, k=k) for policy in (original, other)]
        original.learn(decisions[0], reward)
        other.learn(stored(decisions[1], all_scores=all_scores), reward)
    assert other.checksum() == original.checksum()
    for ours, theirs in zip(original.records().values(), other.records().values(), strict=True):
        assert ours.means.tolist() == theirs.means.tolist()


def test_the_compact_form_of_a_decision():
    policy = LinUCB(random_state=0)
    policy.learn(policy.choose([[1.0]], arms=["a"]), 1.0)
    decision = policy.choose([[0.0], [1.0], [0.5]], "male", arms=["z", "b", "a"])
    values = decision.to_dict()
    assert list(values) == [
        *("arm", "probability", "group", "scores", "n_arms", "regret"),
        *("columns", "values", "n_shared", "width", "policy", "number"),
    ]
    assert values["scores"] == {"mean": 0.0, "width": 1.0, "exploration": 0.5, "fairness": 0.0, "total": 0.5}
    assert (values["arm"], values["n_arms"], values["regret"]) == ("b", 3, 0.25)
    again = stored(decision)
    assert (again.arms, again.index, again.n_arms, again.regret) == (("b",), 0, 3, 0.25)
    assert (again.score, again.context.tolist(), again.group) == (0.5, [1.0], decision.group)
    assert again.to_dict() == again.to_dict(all_scores=True) == values
    assert len(repr(again)) < 120


def test_all_scores_on_request():
    policy = LinUCB(random_state=0)
    contexts = contexts_for(np.random.default_rng(0))
    for decision in (policy.choose(contexts), policy.choose(contexts, k=2)):
        values = decision.to_dict(all_scores=True)
        assert "regret" not in values
        again = stored(decision, all_scores=True)
        assert list(again.arms) == list(decision.arms) == values["arms"]
        assert again.scores.total.tolist() == decision.scores.total.tolist()
        assert again.regret == decision.regret
        assert again.to_dict() == decision.to_dict()


def test_the_compact_form_of_a_slate():
    slate = LinUCB(random_state=0).choose(np.diag([1.0, 3.0, 2.0]), k=2, arms=["a", "b", "c"])
    again = stored(slate)
    assert (again.picked, again.arms, again.indices) == (("b", "c"), ("b", "c"), (0, 1))
    assert again.scores.width.tolist() == [3.0, 2.0]
    assert (again.n_arms, again.regret) == (slate.n_arms, slate.regret) == (3, 0.0)
    assert again.to_dict() == slate.to_dict()


def test_a_decision_over_two_hundred_videos_is_below_two_kilobytes():
    world = StudentsAndVideos(data="stand-in", male_videos=100, female_videos=100)
    policy = LinUCB(random_state=0)
    for visit, _ in zip(world.visits(), range(20), strict=False):
        decision = policy.choose(visit.contexts, visit.group, visit.arms)
        assert (decision.n_arms, decision.row.width) == (200, 134)
        assert len(json.dumps(decision.to_dict())) < 2_000
        assert len(json.dumps(decision.to_dict(all_scores=True))) > 6_000
        assert len(repr(decision)) < 200
        policy.learn(decision, float(visit.rewards[decision.index]))


@pytest.mark.parametrize("missing", ["n_arms", "regret", "arm", "scores"])
def test_damaged_compact_forms_are_refused(missing):
    values = LinUCB(random_state=0).choose([[1.0], [0.5]]).to_dict()
    del values[missing]
    with pytest.raises(ValueError, match=r"values must be those that Decision.to_dict returned"):
        Decision.from_dict(values)
    slate = LinUCB(random_state=0).choose([[1.0], [0.5]], k=2).to_dict()
    slate.pop({"arm": "picked"}.get(missing, missing))
    with pytest.raises(ValueError, match=r"values must be those that Slate.to_dict returned"):
        Slate.from_dict(slate)
