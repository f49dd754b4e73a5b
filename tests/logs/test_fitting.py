"""Fitting a policy to a log: the result does not depend on the storage format or the split."""

import functools
import operator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbandits import FairLinUCB, LinUCB, Model, Policy, Recommender
from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.logs import Log, LogError, OfferBuilder, fit, read_arms
from tests.logs.helpers import error_of

N = 3000
ARMS = [f"video {i}" for i in range(6)]


def make(n=N, seed=0):
    rng = np.random.default_rng(seed)
    reward = rng.random(n)
    return pd.DataFrame(
        {
            "arm": rng.choice(ARMS, n),
            "reward": np.where(rng.random(n) < 0.1, np.nan, reward),
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice([0, 1, 2], n),
            "context_age": rng.random(n),
            "context_city": rng.choice(["Paris", "Rome", None], n),
        }
    )


def encoded(frame):
    """Encode the users of `make`: a constant, the age within its range, the cities, and a mark for no city."""
    age = (frame.context_age - frame.context_age.min()) / (frame.context_age.max() - frame.context_age.min())
    cities = [frame.context_city == "Paris", frame.context_city == "Rome", frame.context_city.isna()]
    return np.column_stack([np.ones(len(frame)), age, *cities]).astype(float)


def by_hand(frame, policy):
    """Learn a frame one decision at a time, as the reference."""
    for row, context in zip(frame.itertuples(), encoded(frame), strict=True):
        if np.isnan(row.reward):
            continue
        group = {"sex": row.sex, "race": row.race}
        policy.learn(policy.choose([context], group, [row.arm]), row.reward)
    return policy


def cities(names, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"arm": rng.choice(["a", "b"], 60), "reward": rng.random(60), "context_city": rng.choice(names, 60)}
    return pd.DataFrame(columns)


def test_policies_with_different_categories_do_not_merge():
    one = fit(Log.open(cities(["Paris", "Rome"])), LinUCB(random_state=0)).policy
    two = fit(Log.open(cities(["Berlin", "Rome"])), LinUCB(random_state=0)).policy
    with pytest.raises(ValueError, match="policies must be fitted with the same encoder to merge"):
        one.merge(two)
    assert one.merge(fit(Log.open(cities(["Paris", "Rome"], 1)), LinUCB()).policy).rounds_learned == 120


def test_a_fitted_policy_keeps_its_features():
    first, second = cities(["Paris", "Rome"]), cities(["Berlin", "Rome"], seed=1)
    policy = fit(Log.open(first), LinUCB(random_state=0)).policy
    fitted = fit(Log.open(second), policy)
    assert (fitted.learned, fitted.policy.rounds_learned) == (60, 120)
    assert encoder_in(policy.metadata).features == ("constant", "context_city=Paris", "context_city=Rome")
    one = fit(Log.open(first), LinUCB(random_state=0)).policy
    users = encoder_in(one.metadata).users
    second["context_city"] = second["context_city"].where(second["context_city"] == "Rome", "elsewhere")
    both = fit(Log.open(pd.concat([first, second])).with_encoder(users), LinUCB(random_state=0)).policy
    assert_alike(policy, both)


def test_a_fitted_policy_rejects_other_columns(tmp_path):
    policy = fit(Log.open(cities(["Paris", "Rome"])), LinUCB(random_state=0)).policy
    other = cities(["Paris", "Rome"]).rename(columns={"context_city": "context_town"})
    with pytest.raises(
        LogError,
        match="contexts must be context_city, in this order, as when the policy was fitted, got context_town",
    ):
        fit(Log.open(other), policy)
    arms = read_arms(pd.DataFrame({"arm": ["a", "b"], "size": [1, 2]}), Log.open(other))
    with pytest.raises(LogError, match="the policy was fitted with a different catalogue of arms, or without one"):
        fit(Log.open(cities(["Paris", "Rome"])), policy, table=arms)
    empty = cities(["Paris", "Rome"]).assign(reward=np.nan)
    with pytest.raises(LogError, match="no row has a reward"):
        fit(Log.open(empty), policy)


