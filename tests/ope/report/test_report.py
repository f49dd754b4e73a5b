"""The report of an evaluation: sentences, page and JSON."""

import json

import numpy as np
import pandas as pd
import pytest

from fairbandits import Policy, Uniform
from fairbandits.logs import Log, read_arms
from fairbandits.ope import evaluate
from fairbandits.ope.report.sentences import EvaluationSentences
from tests.ope.logs import ARMS, make_log


class Stubborn(Policy):
    """A policy that always chooses an arm that the log does not have."""

    def terms(self, seen):
        return np.where(np.arange(seen.mean.shape[1]) == 3, 1.0, 0.0), 0.0


def test_a_policy_that_never_agrees_with_the_log(tmp_path, frame):
    log = Log.open(frame)
    table = read_arms(pd.DataFrame({"arm": [*ARMS, "dance"]}), log)
    evaluation = evaluate(log, Stubborn(), table=table, learning=True)
    assert evaluation.policies[0].estimates["replay"].value.overall is None
    page = evaluation.write(tmp_path).read_text()
    assert "they hardly ever agree with it" in page
    assert "no estimate" in page


def test_the_page_and_the_json(tmp_path, frame):
    evaluation = evaluate(frame, ["FairLinUCB(gamma=2)", "Uniform"])
    page = evaluation.write(tmp_path).read_text()
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    for text in ("Overview", "Warnings", "FairLinUCB(gamma=2)", "gap by sex", "doubly robust"):
        assert text in page
    plain = json.loads((tmp_path / "evaluation.json").read_text())
    result = plain["policies"]["Uniform"]["estimates"]["snips"]
    assert result["value"]["by_group"]["sex"]["male"]["low"] < result["value"]["by_group"]["sex"]["male"]["value"]
    assert {gap["first"] for gap in result["gaps"]} == {"female"}
    assert plain["training_rows"] == 2_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evaluation.html", "evaluation.json"]


def test_what_is_printed(frame):
    evaluation = evaluate(frame, ["LinUCB(alpha=0.1)", "Uniform"])
    text = str(evaluation)
    assert text.startswith("Of 2 policies, LinUCB(alpha=0.1) ranks highest, with an estimated value of")
    lines = [line.split("  ")[0] for line in text.splitlines()]
    assert [line for line in lines if line in ("policy", "the log", "LinUCB(alpha=0.1)", "Uniform")] == [
        "policy",
        "the log",
        "LinUCB(alpha=0.1)",
        "Uniform",
    ]
    assert repr(evaluation).startswith("Evaluation(log=")


def test_a_group_without_evaluation_rows_is_null(tmp_path):
    frame = make_log(400)
    frame.loc[:20, "sex"] = "other"  # only among the training rows
    evaluation = evaluate(frame, "LinUCB")
    evaluation.write(tmp_path)
    plain = json.loads((tmp_path / "evaluation.json").read_text())["policies"]["LinUCB"]
    assert plain["mean_weight"]["by_group"]["sex"]["other"] is None
    assert plain["effective_rows"]["by_group"]["sex"]["other"] == 0.0


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_large_rewards_have_fewer_decimals(frame, scale):
    rewards = frame.assign(reward=scale * frame["reward"])
    evaluation = evaluate(rewards, Uniform(reward_range=(0, 100)), reward_range=(0, 100))
    assert EvaluationSentences(evaluation).number(scale * 0.4567) == {1.0: "0.457", 100.0: "45.7"}[scale]
