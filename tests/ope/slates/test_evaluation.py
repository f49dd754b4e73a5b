"""The evaluation of a log of slates, compared with the truth and with the estimators on arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.logs import Log
from fairbandits.ope import SlateProbabilities, evaluate_slates
from fairbandits.ope.slates import estimators as slate_estimators
from fairbandits.ope.slates.slate_log import SlateLog
from tests.ope.slates.slate_logs import EVENTS, make_slates, true_value

COLUMNS = {name: SlateProbabilities(**{event: f"{name}_{event}" for event in EVENTS}) for name in ("p", "q")}
ESTIMATORS = {"standard": "slate", "reward_interaction": "cascade", "independent": "position"}


def run(frame, policy=COLUMNS["q"], **options):
    options = {"propensity": COLUMNS["p"]} | options
    return evaluate_slates(frame, {"new": policy}, **options)


@pytest.fixture(scope="module")
def frame():
    return make_slates()


@pytest.fixture(scope="module")
def evaluation(frame):
    return run(frame)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_contain_the_truth(evaluation, name):
    result = evaluation["new"].estimates[name].result
    women, men = (result.value.by_group["sex"][sex] for sex in "fm")
    assert women.low < true_value("f") < women.high
    assert men.low < true_value("m") < men.high
    [gap] = result.gaps
    assert (gap.first, gap.second) == ("f", "m")
    assert gap.estimate.low < true_value("f") - true_value("m") < gap.estimate.high < 0.0
    change, truth = result.improvement.by_group["sex"]["m"], true_value("m") - true_value("m", "p")
    assert change.low < truth < change.high
    assert result.value.overall.high - result.value.overall.low < 0.25


def test_the_log_itself(evaluation, frame):
    logged = evaluation.logged
    assert logged.value.overall.value == pytest.approx(frame.groupby("decision")["reward"].sum().mean(), abs=1e-6)
    assert logged.value.overall.low < logged.value.overall.value < logged.value.overall.high
    assert logged.improvement.overall is None
    assert evaluation.slates.overall == 3_000
    assert evaluation.slates.by_group["sex"] == {"f": 1_500, "m": 1_500}
    assert (evaluation.unit, evaluation.rows_read, evaluation.warnings) == ("user", 6_000, ())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ips_and_snips_are_those_of_arrays(evaluation, frame, name):
    log = SlateLog(np.repeat(np.arange(3_000), 2), frame["position"], frame["reward"])
    columns = (frame[f"{policy}_{ESTIMATORS[name]}"] for policy in "qp")
    pi, p = (column.to_numpy() for column in columns)
    sex, estimate = log.per_slate("sex", frame["sex"]), evaluation["new"].estimates[name]
    for kind in ("ips", "snips"):
        terms, found = getattr(slate_estimators, f"{name}_{kind}")(log, pi, p), getattr(estimate, kind)
        assert found.overall == pytest.approx(terms.value(), abs=1e-12)
        assert found.by_group["sex"]["m"] == pytest.approx(terms.select(sex == "m").value(), abs=1e-12)
    # The headline is self-normalised as well.
    assert estimate.result.value.overall.value == pytest.approx(estimate.snips.overall, abs=0.01)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1_000))
def test_neither_the_order_of_rows_nor_the_first_position_matters(seed):
    frame = make_slates(60, seed)
    other = frame.assign(position=frame["position"] + 1).sample(frac=1.0, random_state=seed)
    one, two = (run(each).to_dict()["policies"]["new"]["estimates"]["standard"] for each in (frame, other))
    assert two["value"]["overall"] == pytest.approx(one["value"]["overall"], abs=1e-5)
    assert two["snips"]["overall"] == pytest.approx(one["snips"]["overall"])


def test_only_the_estimators_whose_probabilities_are_there(frame):
    cascade, position = SlateProbabilities(cascade="q_cascade"), SlateProbabilities(position="q_position")
    found = run(frame, cascade, propensity=SlateProbabilities(cascade="p_cascade"))["new"]
    assert list(found.estimates) == ["standard", "reward_interaction"]
    whole = run(frame, SlateProbabilities(slate="q_slate"))["new"].estimates["standard"]
    assert found.estimates["standard"].to_dict() == whole.to_dict()
    assert list(run(frame, position)["new"].estimates) == ["independent"]


def test_the_preferred_estimator_needs_a_hundred_effective_slates(frame, evaluation):
    assert evaluation["new"].preferred_estimator == "standard"
    few = run(frame[: 2 * 110])
    assert few["new"].preferred_estimator == "independent"
    assert any("do not base decisions on it" in warning for warning in few.warnings)


def test_the_logging_policy_itself(frame):
    found = run(frame, COLUMNS["p"])
    for estimate in found["new"].estimates.values():
        assert estimate.result.improvement.overall.value == 0.0
        assert estimate.result.value.overall.value == pytest.approx(found.logged.value.overall.value, abs=1e-6)


def test_position_weights_and_the_range_scale_the_reward(frame, evaluation):
    scaled = run(frame.assign(reward=5.0 * frame["reward"]), position_weight=[2.0, 2.0], reward_range=(0, 5))
    for name in ESTIMATORS:
        one, ten = (each["new"].estimates[name].result for each in (evaluation, scaled))
        for small, large in ((one.value.overall, ten.value.overall), (one.gaps[0].estimate, ten.gaps[0].estimate)):
            assert (large.value, large.low, large.high) == pytest.approx(
                (10 * small.value, 10 * small.low, 10 * small.high), abs=1e-4
            )
    first = run(frame, position_weight=[1.0, 0.0])
    clicks = frame.loc[frame["position"] == 0, "reward"].mean()
    assert first.logged.value.overall.value == pytest.approx(clicks, abs=1e-6)


def test_slates_of_different_lengths(frame):
    shorter = frame.drop(frame.index[(frame["position"] == 1) & (frame["user"] % 3 == 0)])
    cascade = [SlateProbabilities(cascade=f"{name}_cascade") for name in "qp"]
    found = run(shorter, cascade[0], propensity=cascade[1])
    assert found.logged.value.overall.value == pytest.approx(
        shorter.groupby("decision")["reward"].sum().mean(), abs=1e-6
    )
    for estimate in found["new"].estimates.values():
        assert estimate.result.value.overall.value == pytest.approx(estimate.snips.overall, abs=0.02)
    with pytest.raises(
        ValueError, match="reward_range must include 0 if slates have different lengths, got 1 to 5"
    ):
        run(shorter.assign(reward=1 + shorter["reward"]), reward_range=(1, 5))


def test_missing_rewards_users_and_groups_are_reported(frame):
    gaps = frame.copy()
    gaps.loc[gaps["decision"].isin(["d0", "d7"]) & (gaps["position"] == 1), "reward"] = np.nan
    gaps.loc[gaps["decision"] == "d3", "sex"] = None
    found = run(gaps.drop(columns="user"))
    assert found.slates.overall == 2_998
    assert found.slates_read == 3_000
    assert found.missing_rewards.by_group["sex"]["m"] == pytest.approx(1 / 1_500)
    assert found.unit == "slate"
    assert [warning.split(" (")[0][:40] for warning in found.warnings] == [
        "The log has no user column",
        "0.07% of the slates lack a reward at a p",
        "Slates of users whose group is unknown c",
    ]


def test_wrong_propensities_are_noticed(frame):
    found = run(frame.assign(p_slate=frame["p_slate"] / 2.0), SlateProbabilities(slate="q_slate"))
    assert found.warnings == (
        "new, whole slate: the mean importance weight is "
        f"{found['new'].estimates['standard'].mean_weight.overall:.2f} and should be 1. The probabilities are "
        "wrong, or the policy shows slates that the logging policy never shows.",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": 0}, r"position must be 0, 1, 2, ... without gaps or repetitions, got \[0, 0\] in slate 1;"),
        ({"q_slate": 1.5}, "column 'q_slate', row 1: probability must be between 0 and 1, got 1.5"),
        ({"p_slate": 0.0}, "column 'p_slate', row 1: propensity must be above 0 and at most 1, got 0.0"),
        ({"p_slate": np.nan}, "propensity must be above 0 and at most 1, got nothing"),
        ({"p_slate": "a"}, "column 'p_slate', row 1: probability must be a number, got text"),
        ({"reward": 2.0}, r"reward must be between 0 and 1, got 2.0; set reward_range=\(lowest, highest\)"),
        (
            {"reward": np.nan},
            "slates need a reward at every position, got none with all rewards; write 0 for no click",
        ),
        ({"position": 0.5}, "column 'position', row 1: position must be an integer, counted from 0 or 1, got 0.5"),
        ({"decision": None}, "column 'decision', row 1: decision must not be empty"),
    ],
)
def test_invalid_columns(frame, change, message):
    rule = message.replace("... without", "... in each slate, without")
    with pytest.raises(ValueError, match=rule):
        run(frame[:20].assign(**change))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("sex", "m", "column 'sex', row 2: value must be the same in all rows of a slate, got 'm' after 'f'"),
        ("user", 99, "column 'user', row 2: value must be the same in all rows of a slate"),
        ("position", 2, r"without gaps or repetitions, got \[0, 2\] in slate 1; leave out whole slates"),
        (
            "p_cascade",
            0.9,
            r"new: propensity must be that of all arms .* which cannot increase, got .* in slate 1",
        ),
        ("q_slate", 0.9, r"new: probability must be that of the whole slate, the same at every position, got"),
    ],
)
def test_rows_of_a_slate_that_contradict_each_other(frame, column, value, message):
    wrong = frame[:20].copy()
    wrong.loc[1, column] = value
    with pytest.raises(ValueError, match=message):
        run(wrong)


@pytest.mark.parametrize("role", ["decision", "position"])
def test_the_roles_of_slates_are_needed(frame, role):
    with pytest.raises(ValueError, match=rf"slates need a {role} column, .*; set {role}=... \(--{role}\)"):
        run(Log.open(frame.drop(columns=role)))


def test_invalid_arguments(frame):
    with pytest.raises(ValueError, match="there is no column 'q_slat'; did you mean 'q_slate'"):
        run(frame, SlateProbabilities(slate="q_slat"))
    with pytest.raises(ValueError, match="SlateProbabilities must name at least one column, got none"):
        SlateProbabilities()
    with pytest.raises(ValueError, match="slate must be a column name, got 3"):
        SlateProbabilities(slate=3)
    with pytest.raises(ValueError, match="new: the policy and the log must have probabilities of the same event"):
        run(frame, SlateProbabilities(slate="q_slate"), propensity=SlateProbabilities(position="p_position"))
    with pytest.raises(ValueError, match="new: a policy must be SlateProbabilities, got 'q_slate'"):
        run(frame, "q_slate")
    with pytest.raises(ValueError, match="propensity must be SlateProbabilities, got 'p_slate'"):
        run(frame, propensity="p_slate")
    with pytest.raises(ValueError, match="policies must be a dictionary of titles and SlateProbabilities"):
        evaluate_slates(frame, {}, propensity=COLUMNS["p"])
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, exclusive, got 1"):
        run(frame, confidence=1)
    with pytest.raises(ValueError, match="position_weight must be positive at some position, got only zeros"):
        run(frame, position_weight=[0.0, 0.0])


def test_the_page_and_the_json(evaluation, tmp_path):
    page = evaluation.write(tmp_path).read_text()
    assert "would receive" in page
    assert "The worst-off group, f, would receive" in page
    assert "reward interaction, SNIPS" in page
    assert (tmp_path / "slates.json").exists()
    with pytest.raises(KeyError, match="there is no policy 'old'; the policies are new"):
        evaluation["old"]