def test_a_fitted_policy_learns_arms_that_are_new(tmp_path):
    """Those beyond the range of the first catalogue are moved to its ends, as users are."""
    first, second = cities(["Rome"]), cities(["Rome"], seed=1).replace({"arm": {"a": "c"}})
    sizes = pd.DataFrame({"arm": ["a", "b"], "size": [1.0, 3.0]})
    fitted = fit(Log.open(first), LinUCB(random_state=0), table=read_arms(sizes, Log.open(first)))
    more = pd.DataFrame({"size": [2.0, 3.0, 9.0], "arm": ["c", "b", "d"]})
    again = fit(Log.open(second), fitted.policy, table=read_arms(more, Log.open(second)))
    assert again.policy.rounds_learned == 120
    assert again.recommender.encoder == fitted.recommender.encoder
    features, _ = again.recommender.catalogue.encoded()
    np.testing.assert_allclose(features.toarray().ravel(), [0.5, 1.0, 1.0])


def test_policies_with_interactions_learn_by_their_recommender():
    frame = cities(["Paris", "Rome"])
    items = pd.DataFrame({"size": [1.0, 2.0]}, index=["a", "b"])
    users = frame[["context_city"]]
    recommender = Recommender(LinUCB(), users, items, interactions=[("context_city", "size")])
    recommender.learn(recommender.choose({"context_city": "Rome"}), 1.0)
    recommender.policy.metadata["encoder"] = recommender.encoder.to_dict()
    with pytest.raises(
        LogError, match="with a custom transformer or interactions cannot be fitted to a log; use its Recommender"
    ):
        fit(Log.open(frame), recommender.policy)


def test_a_reward_outside_the_range_is_reported_with_its_file_and_row(tmp_path):
    cities(["Rome"]).to_csv(tmp_path / "0.csv", index=False)
    cities(["Rome"]).assign(reward=[*[0.5] * 7, 3.0, *[0.5] * 52]).to_csv(tmp_path / "1.csv", index=False)
    message = r"1\.csv, column 'reward', row 8: reward must be between 0 and 1 .*, got 3\.0"
    with pytest.raises(LogError, match=message):
        fit(Log.open(tmp_path), LinUCB())


def linear(policy):
    """The linear model of a policy, of the log-odds if rewards are logistic."""
    return getattr(policy.reward_model, "model", policy.reward_model)


def assert_alike(one, two, tolerance=1e-9):
    """Compare everything that two policies have learned, arm by arm."""
    assert one.rounds_learned == two.rounds_learned
    assert set(one._arms.rows) == set(two._arms.rows)
    shared = getattr(one, "model", None) == "shared"
    for arm in one._arms.rows:
        ours, theirs = (0, 0) if shared else (one._arms.rows[arm], two._arms.rows[arm])
        for part in ("gram_of", "inverse_of", "coefficients"):
            a, b = getattr(linear(one), part)(ours), getattr(linear(two), part)(theirs)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        for attribute in one.groups.attributes:
            a, b = one.groups.arm_bias(arm, attribute), two.groups.arm_bias(arm, attribute)
            assert (float(a), a.low, a.high) == pytest.approx((float(b), b.low, b.high), abs=tolerance)
    for a, b in zip(one.groups.summaries(), two.groups.summaries(), strict=True):
        assert (a.group, a.count) == (b.group, b.count)
        assert (a.mean, a.variance, a.low) == pytest.approx((b.mean, b.variance, b.low), abs=tolerance)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_fitting_equals_learning_one_decision_at_a_time(tmp_path, model):
    frame = make(400)
    frame.to_csv(tmp_path / "log.csv", index=False)
    fitted = fit(Log.open(tmp_path / "log.csv"), FairLinUCB(gamma=2.0, model=model, random_state=0))
    missing = int(frame.reward.isna().sum())
    assert (fitted.learned, fitted.skipped) == (400 - missing, missing)
    assert_alike(fitted.policy, by_hand(frame, FairLinUCB(gamma=2.0, model=model, random_state=0)))


