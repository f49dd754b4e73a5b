"""The trace: metrics, running means, and its file."""

import sys

import numpy as np
import pytest

from fairbandits import LinTS, LinUCB
from fairbandits.fairness import metrics
from fairbandits.simulate import simulate
from fairbandits.simulate.trace import Trace, as_objects
from fairbandits.worlds import LinearWorld, StudentsAndVideos
from tests.simulate.scripted import SMALL, ScriptedWorld, assert_identical, one_arm_visit


def test_metrics_equal_those_computed_by_hand():
    visits = [
        one_arm_visit(0.0, "a", "train"),
        one_arm_visit(0.5, "a"),
        one_arm_visit(0.7, "b"),
        one_arm_visit(0.9, "b"),
    ]
    trace = simulate(LinUCB(random_state=0), ScriptedWorld([*visits, one_arm_visit(1.0, None)]))
    values = trace.metrics()
    assert values == pytest.approx(
        {
            "utility_loss": 0.0,
            "reward_gap": 0.3,
            "observed_reward_gap": 0.3,
            "worst_off_reward": 0.5,
            "cmr_a": 0.5,
            "cmr_b": 0.8,
            "regret_a": 0.0,
            "regret_b": 0.0,
        }
    )
    assert trace.metrics("train")["cmr_a"] == 0.0


def noisy_trace(group, reward, expected):
    n = len(group)
    labels = {"arm": as_objects([0] * n), "part": as_objects(["test"] * n), "group": {"group": as_objects(group)}}
    numbers = {"reward": reward, "expected": expected, "best": [0.8] * n, "worst": [0.1] * n}
    return Trace(**{name: np.array(values) for name, values in numbers.items()}, probability=np.ones(n), **labels)


def test_metrics_use_true_rewards_and_say_so_where_they_do_not():
    trace = noisy_trace(["a", "b"], reward=[0.6, 0.0], expected=[0.7, 0.5])
    assert trace.metrics() == pytest.approx(
        {
            "utility_loss": 0.2,
            "reward_gap": 0.2,
            "observed_reward_gap": 0.6,
            "worst_off_reward": 0.5,
            "cmr_a": 0.7,
            "cmr_b": 0.5,
            "regret_a": 0.1,
            "regret_b": 0.3,
        }
    )
    assert trace.running_means("test")["a"][-1] == 0.7


def test_groups_with_hardly_any_rounds_do_not_count():
    rare = noisy_trace(["a"] * 60 + ["b"] * 60 + ["c"], [0.5] * 121, [0.5] * 60 + [0.6] * 60 + [0.0])
    assert rare.metrics()["reward_gap"] == pytest.approx(0.1)
    assert rare.metrics()["worst_off_reward"] == 0.5
    assert rare.metrics()["cmr_c"] == 0.0
    many = noisy_trace(list(range(100)), [0.5] * 100, np.linspace(0.0, 1.0, 100))
    assert many.metrics()["reward_gap"] == 1.0


def test_metrics_of_two_attributes():
    trace = simulate(LinUCB(random_state=0), StudentsAndVideos(**SMALL, sensitive=("sex", "race")))
    values = trace.metrics()
    rounds = trace.in_part("test")
    by_sex = metrics.group_means(rounds.reward, rounds.group["sex"])
    assert (
        values["cmr_sex_male"]
        == by_sex["male"]
        == pytest.approx(rounds.reward[rounds.group["sex"] == "male"].mean())
    )
    assert values["reward_gap_sex"] == pytest.approx(abs(by_sex["male"] - by_sex["female"]))
    both = (values["reward_gap_sex"], values["reward_gap_race"])
    assert values["reward_gap"] == max(both)


def test_running_means_of_each_part_end_at_its_metrics():
    trace = simulate(LinUCB(random_state=0), StudentsAndVideos(**SMALL))
    for part in trace.parts:
        values = trace.metrics(part)
        for name, curve in trace.running_means(part).items():
            assert len(curve) == SMALL[part]
            assert curve[-1] == pytest.approx(values[f"cmr_{name}"])


def test_unknown_parts_and_attributes_are_refused():
    trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=5))
    with pytest.raises(ValueError, match="part must be one of 'test', got 'train'"):
        trace.metrics("train")
    with pytest.raises(ValueError, match="attribute must be one of 'group', got 'race'"):
        trace.running_means("test", "race")
    ungrouped = simulate(LinUCB(random_state=0), ScriptedWorld([one_arm_visit(0.5, None)]))
    with pytest.raises(ValueError, match="the trace has no groups"):
        ungrouped.running_means("test")
    assert ungrouped.metrics()["reward_gap"] == 0.0


def test_to_frame():
    trace = simulate(LinUCB(random_state=0), StudentsAndVideos(**SMALL))
    frame = trace.to_frame()
    assert len(frame) == len(trace)
    means = frame[frame["part"] == "test"].groupby("group")["reward"].mean()
    assert means["male"] == pytest.approx(trace.metrics()["cmr_male"])


def test_to_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        simulate(LinUCB(random_state=0), LinearWorld(rounds=2)).to_frame()


def test_a_trace_is_saved_and_loaded_without_change(tmp_path):
    mixed = ScriptedWorld([one_arm_visit(0.5, 1), one_arm_visit(0.6, "one"), one_arm_visit(0.7, None)])
    for trace in (
        simulate(LinTS(model="shared", random_state=0), StudentsAndVideos(**SMALL, sensitive=["sex", "race"])),
        simulate(LinUCB(random_state=0), mixed),
    ):
        path = tmp_path / "trace.npz"
        path.write_bytes(trace.to_bytes())
        again = Trace.load(path)
        assert_identical(trace, again)
        assert again.data_source == trace.data_source
        for attribute, values in trace.group.items():
            assert again.group[attribute].tolist() == values.tolist()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_file_that_is_not_a_trace_is_refused(tmp_path, content):
    path = tmp_path / "trace.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"trace\.npz is not a trace file .*; delete it"):
        Trace.load(path)


def test_metrics_without_any_known_group():
    nobody = np.array([None, None], dtype=object)
    assert metrics.group_means(np.ones(2), nobody) == {}
    assert metrics.reward_gap(np.ones(2), nobody) == 0.0
    assert np.isnan(metrics.worst_off_reward(np.ones(2), nobody))
    assert np.isnan(metrics.cumulative_mean(np.ones(2), np.zeros(2, bool))).all()


def test_an_attribute_without_known_values_does_not_count():
    reward = np.array([0.5, 0.7])
    labels = as_objects(["x", "x"]), as_objects(["test", "test"])
    for attributes in (["sex", "race"], ["race", "sex"]):
        values = {"sex": as_objects([None, None]), "race": as_objects(["a", "b"])}
        groups = {name: values[name] for name in attributes}
        trace = Trace(reward, reward, reward, reward, reward, *labels, groups)
        assert trace.metrics()["worst_off_reward"] == 0.5
