"""Policy files that fairbandits 0.1.0 wrote still load, and predict what it predicted."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairbandits import Decision, EvenLinUCB, Policy
from fairbandits.policies.even_linucb import AIM
from tests.helpers import contexts_for

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "expected.json").read_text())


def total_of_0_1_0(policy, decision, group):
    """The scores as 0.1.0 computed them: EvenLinUCB counted all of a lead, and corrected arms without a limit."""
    scores = decision.scores
    if not isinstance(policy, EvenLinUCB):
        return scores.total
    groups, aim = policy.groups, AIM * 0.01  # the default tolerance
    names, means = groups.attributes["group"], groups.means
    ahead, behind = int(means.argmax()), int(means.argmin())
    debt = max(means[ahead] - means[behind] - aim, 0.0) * groups.counts.min() / policy.patience
    given_up = scores.mean.max() - scores.mean - debt * (names[ahead] == group)
    _, arms = policy._arms.lookup_known(range(scores.mean.size))
    n = groups.arm_counts[:, arms].min(axis=0)
    bias = (groups.arm_means[behind, arms] - groups.arm_means[ahead, arms]) * n / (n + 2.0)
    return scores.mean + scores.exploration + np.minimum(given_up, 0.0) + debt * (1.0 + bias) / 2.0


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_0_1_0_continues_where_it_stopped(name):
    expected = EXPECTED[name]
    policy = Policy.load(DATA / f"{name}.safetensors")
    assert policy.rounds_learned == expected["rounds"]
    assert policy.metadata == {"about": "written by 0.1.0"}
    rng = np.random.default_rng(9)
    tolerance = 1e-5 if "float32" in name else 1e-12
    for t, (arm, total) in enumerate(zip(expected["arms"], expected["totals"], strict=True)):
        group = ("male", "female")[t % 2]
        decision = policy.choose(contexts_for(rng), group)
        assert decision.arm == arm
        found = total_of_0_1_0(policy, decision, group)
        np.testing.assert_allclose(found, total, rtol=tolerance, atol=tolerance)
        policy.learn(decision, 0.5)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_decision_of_0_1_0_can_be_learned_once(name):
    policy = Policy.load(DATA / f"{name}.safetensors")
    decision = Decision.from_dict(EXPECTED[name]["open"])
    policy.learn(decision, 0.5)
    assert policy.rounds_learned == EXPECTED[name]["rounds"] + 1
    with pytest.raises(ValueError, match="has already been learned"):
        policy.learn(decision, 0.5)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_0_1_0_is_saved_in_the_new_format(name, tmp_path):
    policy = Policy.load(DATA / f"{name}.safetensors")
    policy.save(tmp_path / "policy")
    assert Policy.load(tmp_path / "policy").checksum() == policy.checksum()
