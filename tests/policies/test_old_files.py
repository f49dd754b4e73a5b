"""Policy files that fairbandits 0.1.0 wrote still load, and decide what it decided."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairbandits import Decision, Policy
from tests.helpers import contexts_for

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_0_1_0_continues_where_it_stopped(name):
    expected = EXPECTED[name]
    policy = Policy.load(DATA / f"{name}.safetensors")
    assert policy.rounds_learned == expected["rounds"]
    assert policy.metadata == {"about": "written by 0.1.0"}
    rng = np.random.default_rng(9)
    tolerance = 1e-5 if "float32" in name else 1e-12
    for t, (arm, total) in enumerate(zip(expected["arms"], expected["totals"], strict=True)):
        decision = policy.choose(contexts_for(rng), ("male", "female")[t % 2])
        assert decision.arm == arm
        np.testing.assert_allclose(decision.scores.total, total, rtol=tolerance, atol=tolerance)
        policy.learn(decision, 0.5)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_decision_of_0_1_0_can_be_learned_once(name):
    policy = Policy.load(DATA / f"{name}.safetensors")
    decision = Decision.from_dict(EXPECTED[name]["open"])
    policy.learn(decision, 0.5)
    assert policy.rounds_learned == EXPECTED[name]["rounds"] + 1
    with pytest.raises(ValueError, match="must be learned once"):
        policy.learn(decision, 0.5)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_0_1_0_is_saved_in_the_new_format(name, tmp_path):
    policy = Policy.load(DATA / f"{name}.safetensors")
    policy.save(tmp_path / "policy")
    assert Policy.load(tmp_path / "policy").checksum() == policy.checksum()
