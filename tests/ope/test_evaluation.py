"""Off-policy evaluation from end to end, compared with the truth and with computations on plain arrays."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from fairbandits import LinUCB, Uniform
from fairbandits.logs import Log, fit, read_arms
from fairbandits.ope import estimators, evaluate
from fairbandits.ope.cross_fitting import assign_folds
from tests.ope.logs import ARMS, MEAN, make_log, probabilities_of


def test_a_trained_policy_is_evaluated_by_its_own_probabilities(frame, trained, evaluation):
    probabilities = probabilities_of(trained, frame)
    arm = np.array([ARMS.index(name) for name in frame["arm"]])
    probability = probabilities[np.arange(len(frame)), arm]
    expected = {
        "replay": estimators.replay(probability, frame["reward"]),
        "ips": estimators.ips(probability, frame["reward"], frame["propensity"]),
        "snips": estimators.snips(probability, frame["reward"], frame["propensity"]),
    }
    estimates = evaluation.policies[0].estimates
    assert set(estimates) == {*expected, "direct_method", "doubly_robust", "likelihood"}
    for name, terms in expected.items():
        expected_estimate, estimate = terms.estimate(), estimates[name].value.overall
        assert estimate.value == pytest.approx(expected_estimate.value, abs=1e-12)
        assert estimate.low == pytest.approx(expected_estimate.low, abs=1e-9)
        assert estimate.high == pytest.approx(expected_estimate.high, abs=1e-9)
        by_group = terms.by_group(frame["sex"])
        for sex, each in by_group.items():
            assert estimates[name].value.by_group["sex"][sex].value == pytest.approx(each.value, abs=1e-12)
        (gap,) = estimates[name].gaps
        assert (gap.first, gap.second) == ("female", "male")
        assert gap.estimate.value == pytest.approx(by_group["female"].minus(by_group["male"]).value, abs=1e-12)
        assert gap.estimate.high == pytest.approx(by_group["female"].minus(by_group["male"]).high, abs=1e-9)


def test_the_reward_model_is_a_cross_fitted_ridge_regression(frame, trained, evaluation):
    arm = np.array([ARMS.index(name) for name in frame["arm"]])
    fold = assign_folds(np.arange(len(frame)), 5)
    sexes = pd.get_dummies(frame["sex"]).to_numpy(float)
    # Two constants: one for everybody among the groups, one among the users' features.
    ones = np.ones(len(frame))
    features = np.column_stack([ones, sexes, ones, frame[["x_low", "x_high"]]])
    predictions = np.empty((len(frame), 3))
    for k in range(3):
        for f in range(5):
            rows = (fold != f) & (arm == k)
            model = Ridge(alpha=1.0, fit_intercept=False).fit(features[rows], frame["reward"][rows])
            predictions[fold == f, k] = model.predict(features[fold == f])
    probabilities = probabilities_of(trained, frame)
    robust = estimators.doubly_robust(probabilities, predictions, arm, frame["reward"], frame["propensity"])
    estimates = evaluation.policies[0].estimates
    assert estimates["direct_method"].value.overall.value == pytest.approx(
        estimators.direct_method(probabilities, predictions).value(), abs=1e-9
    )
    assert estimates["doubly_robust"].value.overall.value == pytest.approx(robust.value(), abs=1e-9)
    assert estimates["doubly_robust"].value.overall.standard_error == pytest.approx(
        robust.estimate().standard_error, rel=1e-6
    )
    # The variance of the direct method: that of the users, and that of the coefficients (White's sandwich).
    expected = estimators.direct_method(probabilities, predictions).estimate().standard_error ** 2
    for k in range(3):
        X = features[arm == k]
        inverse = np.linalg.inv(X.T @ X + np.eye(6))
        residual = (frame["reward"] - predictions[:, k])[arm == k].to_numpy()
        bread = inverse @ (probabilities[:, [k]] * features).mean(axis=0)
        expected += bread @ (X.T * residual**2) @ X @ bread
    assert estimates["direct_method"].value.overall.standard_error == pytest.approx(math.sqrt(expected), rel=1e-6)


def test_estimates_are_close_to_the_true_values(trained, evaluation):
    # There are four equally frequent kinds of users.
    kinds = make_log(40).drop_duplicates(["sex", "x_high"])
    means = np.array(
        [MEAN[int(sex == "male"), int(x)] for sex, x in zip(kinds["sex"], kinds["x_high"], strict=True)]
    )
    value = (probabilities_of(trained, kinds) * means).sum(axis=1)
    truth = {sex: value[kinds["sex"] == sex].mean() for sex in ("female", "male")}
    for name in ("ips", "snips", "direct_method", "doubly_robust"):
        result = evaluation.policies[0].estimates[name]
        checks = [
            (result.value.overall, np.mean(list(truth.values()))),
            *((result.value.by_group["sex"][sex], truth[sex]) for sex in truth),
            (result.gaps[0].estimate, truth["female"] - truth["male"]),
        ]
        for estimate, expected in checks:
            assert abs(estimate.value - expected) < 4.0 * estimate.standard_error, name


def test_the_logging_policy_is_evaluated_as_well(frame, evaluation):
    assert evaluation.logged.value.overall.value == pytest.approx(frame["reward"].mean())
    means = frame.groupby("sex")["reward"].mean()
    assert evaluation.logged.gaps[0].estimate.value == pytest.approx(means["female"] - means["male"])
    improvement = evaluation.policies[0].estimates["ips"].improvement.overall
    value = evaluation.policies[0].estimates["ips"].value.overall
    assert improvement.value == pytest.approx(value.value - frame["reward"].mean())


def test_the_storage_format_does_not_matter(tmp_path, frame, trained, evaluation):
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet", row_group_size=700)
    for log in (tmp_path / "log.csv", tmp_path / "log.parquet"):
        other = evaluate(log, trained)
        for name, result in evaluation.policies[0].estimates.items():
            for mine, theirs in (
                (other.policies[0].estimates[name].value.overall, result.value.overall),
                (other.policies[0].estimates[name].gaps[0].estimate, result.gaps[0].estimate),
            ):
                assert mine.value == pytest.approx(theirs.value, abs=1e-6)
                assert mine.low == pytest.approx(theirs.low, abs=1e-6)
                assert mine.high == pytest.approx(theirs.high, abs=1e-6)


def test_the_intervals_of_more_than_two_groups_hold_jointly(frame, trained):
    wider = frame.assign(race=np.random.default_rng(0).choice(list("abc"), len(frame)))
    result = evaluate(wider, trained).policies[0].estimates["snips"]
    pairs = [gap for gap in result.gaps if gap.attribute == "race"]
    assert [(gap.first, gap.second) for gap in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs[0].estimate.confidence == pytest.approx(1.0 - 0.05 / 3)
    largest = result.largest_gap("race")
    assert largest.estimate.value == pytest.approx(max(abs(gap.estimate.value) for gap in pairs))
    assert largest.swapped().estimate.low == pytest.approx(-largest.estimate.high)


def test_untrained_policies_train_on_the_first_half_and_are_evaluated_on_the_second(frame):
    half = len(frame) // 2
    evaluation = evaluate(frame, ["LinUCB(alpha=0.1)", "Uniform"])
    assert evaluation.training_rows == half
    assert evaluation.rows.overall == len(frame) - half
    assert evaluation["LinUCB(alpha=0.1)"].training == f"after training on {half:,} earlier rows"
    policy = fit(Log.open(frame[:half]), LinUCB(alpha=0.1, random_state=0)).policy
    mine = evaluate(frame[half:], policy).policies[0].estimates["ips"].value.overall
    theirs = evaluation["LinUCB(alpha=0.1)"].estimates["ips"].value.overall
    assert theirs.value == pytest.approx(mine.value, abs=1e-9)
    with pytest.raises(KeyError, match="there is no policy 'LinTS'; the policies are LinUCB"):
        evaluation["LinTS"]


def test_the_split_is_by_time(frame):
    shuffled = frame.assign(time=np.arange(len(frame))).sample(frac=1.0, random_state=0)
    evaluation = evaluate(shuffled, "LinUCB(alpha=0.1)", train=0.25)
    assert evaluation.training_rows == len(frame) // 4
    expected = evaluate(frame, "LinUCB(alpha=0.1)", train=0.25).policies[0].estimates["snips"].value.overall
    assert evaluation.policies[0].estimates["snips"].value.overall.value == pytest.approx(expected.value, abs=1e-9)


def test_given_policies_are_not_modified(frame):
    policy = LinUCB(random_state=0)
    before = policy.checksum()
    evaluate(frame, policy)
    assert policy.checksum() == before


def test_a_saved_policy_is_evaluated_as_given(tmp_path, frame, trained, evaluation):
    trained.save(tmp_path / "policy.safetensors")
    other = evaluate(frame, [tmp_path / "policy.safetensors", "Uniform"], train=0.0)
    first = other.policies[0]
    assert first.training == "as given, trained on 4,000 rewards"
    assert first.estimates["snips"].value.overall == evaluation.policies[0].estimates["snips"].value.overall
    assert other.policies[1].training == "untrained"


def test_models_that_depend_on_the_order_learn_in_order(frame):
    title = "LinUCB(model=Model(discount=0.99))"
    assert evaluate(frame[:600], title)[title].training == "after training on 300 earlier rows"


def test_a_policy_with_other_categories(frame):
    cities = frame.assign(x_city=np.where(frame["x_low"] > 0, "Rome", "Oslo"))
    policy = fit(Log.open(cities[cities["x_city"] == "Rome"]), LinUCB(random_state=0)).policy
    evaluation = evaluate(cities, [policy, "Uniform"], train=0.5)
    assert evaluation.policies[0].estimates["snips"].value.overall is not None


def test_arms_with_features(frame):
    log = Log.open(frame)
    table = read_arms(
        pd.DataFrame({"arm": ARMS, "level": [1.0, 2.0, 3.0], "match:sex": ["male", "female", "male"]}), log
    )
    evaluation = evaluate(log, "LinUCB(alpha=0.1, model=shared)", table=table)
    assert (
        evaluation.policies[0].estimates["doubly_robust"].value.overall.value
        > evaluation.logged.value.overall.value
    )
    fitted = fit(log, LinUCB(random_state=0), table=table).policy
    with pytest.raises(ValueError, match=r"it was fitted with a catalogue of arms; pass it \(--catalogue\)"):
        evaluate(frame, fitted)
    plain = fit(log, LinUCB(random_state=0)).policy
    with pytest.raises(ValueError, match="it was fitted without a catalogue of arms; leave it out"):
        evaluate(frame, plain, table=table)
    short = read_arms(pd.DataFrame({"arm": ARMS[:2]}), log)
    with pytest.raises(ValueError, match=r"arms must be in the catalogue, got \['chemistry'\]"):
        evaluate(log, "Uniform", table=short)


def test_rewards_far_from_zero_keep_their_digits(frame):
    far = frame.assign(reward=1e6 + frame["reward"])
    near = evaluate(frame, Uniform(), reward_range=(0, 2))
    there = evaluate(far, Uniform(reward_range=(0, 2e6)), reward_range=(1e6, 1e6 + 2))
    for name in ("snips", "replay"):
        one, two = (evaluation.policies[0].estimates[name].value.overall for evaluation in (near, there))
        assert two.value - 1e6 == pytest.approx(one.value, abs=1e-6)
        assert two.standard_error == pytest.approx(one.standard_error, rel=1e-6)
    assert there.logged.value.overall.standard_error == pytest.approx(
        near.logged.value.overall.standard_error, rel=1e-6
    )


def test_tiny_rewards():
    frame = make_log(400)
    frame["reward"] *= 1e-150
    evaluation = evaluate(frame, LinUCB(reward_range=(0.0, 1e-150), random_state=0))
    (policy,) = evaluation.policies
    assert policy.estimates["ips"].value.overall.low <= policy.estimates["ips"].value.overall.high


@pytest.mark.parametrize(
    ("policies", "options", "message"),
    [
        ("Best", {}, "or module:Class, got 'Best'"),
        ("FairLinUCB(gamma=3", {}, r"must be written as Name\(parameter=value, .*, got 'FairLinUCB\(gamma=3'"),
        ("LinUCB(delicacy=1)", {}, "LinUCB has no parameter 'delicacy'"),
        ("LinUCB(model=Model(feature_map=Nystroem))", {}, "a feature map must be fitted to contexts"),
        ([], {}, "policies must contain at least one policy, got none"),
        (["Uniform", "Uniform"], {}, "policies must have different names, got Uniform twice"),
        (7, {}, "or a column of probabilities, got 7 of type int"),
        ("nowhere.safetensors", {}, "nowhere.safetensors: no such file"),
        ("Uniform", {"train": 1.0}, "train must be a share of the log, at least 0 and below 1, got 1.0"),
        ("Uniform", {"clip": 0.0}, "clip must be above 0, got 0.0"),
        ("Uniform", {"confidence": 1.0}, "confidence must be between 0 and 1, exclusive, got 1.0"),
        (
            "Uniform",
            {"uniform": True},
            "uniform must be False for a log with propensities, got True and column 'propensity'",
        ),
    ],
)
def test_invalid_arguments(frame, policies, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(frame, policies, **options)


def test_logs_that_cannot_be_used(frame, trained):
    with pytest.raises(ValueError, match="training needs at least one row, got none"):
        evaluate(frame.assign(time=7.0), "Uniform")
    with pytest.raises(
        ValueError, match="evaluation needs at least two rows with a reward, got 1; decrease train"
    ):
        evaluate(frame[:2], "Uniform")
    with pytest.raises(
        ValueError, match=r"a trained policy must know some of the arms on offer.*, such as '\w+' \(str\)"
    ):
        evaluate(frame.assign(arm=frame["arm"].str.len()), trained)
    with pytest.raises(ValueError, match=r"column 'reward', row 1: reward must be between 0 and 1, got 7\.0"):
        evaluate(frame.assign(reward=7.0), "LinUCB")
