"""Evaluation part by part: on a cluster, resumed after an interrupt, with the same results as in one go."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from fairbandits import LinUCB, Model
from fairbandits.cli.app import main
from fairbandits.cluster import LOCAL, Checkpoint
from fairbandits.ope import ProbabilityColumn, evaluate, log_passes
from tests.ope.logs import ARMS, make_log
from tests.polling import wait_until

# Evaluates a function that waits forever in the fourth part of the second pass.
ENDLESS = """
import sys, time
from pathlib import Path
from fairbandits.ope import log_passes
from tests.ope import test_log_passes as tests
log_passes._ROWS_PER_PART = 500  # as in the fixture
store = log_passes.Checkpoint.store
def store_or_wait(self, step, part, state):
    if (step, part) == ("second pass", 3):
        time.sleep(600)
    store(self, step, part, state)
log_passes.Checkpoint.store = store_or_wait
tests.evaluate_at(Path(sys.argv[1]), checkpoint=Path(sys.argv[2]))
"""


def choose_by_feature(frame):
    """Choose an arm: a policy that other processes can import."""
    return np.where(frame["x_high"] > 0.5, ARMS[0], ARMS[1])


def evaluate_at(path, **options):
    policies = {
        "trained here": "LinUCB(alpha=0.1)",
        "explores": "EpsilonGreedy(epsilon=0.2)",
        "fair": "FairLinUCB(gamma=2)",
        "column": ProbabilityColumn("p_new"),
        "function": choose_by_feature,
    }
    return evaluate(path, policies, train=0.3, **options)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(1)
    frame = make_log(6_000).assign(user=rng.integers(0, 700, 6_000), p_new=rng.uniform(0, 1, 6_000))
    frame = frame.assign(time=np.arange(6_000) + rng.normal(0, 50, 6_000))
    frame.loc[rng.random(6_000) < 0.05, "reward"] = np.nan
    frame.loc[rng.random(6_000) < 0.03, "sex"] = None
    frame.loc[rng.random(6_000) < 0.02, "user"] = np.nan
    # An arm and a group that appear late.
    frame.loc[5_000:, "arm"] = frame.loc[5_000:, "arm"].where(rng.random(1_000) < 0.9, "drawing")
    frame.loc[5_500:, "sex"] = frame.loc[5_500:, "sex"].where(rng.random(500) < 0.5, "diverse")
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    frame.to_parquet(path, row_group_size=150)
    return path


@pytest.fixture(scope="module")
def expected(path):
    return evaluate_at(path)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(log_passes, "_ROWS_PER_PART", 500)


def assert_same(one, other):
    """Compare all results: texts exactly, numbers to 1e-9."""
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9, nan_ok=True)
    else:
        assert one == other


def test_parts_give_the_same_results(path, expected, small_parts, tmp_path):
    folder = tmp_path / "unfinished"
    assert_same(evaluate_at(path, checkpoint=folder).to_dict(), expected.to_dict())
    assert not folder.exists()
    assert_same(evaluate_at(path, progress=True).to_dict(), expected.to_dict())


def test_a_cluster_gives_the_same_results(path, expected, two_workers):
    assert_same(evaluate_at(path, cluster=two_workers).to_dict(), expected.to_dict())


def test_estimated_propensities_in_parts(small_parts, tmp_path):
    path = tmp_path / "log.parquet"
    make_log(3_000).drop(columns="propensity").to_parquet(path, row_group_size=100)
    whole = evaluate(path, "Uniform", estimate_propensities=True)
    parts = evaluate(path, "Uniform", estimate_propensities=True, checkpoint=tmp_path / "unfinished")
    assert_same(parts.to_dict(), whole.to_dict())


def test_a_killed_evaluation_resumes(path, expected, small_parts, tmp_path, monkeypatch):
    folder = tmp_path / "unfinished"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, path, folder], env=environment)
    wait_until(lambda: list(folder.rglob("second pass-2.pickle")) or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    stored, store = [], Checkpoint.store

    def record(self, step, part, state):
        stored.append((step, part))
        store(self, step, part, state)

    monkeypatch.setattr(Checkpoint, "store", record)
    evaluation = evaluate_at(path, checkpoint=folder)
    assert stored == [("second pass", part) for part in range(3, 12)]
    assert_same(evaluation.to_dict(), expected.to_dict())
    assert not folder.exists()


def test_a_changed_log_does_not_resume(path, small_parts, tmp_path, monkeypatch):
    copy, folder = tmp_path / "log.parquet", tmp_path / "unfinished"
    copy.write_bytes(path.read_bytes())
    store = Checkpoint.store

    def interrupt(self, step, part, state):
        if step == "first pass":
            raise KeyboardInterrupt
        store(self, step, part, state)

    monkeypatch.setattr(Checkpoint, "store", interrupt)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            evaluate_at(copy, checkpoint=folder)
    assert len(list(folder.iterdir())) == 1
    os.utime(copy, (0, 0))
    with pytest.raises(KeyboardInterrupt):
        evaluate_at(copy, checkpoint=folder)
    assert len(list(folder.iterdir())) == 2


def test_policies_that_learn_in_order(path, small_parts, two_workers, tmp_path):
    policy = LinUCB(model=Model(link="logistic"), random_state=0)
    with pytest.raises(ValueError, match=r"LinUCB.* depends on the order of rewards; evaluate it without"):
        evaluate(path, policy, cluster=two_workers)
    whole = evaluate(path, policy)
    assert_same(evaluate(path, policy, checkpoint=tmp_path / "unfinished").to_dict(), whole.to_dict())


def test_policies_that_cannot_be_pickled(path, tmp_path):
    with pytest.raises(
        ValueError, match="checkpoint needs policies that can be pickled, such as module-level functions"
    ):
        evaluate(path, {"choice": lambda frame: frame["x_high"]}, checkpoint=tmp_path)


def test_the_command_on_a_cluster(path, expected, tmp_path, capsys):
    arguments = ["evaluate", str(path), "--policy", "LinUCB(alpha=0.1)", "--train", "0.3", "--cluster", LOCAL]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "evaluation.json").read_text())
    same = json.loads(json.dumps(expected.to_dict()))["policies"]["trained here"]
    assert_same(results["policies"]["LinUCB(alpha=0.1)"]["estimates"], same["estimates"])
    assert not (tmp_path / "unfinished").exists()
    assert main([*arguments, "--learning", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "error: learning processes the rows of the log in order; evaluate without a cluster\n"
    )
