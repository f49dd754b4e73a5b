"""A policy that starts warm: the same whatever the log is kept in and however it is cut."""

import functools
import operator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbandits import Catalogue, FairLinUCB, LinUCB, Model, Policy
from fairbandits.logs import ContextEncoder, Log, LogError, Offers, fit, read_arms

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


def by_hand(frame, policy):
    """Learn a frame one decision at a time: the reference."""
    for row in frame.itertuples():
        if np.isnan(row.reward):
            continue
        city = row.context_city
        contexts = [[row.context_age, float(city == "Paris"), float(city == "Rome")]]
        group = {"sex": row.sex, "race": row.race}
        policy.learn(policy.choose(contexts, group, [row.arm]), row.reward)
    return policy


def cities(names, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"arm": rng.choice(["a", "b"], 60), "reward": rng.random(60), "context_city": rng.choice(names, 60)}
    return pd.DataFrame(columns)


def test_policies_of_logs_with_other_words_do_not_merge():
    one = fit(Log.open(cities(["Paris", "Rome"])), LinUCB(random_state=0)).policy
    two = fit(Log.open(cities(["Berlin", "Rome"])), LinUCB(random_state=0)).policy
    with pytest.raises(ValueError, match="another encoder: their features are not the same"):
        one.merge(two)
    assert one.merge(fit(Log.open(cities(["Paris", "Rome"], 1)), LinUCB()).policy).rounds_learned == 120


def test_a_policy_goes_on_with_the_features_it_knows():
    first, second = cities(["Paris", "Rome"]), cities(["Berlin", "Rome"], seed=1)
    policy = fit(Log.open(first), LinUCB(random_state=0)).policy
    fitted = fit(Log.open(second), policy)
    assert (fitted.learned, fitted.policy.rounds_learned) == (60, 120)
    assert ContextEncoder.of(policy).features == ("context_city=Paris", "context_city=Rome")
    second["context_city"] = second["context_city"].where(second["context_city"] == "Rome")
    both = fit(Log.open(pd.concat([first, second])), LinUCB(random_state=0)).policy
    assert_alike(policy, both)


def test_a_policy_that_has_learned_refuses_other_columns(tmp_path):
    policy = fit(Log.open(cities(["Paris", "Rome"])), LinUCB(random_state=0)).policy
    other = cities(["Paris", "Rome"]).rename(columns={"context_city": "context_town"})
    with pytest.raises(LogError, match="its contexts are context_town, and the policy has learned context_city"):
        fit(Log.open(other), policy)
    arms = read_arms(pd.DataFrame({"arm": ["a", "b"], "size": [1, 2]}), Log.open(other))
    with pytest.raises(LogError, match="another catalogue of arms, or with none"):
        fit(Log.open(cities(["Paris", "Rome"])), policy, table=arms)
    empty = cities(["Paris", "Rome"]).assign(reward=np.nan)
    with pytest.raises(LogError, match="no row has a reward"):
        fit(Log.open(empty), policy)


@pytest.mark.parametrize("names", [["Paris", "Rome"], [1.0, 2.0]])
def test_a_log_without_the_columns_of_an_encoder(names):
    encoder = Log.open(cities(names)).encoder()
    other = Log.open(cities(names).rename(columns={"context_city": "context_cty"}))
    with pytest.raises(
        LogError, match="no column 'context_city', of which features are made; did you mean 'context_cty'"
    ):
        other.with_encoder(encoder)


def test_a_wrong_reward_is_found_in_its_file(tmp_path):
    cities(["Rome"]).to_csv(tmp_path / "0.csv", index=False)
    cities(["Rome"]).assign(reward=[*[0.5] * 7, 3.0, *[0.5] * 52]).to_csv(tmp_path / "1.csv", index=False)
    with pytest.raises(LogError, match=r"1\.csv, column 'reward', row 8: 3\.0 came; the policy takes rewards"):
        fit(Log.open(tmp_path), LinUCB())


