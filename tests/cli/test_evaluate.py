"""The command `evaluate`: what it prints and writes, and its errors."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbandits.cli import main
from tests.ope.slates.slate_logs import make_slates


@pytest.fixture(autouse=True)
def log(monkeypatch, tmp_path):
    """Run every test in its own folder, with a log in it."""
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


def error_of(capsys, *arguments):
    """Run an invalid command; return its one-line error."""
    assert main(["evaluate", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert not list(Path().glob("results/evaluation/*")), "a report was written"
    return line


def test_several_policies_side_by_side(capsys):
    assert (
        main(["evaluate", "log.csv", "--policy", "LinUCB(alpha=0.1, ridge=2),FairLinUCB", "--policy", "Uniform"])
        == 0
    )
    printed = capsys.readouterr().out
    assert "guessed by name: arm=arm, reward=reward, propensity=propensity, groups=sex" in printed
    assert "Of 3 policies, LinUCB(alpha=0.1, ridge=2) ranks highest, with an estimated value of" in printed
    assert "more than the log's 0.5" in printed
    assert "By sex, " in printed
    assert printed.count("doubly robust") >= 3
    assert "written: results/evaluation/evaluation.html and evaluation.json" in printed
    plain = json.loads(Path("results/evaluation/evaluation.json").read_text())
    assert list(plain["policies"]) == ["LinUCB(alpha=0.1, ridge=2)", "FairLinUCB", "Uniform"]


def test_a_fitted_policy(capsys):
    assert (
        main(["fit", "log.csv", "--policy", "LinUCB", "--catalogue", "arms.csv", "-o", "policy.safetensors"]) == 0
    )
    arguments = ["log.csv", "--policy", "policy.safetensors", "--catalogue", "arms.csv", "--confidence", "0.9"]
    assert main(["evaluate", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "90% CI" in printed
    assert "Evaluated as given, trained on 1,000 rewards" in printed
    assert "it was probably trained on the evaluation rows" in printed


def test_learning_and_no_propensities(capsys, log):
    log.drop(columns="propensity").to_csv("bare.csv", index=False)
    assert main(["evaluate", "bare.csv", "--policy", "LinUCB", "--learning", "--uniform", "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert "Evaluated while learning from" in printed
    assert "IPS" not in printed.replace("The log has no propensities", "")
    assert main(["evaluate", "bare.csv", "--policy", "LinUCB", "--train", "0.3"]) == 0
    assert "IPS, SNIPS and doubly robust are not available" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log.csv"], "Missing option '--policy'"),
        (["log.csv", "--policy", "Best"], "or module:Class, got 'Best'"),
        (["log.csv", "--policy", "nothing.safetensors"], "nothing.safetensors: no such file"),
        (["log.csv", "--policy", "log.csv"], "log.csv: not a policy file"),
        (["nothing.csv", "--policy", "Uniform"], "nothing.csv: there is no such file or folder"),
        (
            ["log.csv", "--policy", "Uniform", "--reward", "rewrad"],
            "there is no column 'rewrad'; did you mean 'rew",
        ),
        (["log.csv", "--policy", "Uniform", "--train", "1.5"], "train must be a share of the log"),
        (["log.csv", "--policy", "Uniform", "--clip", "-1"], "clip must be above 0, got -1.0"),
        (["log.csv", "--policy", "Uniform", "--uniform"], "uniform must be False for a log with propensities"),
        (["log.csv", "--policy", "Uniform", "--catalogue", "log.csv"], "log.csv: arm ids must be unique"),
    ],
)
def test_errors_are_one_line(capsys, arguments, message):
    assert message in error_of(capsys, *arguments)


SLATES = ["slates.csv", "--slates", "cascade=p_cascade,position=p_position", "--policy"]


def test_slates(capsys):
    make_slates(600).to_csv("slates.csv", index=False)
    policy = "new(cascade=q_cascade, position=q_position)"
    assert main(["evaluate", *SLATES, f"{policy},same(position=p_position)", "--out", "out"]) == 0
    printed = capsys.readouterr().out
    assert (
        "600 slates with a reward at every position, in 1,200 rows. Intervals treat users as independent."
        in printed
    )
    assert "new: estimated reward per slate " in printed
    assert "The worst-off group, f, would receive " in printed
    assert printed.count("interaction") == 1
    assert "written: out/slates.html and slates.json" in printed
    plain = json.loads(Path("out/slates.json").read_text())
    assert list(plain["policies"]["new"]["estimates"]) == ["standard", "reward_interaction", "independent"]
    assert list(plain["policies"]["same"]["estimates"]) == ["independent"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["LinUCB"], "--policy must be TITLE(cascade=COLUMN,position=COLUMN) with --slates, got 'LinUCB'"),
        (["new(arm=q_slate)"], "--policy must name columns for some of position, cascade, slate, as in "),
        (["new(slate=q_slate)", "--slates", "p"], "as in cascade=COLUMN,position=COLUMN, got 'p'"),
        (["a(cascade=q_cascade),a(position=q_position)"], "policies must differ, got a twice"),
        (
            ["new(cascade=q_cascade)", "--clip", "5"],
            "--slates must be combined with --policy, --confidence and --out only",
        ),
    ],
)
def test_invalid_slates(capsys, arguments, message):
    make_slates(20).to_csv("slates.csv", index=False)
    assert main(["evaluate", *SLATES, *arguments]) == 2
    assert message in capsys.readouterr().err
