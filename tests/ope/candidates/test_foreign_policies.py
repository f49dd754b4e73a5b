"""Policies of other libraries, functions, and columns of probabilities."""

import numpy as np
import pandas as pd
import pytest
from coba.learners import BanditEpsilonLearner, RandomLearner
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from fairbandits.logs import Log
from fairbandits.ope import ProbabilityColumn, ProbabilityColumns, evaluate
from tests.ope.logs import ARMS, make_log, probabilities_of


class ObpPolicy:
    """A policy with the interface of obp's offline learners, which needs PyTorch to be installed."""

    n_actions, len_list = len(ARMS), 1

    def predict(self, context):
        distribution = np.zeros((len(context), self.n_actions, self.len_list))
        distribution[np.arange(len(context)), np.where(context[:, 0] > 0, 1, 0), 0] = 1.0
        return distribution


class ContextFreeObpPolicy:
    n_actions, len_list = len(ARMS), 1

    def compute_batch_action_dist(self, n_rounds):
        return np.full((n_rounds, self.n_actions, self.len_list), 1.0 / self.n_actions)


def rule(users):
    """Choose by the feature."""
    return np.where(users["x_low"] > 0, "biology", "algebra")


def value_of(evaluation, estimator="ips"):
    return evaluation.policies[0].estimates[estimator].value.overall.value


def as_numbers(frame):
    return frame.assign(arm=[ARMS.index(arm) for arm in frame["arm"]])


@pytest.fixture(scope="module")
def rule_value(frame):
    return value_of(evaluate(frame, rule))


def test_a_function_that_returns_arms(frame, rule_value):
    chosen = np.where(frame["x_low"] > 0, "biology", "algebra")
    by_hand = ((frame["arm"] == chosen) * frame["reward"] / frame["propensity"]).mean()
    assert rule_value == pytest.approx(by_hand, abs=1e-12)
    assert evaluate(frame, rule).policies[0].title == "rule"
    assert evaluate(frame, rule).policies[0].training == "as given"


def test_a_function_that_returns_probabilities(frame, trained):
    def by_trained(users):
        return pd.DataFrame(probabilities_of(trained, users), columns=ARMS)

    assert value_of(evaluate(frame, by_trained)) == pytest.approx(value_of(evaluate(frame, trained)), abs=1e-12)


def test_columns_of_probabilities(frame, trained):
    matrix = probabilities_of(trained, frame)
    wide = frame.assign(**{f"p_{arm}": matrix[:, i] for i, arm in enumerate(ARMS)})
    wide["p"] = matrix[np.arange(len(frame)), [ARMS.index(arm) for arm in frame["arm"]]]
    expected = evaluate(frame, trained).policies[0].estimates
    contexts = ["x_low", "x_high"]
    log = Log.open(wide, contexts=contexts)
    both = evaluate(log, ["column:p", ProbabilityColumns("p_")])
    assert [policy.title for policy in both.policies] == ["column p", "columns p_*"]
    for policy in both.policies:
        for name, result in policy.estimates.items():
            if name != "likelihood" or policy.title == "columns p_*":
                assert result.value.overall.value == pytest.approx(expected[name].value.overall.value, abs=1e-6)
    assert set(both["columns p_*"].estimates) == set(expected)
    assert set(both["column p"].estimates) == {"likelihood", "ips", "snips", "replay"}


def test_models_of_scikit_learn(frame, rule_value):
    features = frame[["x_low", "x_high"]]
    chosen = np.where(frame["x_low"] > 0, "biology", "algebra")
    by_name = LogisticRegression().fit(features, chosen)
    assert value_of(evaluate(frame, by_name)) == pytest.approx(rule_value, abs=1e-12)
    without_names = LogisticRegression().fit(features.to_numpy(), chosen)
    assert value_of(evaluate(frame, without_names)) == pytest.approx(rule_value, abs=1e-12)
    means = {"algebra": 1.0 - frame["x_low"], "biology": frame["x_low"], "chemistry": 0.0 * frame["x_low"]}
    predicted = pd.concat([features.assign(arm=arm, y=y) for arm, y in means.items()])
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["arm"]), remainder="passthrough")
    interactions = make_pipeline(encode, PolynomialFeatures(2), LinearRegression())
    regressor = interactions.fit(predicted[["arm", "x_low", "x_high"]], predicted["y"])
    assert value_of(evaluate(frame, {"by reward": regressor})) == pytest.approx(rule_value, abs=1e-12)


