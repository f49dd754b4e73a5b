"""Certified learning from logs whose truth is known."""

import json

import numpy as np
import pandas as pd
import pytest

from fairbandits import Policy
from fairbandits.logs import LogError, read_arms
from fairbandits.ope import learn
from tests.ope.certification.learning_logs import ARMS, MEAN, SEXES, learning_log, open_log


@pytest.fixture(scope="module")
def result():
    return learn(open_log(learning_log()), tolerance=0.1)


def true_values(result, mixture, mean=MEAN):
    """Return the true mean reward of each sex under a mixture whose fitted policy always chooses biology."""
    at = [result.groups.numbers("sex")[sex] for sex in SEXES]
    best, all_arms = mean[:, 1], mean.mean(axis=1)
    return mixture.logging[at] * all_arms + mixture.fitted[at] * best + mixture.uniform[at] * all_arms


def test_the_best_policy_is_certified(result):
    assert result.status == 0
    assert not result.keeps_logging_policy
    values = true_values(result, result.certified.mixture)
    assert abs(values[0] - values[1]) <= 0.1
    assert values.min() >= MEAN.mean(axis=1).min() - 0.01
    assert values.mean() > 0.65  # 0.7 is the most that any policy can get
    assert result.certified.test.reward.value == pytest.approx(values.mean(), abs=0.03)


def test_members_are_tested_until_the_first_fails_and_the_last_certified_is_returned(result):
    verdicts = [member.verdict for member in result.members]
    n_tested = sum(verdict != "not tested" for verdict in verdicts)
    assert set(verdicts[n_tested:]) <= {"not tested"}
    assert "not certified" not in verdicts[: n_tested - 1]
    passed = [member for member in result.members if member.verdict == "certified"]
    assert result.certified is passed[-1]
    assert any(member.mixture.is_logging_policy for member in result.members)


def test_what_is_printed(result):
    text = str(result)
    assert text.startswith("Certified to have a gap within 0.1 and a worst-off group that loses at most 0.01")
    assert "\n\ntested policies" in text
    assert f"{result.certified.title}  " in text
    assert repr(result).startswith("CertifiedLearning(log=")


def test_every_user_is_in_one_part(result):
    assert sum(result.users) == 6_000
    assert sum(result.rows) == result.rows_read == 12_000
    assert all(rows == 2 * users for rows, users in zip(result.rows, result.users, strict=True))


def test_nothing_is_certified_without_enough_data():
    refused = learn(open_log(learning_log(n=600)), tolerance=0.01)
    assert refused.certified is None
    assert refused.status == 3
    with pytest.raises(ValueError, match="only if one other than the logging policy was certified"):
        refused.save("nowhere")


def test_the_logging_policy_is_kept_where_nothing_is_better(tmp_path):
    same = np.full((2, 3), 0.5)
    result = learn(open_log(learning_log(n=40_000, mean=same)), tolerance=0.05)
    assert result.status == 0
    true = true_values(result, result.certified.mixture, same)
    assert np.allclose(true, 0.5)
    kept = learn(open_log(learning_log(n=6_000, mean=same)), tolerance=0.05)
    assert kept.keeps_logging_policy
    kept.write(tmp_path)
    assert not (tmp_path / "policy.safetensors").exists()
    assert "Keep the logging policy" in (tmp_path / "learning.html").read_text()


def test_several_attributes_and_a_catalogue():
    frame = learning_log(n=30_000)
    frame["race"] = np.random.default_rng(3).choice(["Black", "White"], 15_000)[frame["user"]]
    log = open_log(frame, groups=("sex", "race"))
    arms = pd.DataFrame({"arm": [*ARMS, "dance"], "level": [1.0, 2.0, 3.0, 4.0]})
    result = learn(log, tolerance=0.1, table=read_arms(arms, log))
    assert set(result.arms) == set(ARMS)  # dance is in the catalogue, but never shown
    test = result.certified.test
    assert {gap.attribute for gap in test.gaps} == {"sex", "race"}
    assert {change.attribute for change in test.changes} == {"sex", "race"}
    assert all(max(-gap.estimate.low, gap.estimate.high) <= 0.1 for gap in test.gaps)


def test_users_of_unknown_group_keep_the_logging_policy():
    frame = learning_log()
    frame.loc[frame["user"] < 1_000, "sex"] = None
    result = learn(open_log(frame), tolerance=0.1)
    assert result.status == 0
    assert not result.certified.mixture.fitted[0]


def test_the_saved_policy_knows_its_shares(result, tmp_path):
    page = result.write(tmp_path)
    policy = Policy.load(tmp_path / "policy.safetensors")
    mixture = policy.metadata["mixture"]
    assert mixture["attribute"] == "sex"
    assert set(mixture["arms"]) == set(ARMS)
    for shares in mixture["groups"].values():
        assert sum(shares.values()) == pytest.approx(1.0)
    probabilities = policy.probabilities(np.ones((1, 3, 2)), [{"sex": "female"}], [*ARMS])
    assert probabilities.tolist() == [[0.0, 1.0, 0.0]]
    plain = json.loads((tmp_path / "learning.json").read_text())
    assert plain["version"] == 1
    assert plain["certified"] == result.certified.title
    assert len(plain["family"]) == len(result.members)
    assert plain["users"].keys() == {"fitting", "selection", "certification"}
    text = page.read_text()
    assert "Certified to have a gap within 0.1" in text
    assert result.certified.title in text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be above 0, got 0.0"),
        ({"tolerance": float("nan")}, "tolerance must be above 0, got nan"),
        ({"margin": -0.1}, "margin must be a number of at least 0, got -0.1"),
        ({"confidence": 0.5}, "confidence must be above 0.5 and below 1, got 0.5"),
        ({"confidence": 1.0}, "confidence must be above 0.5 and below 1, got 1.0"),
    ],
)
def test_invalid_conditions(settings, message):
    with pytest.raises(ValueError, match=message):
        learn(learning_log(n=100), **({"tolerance": 0.1} | settings))


@pytest.mark.parametrize(
    ("roles", "changes", "message"),
    [
        ({"propensity": None}, {}, "needs the propensity of every decision, got a log without"),
        ({"groups": ()}, {}, "needs groups of users, got none"),
        ({}, {"sex": "female"}, r"column 'sex' must have at least two groups, got \['female'\]"),
        ({}, {"sex": ["male"] * 599 + ["female"]}, "at least 10 users for selection, got 1 with sex = female"),
        ({}, {"reward": np.nan}, "needs more rows with a reward"),
        ({}, {"reward": 3.0}, "reward must be between 0 and 1, got 3.0"),
    ],
)
def test_logs_that_cannot_be_used(roles, changes, message):
    with pytest.raises(LogError, match=message):
        learn(open_log(learning_log(n=600, **changes), **roles), tolerance=0.1)
