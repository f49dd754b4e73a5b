"""Warnings about logs and estimates."""

import numpy as np
import pandas as pd

from fairbandits import LinUCB
from fairbandits.logs import Log, fit, read_arms
from fairbandits.ope import evaluate, passes
from fairbandits.ope.results import ESTIMATOR_NAMES
from tests.ope.logs import ARMS, make_log


def warnings_with(evaluation, text):
    return [warning for warning in evaluation.warnings if text in warning]


def test_no_propensities(frame, trained):
    bare = frame.drop(columns="propensity")
    evaluation = evaluate(bare, trained)
    assert set(evaluation.policies[0].estimates) == {"replay", "direct_method"}
    assert evaluation.policies[0].mean_weight is None
    assert warnings_with(
        evaluation, "The log has no propensities, so IPS, SNIPS and doubly robust are not available."
    )
    evaluation = evaluate(bare, trained, uniform=True)
    assert set(evaluation.policies[0].estimates) == set(ESTIMATOR_NAMES) - {"confidence_sequence"}
    assert not warnings_with(evaluation, "no propensities")
    skewed = bare[(bare["arm"] != "algebra") | (np.arange(len(bare)) % 3 == 0)]
    assert warnings_with(
        evaluate(skewed, trained, uniform=True), "The propensities do not fit the log: 'algebra' was chosen in"
    )
    uniform = evaluate(make_log(uniform=True).drop(columns="propensity"), trained, uniform=True)
    assert not warnings_with(uniform, "declared uniform")


def test_small_propensities_and_clipping(frame, trained):
    tiny = frame.assign(propensity=np.where(np.arange(len(frame)) == 7, 1e-4, frame["propensity"]))
    evaluation = evaluate(tiny, trained)
    assert warnings_with(
        evaluation,
        "of the propensities are below 0.033; the smallest is 0.0001, so a single row can have a weight of 10,000",
    )
    clipped = evaluate(frame, trained, clip=1.0)
    assert warnings_with(clipped, "clipping at 1 reduced")
    low, high = (f.policies[0].estimates["ips"].value.overall.value for f in (clipped, evaluate(frame, trained)))
    assert low < high


def test_wrong_propensities(frame, trained):
    evaluation = evaluate(frame.assign(propensity=0.5 * frame["propensity"]), trained)
    assert warnings_with(evaluation, "the mean weight of users is 1.9")


def test_few_effective_rows(frame, trained):
    assert not warnings_with(evaluate(frame, trained), "few effective rows")
    small = evaluate(frame[:150], trained)
    assert warnings_with(small, "fewer than 100 effective rows: overall 3")
    assert warnings_with(small, "are too narrow there")


def test_groups_without_an_estimate(frame, trained):
    rare = frame.assign(race=np.where(np.arange(len(frame)) % 200 == 0, "rare", frame["sex"].str[:1]))
    evaluation = evaluate(rare, trained).policies[0]
    assert warnings_with(evaluate(rare, trained), "fewer than 30 effective rows: race rare")
    result = evaluation.estimates["doubly_robust"]
    assert result.value.by_group["race"]["rare"] is None
    assert result.improvement.by_group["race"]["rare"] is None
    (only,) = [gap for gap in result.gaps if gap.attribute == "race"]
    assert (only.first, only.second) == ("f", "m")
    assert only.estimate.confidence == 0.95


def test_unsupported_arms(frame, trained):
    unseen = frame[(frame["sex"] == "male") | (frame["arm"] == "chemistry")]
    evaluation = evaluate(unseen, trained)
    assert evaluation.policies[0].unsupported.by_group["sex"]["female"] > 0.5
    assert 0.1 < evaluation.policies[0].unsupported.overall < 0.3
    assert evaluation.policies[0].unsupported.by_group["sex"]["male"] == 0.0
    assert warnings_with(evaluation, "would choose arms that the log never shows to female users in")
    log = Log.open(frame)
    table = read_arms(pd.DataFrame({"arm": [*ARMS, "dance"]}), log)
    assert warnings_with(
        evaluate(log, "Uniform", table=table),
        "would choose arms that the log never shows to users in 25.0% of the rows",
    )


def test_missing_rewards_and_unknown_groups(frame, trained):
    incomplete = frame.assign(
        reward=frame["reward"].mask((frame["sex"] == "female") & (np.arange(len(frame)) % 2 == 0)),
        sex=frame["sex"].mask(np.arange(len(frame)) % 10 == 0),
    )
    evaluation = evaluate(incomplete, trained)
    assert warnings_with(evaluation, "of the rows have no reward and are left out (sex female 4")
    assert warnings_with(evaluation, "sex is unknown in 10.0% of the rows")
    assert evaluation.missing_rewards.by_group["sex"]["male"] == 0.0
    assert evaluation.rows.overall == incomplete["reward"].notna().sum()


def test_one_group_and_no_group(frame, trained):
    women = frame[frame["sex"] == "female"]
    evaluation = evaluate(women, trained)
    assert warnings_with(evaluation, "sex has only one group, so there is no gap to evaluate.")
    assert evaluation.policies[0].estimates["snips"].gaps == ()
    no_groups = evaluate(frame.drop(columns="sex"), "Uniform")
    assert no_groups.rows.by_group == {}


def test_policies_with_a_fairness_term(frame):
    evaluation = evaluate(frame, ["FairLinUCB", "EvenLinUCB", "LinUCB"])
    assert warnings_with(
        evaluation, "FairLinUCB, EvenLinUCB: the fairness term depends on the past rewards of groups"
    )
    assert not warnings_with(evaluate(frame, "LinUCB"), "fairness term")


def test_policies_trained_on_the_evaluation_rows(frame):
    policy = fit(Log.open(frame), LinUCB(random_state=0)).policy
    assert warnings_with(
        evaluate(frame, policy), "as many as the log has: it was probably trained on the evaluation rows"
    )
    assert warnings_with(
        evaluate(frame[:900], policy), "was trained on 4,000 rewards. If rows of this log are among them"
    )


def test_a_reward_model_that_would_be_too_large(frame, trained, monkeypatch):
    monkeypatch.setattr(passes, "_MAX_MODEL_BYTES", 1)
    evaluation = evaluate(frame, trained)
    assert set(evaluation.policies[0].estimates) == {"likelihood", "replay", "ips", "snips"}
    assert evaluation.policies[0].preferred_estimator == "likelihood"
    assert warnings_with(evaluation, "so the direct method and doubly robust are left out")