@pytest.mark.parametrize("model", [Model(link="logistic"), Model(discount=0.99)], ids=str)
def test_models_that_depend_on_the_order_learn_in_order(model):
    frame = make(300)
    fitted = fit(Log.open(frame), LinUCB(model=model, random_state=0))
    assert_alike(fitted.policy, by_hand(frame, LinUCB(model=model, random_state=0)))
    with pytest.raises(ValueError, match=r"LinUCB.* depends on the order of rewards; fit it without a cluster"):
        fit(Log.open(frame), LinUCB(model=model), cluster="local")


def test_the_split_does_not_matter(tmp_path):
    pq.write_table(pa.Table.from_pandas(make()), tmp_path / "log.parquet", row_group_size=100)
    log = Log.open(tmp_path / "log.parquet")
    whole = fit(log, FairLinUCB(random_state=0)).policy
    encoder = functools.reduce(operator.or_, [part.feature_statistics() for part in log.split(4)]).encoder()
    assert encoder == log.encoder()
    parts = [fit(part.with_encoder(encoder), FairLinUCB(random_state=0)).policy for part in log.split(4)]
    assert_alike(functools.reduce(Policy.merge, parts), whole)


def test_a_saved_policy_holds_its_encoder(tmp_path):
    policy = fit(Log.open(make()), FairLinUCB(random_state=0)).policy
    policy.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    encoder = encoder_in(loaded.metadata).users
    cities = ("context_city=Paris", "context_city=Rome", "context_city is missing")
    assert encoder.features == ("constant", "context_age", *cities)
    user = encoder.encode_rows([{"context_age": 0.5, "context_city": "Rome"}])
    offer = OfferBuilder(ARMS, encoder.width).offer_many(user, [{}])
    assert loaded.choose(offer, {"sex": "f", "race": 1}).arm in ARMS
    assert loaded.metadata["roles"]["groups"] == ["sex", "race"]
    assert encoder_in(LinUCB().metadata) is None


def test_rewards_that_cannot_be_learned():
    frame = make(50)
    with pytest.raises(LogError, match=r"^dataframe, column 'reward', row \d+: reward must be between 0 and 0.01"):
        fit(Log.open(frame), LinUCB(reward_range=(0.0, 0.01)))
    with pytest.raises(LogError, match=r"^dataframe: no row has a reward, so there is nothing to learn$"):
        fit(Log.open(frame.assign(reward=np.nan)), LinUCB())


def test_dates_are_features(tmp_path):
    frame = make(400).assign(context_since=pd.date_range("2024-01-01", periods=400, freq="D"))
    frame.to_csv(tmp_path / "log.csv", index=False)
    policies = [fit(Log.open(source), LinUCB(random_state=0)).policy for source in (frame, tmp_path / "log.csv")]
    assert policies[0].checksum() == policies[1].checksum()
    since = next(each for each in encoder_in(policies[0].metadata).users.encoders if each.name == "context_since")
    assert since.encode_value("2024-01-01") == [(0, 0.0)]
    assert since.encode_value(frame.context_since.max()) == [(0, 1.0)]


def test_gaps_of_numbers_are_filled_and_marked():
    frame = make(200)
    frame.loc[::7, "context_age"] = np.nan
    fitted = fit(Log.open(frame), LinUCB(random_state=0))
    assert "context_age is missing" in fitted.recommender.feature_names
    age = encoder_in(fitted.policy.metadata).users.encoders[0]
    assert age.fill == pytest.approx(frame.context_age.mean(), rel=1e-8)


def test_columns_of_other_types_cannot_be_features():
    log = Log.open(make(50).assign(context_when=[[1]] * 50))
    expected = "dataframe, column 'context_when': feature must be numbers, text or dates, got other"
    assert error_of(lambda: fit(log, LinUCB())) == expected