def test_models_of_a_matrix_get_all_categories(frame):
    cities = np.array([f"city {i % 60:02d}" for i in range(len(frame))])
    log = frame.assign(x_city=cities)[["arm", "reward", "propensity", "x_city", "x_low"]]
    # One that prefers a different arm in the last ten cities.
    arms = np.where(cities < "city 50", ARMS[0], ARMS[1])
    X = np.column_stack([np.eye(60)[np.arange(len(frame)) % 60], frame["x_low"]])
    model = LogisticRegression(C=100.0).fit(X, arms)
    expected = np.mean(log["reward"] / log["propensity"] * (log["arm"] == arms))
    opened = Log.open(log, contexts=["x_city", "x_low"])
    assert value_of(evaluate(opened, model)) == pytest.approx(expected)


def test_policies_of_obp(frame, rule_value):
    assert value_of(evaluate(as_numbers(frame), ObpPolicy())) == pytest.approx(rule_value, abs=1e-12)
    uniform = value_of(evaluate(frame, "Uniform", train=0.0))
    assert value_of(evaluate(as_numbers(frame), ContextFreeObpPolicy())) == pytest.approx(uniform, abs=1e-12)


def test_learners_of_coba(frame):
    few = frame[:300]
    uniform = value_of(evaluate(few, "Uniform", train=0.0))
    assert value_of(evaluate(few, RandomLearner())) == pytest.approx(uniform, abs=1e-12)
    learner = BanditEpsilonLearner(epsilon=0.3)
    for arm, reward in zip(few["arm"], few["reward"], strict=True):
        learner.learn(None, arm, reward, 1.0)
    best = few.groupby("arm")["reward"].mean().idxmax()
    probability = np.where(few["arm"] == best, 0.8, 0.1)
    by_hand = (probability / few["propensity"] * few["reward"]).mean()
    assert value_of(evaluate(few, learner)) == pytest.approx(by_hand, abs=1e-12)


def test_arms_that_the_log_does_not_have_are_unsupported(frame):
    evaluation = evaluate(frame, lambda users: np.where(users["x_low"] > 0, "zoology", "algebra"))
    policy = evaluation.policies[0]
    share = frame["x_low"].mean()
    assert policy.unsupported.overall == pytest.approx(share)
    headline = policy.preferred.value.overall
    assert headline.high - headline.low > share
    assert any("arms that the log never shows" in warning for warning in evaluation.warnings)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda users: np.ones((len(users), 3)), "must return the chosen arm of each row, or a data frame"),
        (lambda users: ["algebra"], "must choose one arm per row, got 1 for"),
        (lambda users: [7] * len(users), "must choose arms of the log such as '.*', got 7; write arm ids alike"),
        (lambda users: [["algebra"]] * len(users), "must return the chosen arm of each row"),
        (lambda users: pd.DataFrame({"algebra": "x"}, users.index), "must return numbers as probabilities"),
        ("column:reward", "column 'reward' has another role in the log"),
        (lambda users: pd.DataFrame({"algebra": 0.7, "biology": 0.7}, users.index), "add up to 1 in every row"),
        (
            lambda users: pd.DataFrame({"algebra": 1.7, "biology": -0.7}, users.index),
            "must be between 0 and 1, got -0.7",
        ),
        (lambda users: pd.DataFrame({"zoology": 1.0}, users.index), "must know arms of the log such as"),
        (lambda users: pd.DataFrame({"algebra": [1.0]}), "must return .* rows with the probabilities of 1 arms"),
        (LogisticRegression(), "LogisticRegression must be fitted before it is evaluated"),
        (LogisticRegression().fit([[0.0], [1.0]], ["algebra", "biology"]), "fitted to 1 features without names"),
        (LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]), "classes must be arms such as .*, got"),
        (
            LogisticRegression().fit(pd.DataFrame({"age": [1.0, 2.0]}), ["algebra", "biology"]),
            "there is no column 'age', which LogisticRegression needs",
        ),
        (LinearRegression().fit([[0.0], [1.0]], [0, 1]), "must predict the reward from the arm as well"),
        ("column:p", "there is no column 'p', which column p needs"),
        ("column:propensity", "holds the propensities of the logging policy"),
        ("columns:p_", "there is no column of probabilities such as 'p_"),
        (ObpPolicy(), "must know arms of the log such as"),
    ],
)
def test_policies_that_do_not_fit_the_log(frame, policy, message):
    with pytest.raises(ValueError, match=message):
        evaluate(frame, policy)