def assert_alike(one, two, tolerance=1e-9):
    """Compare all that has been learned, arm by arm."""
    assert one.rounds_learned == two.rounds_learned
    assert set(one._arms.rows) == set(two._arms.rows)
    shared = getattr(one, "model", None) == "shared"
    for arm in one._arms.rows:
        ours, theirs = (0, 0) if shared else (one._arms.rows[arm], two._arms.rows[arm])
        for part in ("gram_of", "inverse_of", "coefficients"):
            a, b = getattr(one.bank, part)(ours), getattr(two.bank, part)(theirs)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        for attribute in one.groups.attributes:
            a, b = one.groups.arm_bias(arm, attribute), two.groups.arm_bias(arm, attribute)
            assert (float(a), a.low, a.high) == pytest.approx((float(b), b.low, b.high), abs=tolerance)
    for a, b in zip(one.groups.summaries(), two.groups.summaries(), strict=True):
        assert (a.group, a.count) == (b.group, b.count)
        assert (a.mean, a.variance, a.low) == pytest.approx((b.mean, b.variance, b.low), abs=tolerance)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_as_if_it_had_decided_itself(tmp_path, model):
    frame = make(400)
    frame.to_csv(tmp_path / "log.csv", index=False)
    fitted = fit(Log.open(tmp_path / "log.csv"), FairLinUCB(gamma=2.0, model=model, random_state=0))
    missing = int(frame.reward.isna().sum())
    assert (fitted.learned, fitted.skipped) == (400 - missing, missing)
    assert_alike(fitted.policy, by_hand(frame, FairLinUCB(gamma=2.0, model=model, random_state=0)))


@pytest.mark.parametrize("model", [Model(link="logistic"), Model(discount=0.99)], ids=str)
def test_where_the_order_matters_it_is_kept(model):
    frame = make(300)
    fitted = fit(Log.open(frame), LinUCB(model=model, random_state=0))
    assert_alike(fitted.policy, by_hand(frame, LinUCB(model=model, random_state=0)))
    with pytest.raises(ValueError, match=r"the order of rewards matters to LinUCB.*; fit it without a cluster"):
        fit(Log.open(frame), LinUCB(model=model), cluster="local")


def test_however_it_is_cut(tmp_path):
    pq.write_table(pa.Table.from_pandas(make()), tmp_path / "log.parquet", row_group_size=100)
    log = Log.open(tmp_path / "log.parquet")
    whole = fit(log, FairLinUCB(random_state=0)).policy
    encoder = functools.reduce(operator.or_, [part.encoder() for part in log.split(4)])
    assert encoder == log.encoder()
    parts = [fit(part.with_encoder(encoder), FairLinUCB(random_state=0)).policy for part in log.split(4)]
    assert_alike(functools.reduce(Policy.merge, parts), whole)


def test_a_word_that_is_missing_or_new_is_no_feature():
    encoder = ContextEncoder(("city",), {"city": ("Paris", "Rome")})
    cities = ["Rome", None, float("nan"), pd.NA, "Oslo", 7]
    assert encoder.encode([*({"city": city} for city in cities), {}]).toarray().tolist() == [
        [0.0, 1.0],
        *[[0.0, 0.0]] * 6,
    ]


def test_what_serving_needs_is_in_the_file(tmp_path):
    policy = fit(Log.open(make()), FairLinUCB(random_state=0)).policy
    policy.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    encoder = ContextEncoder.of(loaded)
    assert encoder.features == ("context_age", "context_city=Paris", "context_city=Rome")
    user = encoder.encode([{"context_age": 0.5, "context_city": "Rome"}])
    offer = Offers(ARMS, encoder.width).to_many(user, [{}])
    assert loaded.choose(offer, {"sex": "f", "race": 1}).arm in ARMS
    assert loaded.metadata["roles"]["groups"] == ["sex", "race"]
    assert ContextEncoder.of(LinUCB()) is None


def table(tmp_path, **changes):
    columns = {
        "arm": ARMS,
        "length": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "topic": ["maths", "music", "maths", "art", "art", "music"],
        "match:sex": ["f", "m", None, "m", "f", "f"],
    }
    pd.DataFrame(columns | changes).to_csv(tmp_path / "arms.csv", index=False)
    return tmp_path / "arms.csv"


