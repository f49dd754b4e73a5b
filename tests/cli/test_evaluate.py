"""The command `fairbandits evaluate`: what it prints, what it leaves behind, how it refuses."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbandits.cli import main


@pytest.fixture(autouse=True)
def log(monkeypatch, tmp_path):
    """Give every test a folder of its own, with a log in it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 1_000)
    frame = pd.DataFrame(
        {
            "arm": np.array(["algebra", "biology"])[arm],
            "reward": (rng.random(1_000) < 0.3 + 0.4 * arm).astype(float),
            "propensity": 0.5,
            "sex": rng.choice(["female", "male"], 1_000),
        }
    )
    frame.to_csv("log.csv", index=False)
    pd.DataFrame({"arm": ["algebra", "biology"], "level": [1, 2]}).to_csv("arms.csv", index=False)
    return frame


def refused(capsys, *arguments):
    """Run a command that is refused, and give its one line."""
    assert main(["evaluate", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert not list(Path().glob("results/evaluate/*")), "a report was left behind"
    return line


def test_several_policies_side_by_side(capsys):
    assert (
        main(["evaluate", "log.csv", "--policy", "LinUCB(alpha=0.1, ridge=2),FairLinUCB", "--policy", "Uniform"])
        == 0
    )
    told = capsys.readouterr().out
    assert "guessed by name: arm=arm, reward=reward, propensity=propensity, groups=sex" in told
    assert "Of 3 policies, LinUCB(alpha=0.1, ridge=2) would have earned most" in told
    assert "more than the log's 0.5" in told
    assert "By sex, " in told
    assert told.count("doubly robust") >= 3
    assert "written: results/evaluate/evaluate.html and evaluate.json" in told
    plain = json.loads(Path("results/evaluate/evaluate.json").read_text())
    assert list(plain["policies"]) == ["LinUCB(alpha=0.1, ridge=2)", "FairLinUCB", "Uniform"]


def test_a_policy_that_was_fitted(capsys):
    assert (
        main(["fit", "log.csv", "--policy", "LinUCB", "--catalogue", "arms.csv", "-o", "policy.safetensors"]) == 0
    )
    arguments = ["log.csv", "--policy", "policy.safetensors", "--catalogue", "arms.csv", "--confidence", "0.9"]
    assert main(["evaluate", *arguments]) == 0
    told = capsys.readouterr().out
    assert "90% sure" in told
    assert "PolicyEvaluation as it came, having learned 1,000 rewards" in told
    assert "it seems to be judged by the rows that it learned" in told


def test_learning_and_no_propensities(capsys, log):
    log.drop(columns="propensity").to_csv("bare.csv", index=False)
    assert main(["evaluate", "bare.csv", "--policy", "LinUCB", "--learning", "--uniform", "--seed", "3"]) == 0
    told = capsys.readouterr().out
    assert "PolicyEvaluation while it learned from" in told
    assert "IPS" not in told.replace("The log has no propensities", "")
    assert main(["evaluate", "bare.csv", "--policy", "LinUCB", "--train", "0.3"]) == 0
    assert "IPS, SNIPS and doubly robust need them, and are left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log.csv"], "Missing option '--policy'"),
        (["log.csv", "--policy", "Best"], ", or module:Class, got 'Best'"),
        (["log.csv", "--policy", "nothing.safetensors"], "nothing.safetensors: there is no such file"),
        (["log.csv", "--policy", "log.csv"], "log.csv: not a policy file"),
        (["nothing.csv", "--policy", "Uniform"], "nothing.csv: there is no such file or folder"),
        (
            ["log.csv", "--policy", "Uniform", "--reward", "rewrad"],
            "there is no column 'rewrad'; did you mean 'rew",
        ),
        (["log.csv", "--policy", "Uniform", "--train", "1.5"], "train is the share of the log that trains"),
        (["log.csv", "--policy", "Uniform", "--clip", "-1"], "clip is the largest weight"),
        (["log.csv", "--policy", "Uniform", "--uniform"], "but it has propensities"),
        (["log.csv", "--policy", "Uniform", "--catalogue", "log.csv"], "log.csv: arm ids must differ"),
    ],
)
def test_refused_in_one_line(capsys, arguments, message):
    assert message in refused(capsys, *arguments)