def test_columns_that_are_no_probabilities(frame):
    with pytest.raises(ValueError, match=r"column 'p' must be between 0 and 1, got 1\.5 in row 1"):
        evaluate(frame.assign(p=1.5), ProbabilityColumn("p"))
    with pytest.raises(ValueError, match="column 'p' must be between 0 and 1, got nothing in row 4"):
        evaluate(frame.assign(p=[0.5] * 3 + [np.nan] * (len(frame) - 3)), ProbabilityColumn("p"))
    halves = frame.assign(p_algebra=0.5, p_biology=0.4)
    with pytest.raises(ValueError, match=r"in the columns p_\* must add up to 1 in every row, got 0\.9 in row 1"):
        evaluate(halves, ProbabilityColumns("p_"))


def test_slates_of_obp_are_refused(frame):
    policy = ContextFreeObpPolicy()
    policy.len_list = 3
    with pytest.raises(ValueError, match="len_list must be 1, got 3; use evaluate_slates"):
        evaluate(as_numbers(frame), policy)


def test_foreign_policies_do_not_learn(frame):
    with pytest.raises(ValueError, match="learning needs policies of this library"):
        evaluate(frame, rule, learning=True)


def test_propensities_of_all_arms(frame, trained):
    shares = np.where(frame["x_low"].to_numpy()[:, None] > 0, [0.6, 0.2, 0.2], [0.2, 0.5, 0.3])
    wide = frame.assign(**{f"mu_{arm}": shares[:, i] for i, arm in enumerate(ARMS)})
    contexts = ["x_low", "x_high"]
    expected = evaluate(frame, trained).policies[0].estimates
    for log in (wide, wide.drop(columns="propensity")):
        found = evaluate(Log.open(log, contexts=contexts), trained, propensities="mu_").policies[0].estimates
        for name, result in found.items():
            assert result.value.overall.value == pytest.approx(expected[name].value.overall.value, abs=1e-6)
    with pytest.raises(ValueError, match=r"must be the same in both places, got 0\.3 in 'propensity' and"):
        evaluate(Log.open(wide.assign(propensity=0.3), contexts=contexts), trained, propensities="mu_")
    never = wide.drop(columns="propensity").assign(mu_algebra=0.0, mu_biology=0.5, mu_chemistry=0.5)
    with pytest.raises(ValueError, match="the propensity of the logged arm must be above 0, got 0"):
        evaluate(Log.open(never, contexts=contexts), trained, propensities="mu_")


def test_arms_that_a_user_cannot_see_are_unsupported(frame):
    # Users with x_low are never shown chemistry: their propensities say so.
    log = frame[(frame["x_low"] == 0) | (frame["arm"] != "chemistry")].drop(columns="propensity")
    shares = np.where(log["x_low"].to_numpy()[:, None] > 0, [0.75, 0.25, 0.0], [0.2, 0.5, 0.3])
    log = log.assign(**{f"mu_{arm}": shares[:, i] for i, arm in enumerate(ARMS)})
    opened = Log.open(log, contexts=["x_low", "x_high"])
    headline = evaluate(opened, "Uniform", train=0.0, propensities="mu_").policies[0].preferred.value.overall
    assert headline.high - headline.low > log["x_low"].mean() / 3


def test_estimated_propensities(trained):
    frame = make_log(20_000)
    bare = frame.drop(columns="propensity")
    known, estimated = evaluate(frame, trained), evaluate(bare, trained, estimate_propensities=True)
    for name in ("ips", "snips", "doubly_robust", "likelihood"):
        one, two = (each.policies[0].estimates[name].value.overall.value for each in (known, estimated))
        assert two == pytest.approx(one, abs=0.02)
    assert any("propensities are estimated" in warning for warning in estimated.warnings)
    with pytest.raises(ValueError, match="estimate_propensities must be False for a log with propensities"):
        evaluate(frame, trained, estimate_propensities=True)
    with pytest.raises(ValueError, match="propensities can be estimated only if there are rows of several arms"):
        evaluate(bare.assign(arm="algebra"), trained, estimate_propensities=True)


def test_a_policy_whose_arms_are_never_in_the_log(frame):
    evaluation = evaluate(frame, {"elsewhere": lambda users: np.array(["dance"] * len(users))})
    [policy] = evaluation.policies
    value = policy.preferred.value.overall
    assert (value.low, value.high) == (0.0, 1.0)  # nothing is known