def test_contexts_from_a_catalogue(tmp_path):
    frame = make(400)
    log = Log.open(frame)
    arms = read_arms(table(tmp_path), log)
    assert arms.names == ("length", "topic=art", "topic=maths", "topic=music", "match:sex")
    fitted = fit(log, FairLinUCB(model="shared", random_state=0), table=arms).policy
    features = [
        [i + 1.0, t == "art", t == "maths", t == "music"]
        for i, t in enumerate(["maths", "music", "maths", "art", "art", "music"])
    ]
    catalogue = Catalogue(features, 3, ARMS, {"sex": ["f", "m", None, "m", "f", "f"]})
    by_catalogue = FairLinUCB(model="shared", random_state=0)
    offers = Offers(ARMS, 3, arms)
    for row in frame[~frame.reward.isna()].itertuples():
        city = row.context_city
        user = [row.context_age, float(city == "Paris"), float(city == "Rome")]
        offer = catalogue.offer(user, {"sex": row.sex}, [row.arm])
        decision = by_catalogue.choose(offer, {"sex": row.sex, "race": row.race})
        np.testing.assert_array_equal(offer, offers.of_arm(user, row.arm, {"sex": row.sex}))
        by_catalogue.learn(decision, row.reward)
    assert_alike(fitted, by_catalogue)
    assert fitted.metadata["catalogue"]["matches"] == ["sex"]
    many = offers.to_many([user, user], [{"sex": "f"}, {"sex": None}])
    np.testing.assert_array_equal(many.toarray()[:6], catalogue.offer(user, {"sex": "f"}).toarray())
    np.testing.assert_array_equal(many.toarray()[6:], catalogue.offer(user).toarray())


def refused(call):
    with pytest.raises(LogError) as caught:
        call()
    return str(caught.value)


def test_what_is_refused(tmp_path):
    frame = make(50)
    log = Log.open(frame)
    assert refused(lambda: fit(log, LinUCB(reward_range=(0.0, 0.01)))).startswith(
        "dataframe, column 'reward', row "
    )
    nothing = Log.open(frame.assign(reward=np.nan))
    assert (
        refused(lambda: fit(nothing, LinUCB())) == "dataframe: no row has a reward, so there is nothing to learn"
    )
    path = table(tmp_path, arm=[*ARMS[:5], "other"])
    assert refused(lambda: fit(log, LinUCB(), table=read_arms(path, log))) == (
        "dataframe: these arms are not in the catalogue: ['video 5']"
    )
    path = table(tmp_path, arm=[*ARMS[:5], ARMS[0]])
    assert "arm ids must differ" in refused(lambda: read_arms(path, log))
    path = table(tmp_path, arm=[*ARMS[:5], None])
    assert refused(lambda: read_arms(path, log)) == f"{path}, row 6: it is empty; expected the id of an arm"
    path = table(tmp_path, **{"match:age": [1] * 6})
    assert refused(lambda: read_arms(path, log)) == (
        f"{path}: column 'match:age' matches no group column of the log; it has sex, race"
    )
    assert "there is no column 'arm' with the ids" in refused(lambda: read_arms(pd.DataFrame({"id": [1]}), log))
    assert "it holds no rows" in refused(lambda: read_arms(pd.DataFrame({"arm": []}), log))
    when = Log.open(frame.assign(context_when=pd.Timestamp("2024-05-01")))
    assert refused(lambda: fit(when, LinUCB())) == (
        "dataframe, column 'context_when': it holds neither numbers nor words; it cannot be a feature"
    )
    with pytest.raises(ValueError, match="encoders of different columns"):
        log.encoder() | ContextEncoder(("age",))
    with pytest.raises(ValueError, match="context_age is a number here; got 'old'"):
        log.encoder().encode([{"context_age": "old"}])
    with pytest.raises(ValueError, match="these are not the values of an encoder"):
        ContextEncoder.from_dict({"columns": ["age"]})
