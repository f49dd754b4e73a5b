"""Tuning on logs, by off-policy evaluation."""

import numpy as np
import pytest

from fairbandits import EpsilonGreedy, LinUCB
from fairbandits.logs import Log, fit
from fairbandits.ope import evaluate
from fairbandits.tuning import tune
from fairbandits.tuning.log_trials import UserParts
from tests.ope.logs import make_log

GRID = {"epsilon": [0.0, 0.5, 1.0]}


@pytest.fixture(scope="module")
def frame():
    frame = make_log(6_000)
    return frame.assign(user=np.arange(len(frame)) // 2)


@pytest.fixture(scope="module")
def result(frame):
    return tune(EpsilonGreedy(random_state=0), GRID, frame)


def rows_of(log):
    return np.concatenate([chunk.columns["row"] for chunk in log.chunks(unchanged=["row"])])


def test_every_user_is_in_one_part(frame):
    numbered = frame.assign(row=np.arange(len(frame)))
    parts = UserParts(Log.open(numbered, contexts=["x_low", "x_high"]))
    rows = [rows_of(part) for part in (parts.fitting, parts.selection, parts.held_out)]
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(frame)))
    users = [set(numbered["user"][part]) for part in rows]
    assert sum(map(len, users)) == len(set.union(*users))
    assert np.allclose([len(part) / len(frame) for part in rows], [8 / 21, 6 / 21, 7 / 21], atol=0.02)


def test_duplicates_stay_out(frame):
    doubled = frame.assign(decision=np.arange(len(frame)) // 3, arm=["a", "b", "a"] * 2_000, row=range(len(frame)))
    log = Log.open(doubled, contexts=["x_low"], duplicates="drop")
    parts = UserParts(log)
    rows = np.concatenate([rows_of(part) for part in (parts.fitting, parts.selection, parts.held_out)])
    assert sorted(rows.tolist()) == sorted(rows_of(log).tolist())
    assert len(rows) == 4_000


def test_settings_are_fitted_compared_and_confirmed_on_different_users(frame, result):
    parts = UserParts(Log.open(frame))
    policies = {
        str(epsilon): fit(parts.fitting, EpsilonGreedy(epsilon=epsilon, random_state=0)).policy
        for epsilon in GRID["epsilon"]
    }
    selection = evaluate(parts.selection, policies)
    for trial in result.trials:
        expected = selection[str(trial.params["epsilon"])].preferred
        assert trial.figures["reward"] == pytest.approx(expected.value.overall.value)
        assert trial.reward_gap == pytest.approx(expected.largest_gap("sex").estimate.value)
    assert result.best_params == {"epsilon": 0.0}
    assert result.best_policy.rounds_learned == 0
    assert result.fitted_policy.checksum() == policies["0.0"].checksum()
    held_out = evaluate(parts.held_out, policies["0.0"]).policies[0].preferred
    assert result.held_out["reward"] == pytest.approx(held_out.value.overall.value)
    assert result.held_out["reward_low"] == pytest.approx(held_out.value.overall.low)
    assert result.held_out["reward_gap_sex_high"] == pytest.approx(held_out.largest_gap("sex").estimate.high)
    assert result.evaluation["chosen"].preferred.value.overall.value == result.held_out["reward"]


def test_the_tolerance_and_another_objective(frame, result):
    gaps = {trial.params["epsilon"]: trial.reward_gap for trial in result.trials}
    tolerance = gaps[0.0] - 1e-6
    bound = tune(EpsilonGreedy(random_state=0), GRID, frame, tolerance=tolerance)
    assert gaps[bound.best_params["epsilon"]] <= tolerance
    assert bound.is_within_tolerance
    none = tune(EpsilonGreedy(random_state=0), GRID, frame, tolerance=min(gaps.values()) / 2)
    assert none.best_params == {"epsilon": min(gaps, key=gaps.get)}
    assert not none.is_within_tolerance
    least = tune(
        EpsilonGreedy(random_state=0), GRID, frame, objective=lambda policy: -policy.preferred.value.overall.value
    )
    assert least.best_params == {"epsilon": 1.0}


def test_options_of_the_evaluation_and_paths(frame, tmp_path):
    path = tmp_path / "log.csv"
    make_log(2_000, uniform=True).drop(columns="propensity").to_csv(path, index=False)
    result = tune(LinUCB(random_state=0), {"alpha": [0.0, 0.1]}, path, evaluation={"uniform": True})
    assert result.held_out["reward_low"] < result.held_out["reward"] < result.held_out["reward_high"]


def test_rewards_in_other_units(frame):
    scaled = frame.assign(reward=1.0 + 4.0 * frame["reward"])
    result = tune(EpsilonGreedy(reward_range=(1.0, 5.0), random_state=0), {"epsilon": [0.0]}, scaled)
    assert 1.0 < result.held_out["reward_low"] < result.held_out["reward_high"] < 5.0


def test_small_logs_are_refused(frame):
    with pytest.raises(ValueError, match="the log has too few users for fitting, selection and a held-out test"):
        tune(EpsilonGreedy(), GRID, frame[:2])


def test_logs_without_groups_have_no_gap(frame):
    result = tune(EpsilonGreedy(random_state=0), {"epsilon": [0.1]}, frame.drop(columns="sex"), tolerance=0.01)
    assert result.trials[0].reward_gap == 0.0
