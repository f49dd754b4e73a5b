"""Mistakes that people make: each is one clear line, an error or a warning."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairbandits import LinUCB
from fairbandits.cli import main
from fairbandits.logs import Log, fit
from fairbandits.ope import evaluate
from tests.ope.logs import ARMS, make_log


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def policy_probabilities(frame):
    """Return the log with a column for each arm, and one for the logged arm."""
    wide = frame.assign(**{f"p_{arm}": share for arm, share in zip(ARMS, (0.7, 0.2, 0.1), strict=True)})
    wide["p_new"] = [wide[f"p_{arm}"].iloc[row] for row, arm in enumerate(frame["arm"])]
    return wide


ERRORS = {
    "probabilities that do not add up": (
        lambda log: log.assign(p_biology=0.5),
        ["--policy", "columns:p_"],
        "the probabilities in the columns p_* (with p_new, arms that the log does not have) must add up to 1",
    ),
    "percentages instead of probabilities": (
        lambda log: log.assign(p_new=100 * log["p_new"]),
        ["--policy", "column:p_new"],
        "probabilities in column 'p_new' must be between 0 and 1, got ",
    ),
    "the propensities as the policy": (
        lambda log: log,
        ["--policy", "column:propensity"],
        "column 'propensity' holds the propensities of the logging policy; name the column of the policy",
    ),
    "rewards outside their range": (
        lambda log: log.assign(reward=1 + 4 * log["reward"]),
        ["--policy", "column:p_new"],
        "reward must be between 0 and 1, got 5.0; rescale rewards, or evaluate with reward_range=",
    ),
    "arm ids of another type": (
        lambda log: log.assign(arm=[ARMS.index(arm) for arm in log["arm"]]),
        ["--policy", "columns:p_"],
        "there is no column of probabilities such as 'p_",
    ),
    "a misspelt column": (
        lambda log: log,
        ["--policy", "column:p_knew"],
        "there is no column 'p_knew', which column p_knew needs; did you mean 'p_new'",
    ),
    "propensities declared twice": (
        lambda log: log,
        ["--policy", "column:p_new", "--uniform"],
        "uniform must be False for a log with propensities, got True and column 'propensity'; leave out one",
    ),
    "two policies of the same name": (
        lambda log: log,
        ["--policy", "column:p_new,column:p_new"],
        "policies must have different names, got column p_new twice",
    ),
}


@pytest.mark.parametrize("mistake", ERRORS)
def test_errors(mistake, capsys):
    change, arguments, message = ERRORS[mistake]
    change(policy_probabilities(make_log(400))).to_csv("log.csv", index=False)
    assert main(["evaluate", "log.csv", "--context", "x_low,x_high", *arguments]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1
    assert message in errors[0]


def only_warning(evaluation, text):
    found = [warning for warning in evaluation.warnings if text in warning]
    assert len(found) == 1
    return found[0]


def test_a_model_that_needs_other_features(frame):
    model = LogisticRegression().fit(frame[["x_low"]].rename(columns={"x_low": "age"}), frame["arm"])
    with pytest.raises(
        ValueError, match="there is no column 'age', which LogisticRegression needs; add it to the log"
    ):
        evaluate(frame, model)


def test_swapped_columns():
    log = policy_probabilities(make_log(4_000))
    swapped = log.rename(columns={"propensity": "p_new", "p_new": "propensity"})
    found = evaluate(Log.open(swapped, contexts=["x_low", "x_high"]), "column:p_new")
    assert "They are not the probabilities with which arms were chosen" in only_warning(
        found, "propensities do not fit the log"
    )


def test_a_policy_trained_on_the_log_itself(frame):
    policy = fit(Log.open(frame), LinUCB()).policy
    assert "Evaluate it on other rows." in only_warning(evaluate(frame, policy), "as many as the log has")


def test_a_log_declared_uniform_that_is_not(frame):
    found = evaluate(frame.drop(columns="propensity"), lambda users: np.full(len(users), "algebra"), uniform=True)
    assert "estimates that use them are not valid" in only_warning(found, "The propensities do not fit the log")


def test_rewards_that_are_missing_in_one_group(frame):
    missing = frame.assign(
        reward=frame["reward"].where((frame["sex"] == "male") | (np.arange(len(frame)) % 2 == 0))
    )
    found = evaluate(missing, lambda users: np.full(len(users), "algebra"))
    assert "Estimates are biased if rewards are not missing at random." in only_warning(found, "have no reward")
