"""The recommender: tables in, decisions out."""

import copy
import datetime
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairbandits import Decision, EvenLinUCB, FairLinUCB, LinUCB, Policy, PolicyFileError, Recommender, Slate

N_ITEMS = 200


def users_table(n=300, seed=0):
    """Users with numbers, text, dates and gaps."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "user_id": np.arange(n),
            "age": age,
            "language": rng.choice(["en", "fr", "de"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), "D"),
            "member": rng.random(n) < 0.5,
            "sex": rng.choice(["female", "male"], n),
            "age_band": np.where(rng.random(n) < 0.05, None, rng.choice(["young", "old"], n)),
        }
    )


def items_table(n=N_ITEMS, seed=1):
    """Items with text, numbers, dates and gaps."""
    rng = np.random.default_rng(seed)
    minutes = rng.normal(60, 20, n)
    minutes[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "item": [f"video {i}" for i in range(n)],
            "title": [f"The title of {i}" for i in range(n)],
            "topic": rng.choice(["maths", "music", "art", None], n),
            "minutes": minutes,
            "released": pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 4000, n), "D"),
            "language": rng.choice(["en", "fr", "de"], n),
        }
    )


def make(policy=None, **options):
    users, items = users_table(), items_table()
    options = {"groups": ["sex", "age_band"], "matches": ["language"], **options}
    return Recommender(LinUCB(random_state=0) if policy is None else policy, users, items, **options)


def reward_of(decision, seed=0):
    return float(np.random.default_rng([seed, decision.number]).random())


def test_features_are_named():
    recommender = make()
    assert recommender.feature_names == (
        "constant",
        "age",
        "age is missing",
        "language=de",
        "language=en",
        "language=fr",
        "since",
        "member",
        "arm-topic=art",
        "arm-topic=maths",
        "arm-topic=music",
        "arm-topic is missing",
        "arm-minutes",
        "arm-minutes is missing",
        "arm-released",
        "arm-language=de",
        "arm-language=en",
        "arm-language=fr",
        "match-language",
    )
    decision = recommender.choose(users_table().iloc[0])
    assert len(decision.context) == len(recommender.feature_names)
    assert "sex" not in " ".join(recommender.feature_names)
    with_sex = make(features=["age", "sex"])
    assert with_sex.feature_names[3:5] == ("sex=female", "sex=male")


@pytest.mark.parametrize("policy", [LinUCB, EvenLinUCB, FairLinUCB])
def test_pandas_and_polars_give_the_same_arms(policy):
    frames = users_table(), items_table()
    recommenders = [
        Recommender(policy(random_state=0), *tables, groups=["sex", "age_band"], matches=["language"])
        for tables in (frames, [pl.from_pandas(frame) for frame in frames])
    ]
    assert recommenders[0].encoder == recommenders[1].encoder
    picked = []
    for recommender, users in zip(recommenders, (frames[0], pl.from_pandas(frames[0])), strict=True):
        rows = (
            users.iter_rows(named=True)
            if isinstance(users, pl.DataFrame)
            else map(dict, map(pd.Series.items, (row for _, row in users.iterrows())))
        )
        arms = []
        for row in rows:
            decision = recommender.choose(row)
            recommender.learn(decision, reward_of(decision))
            arms.append(decision.arm)
        picked.append([*arms, *recommender.choose_many(users).picked])
    assert picked[0] == picked[1]
    assert recommenders[0].policy.checksum() == recommenders[1].policy.checksum()


def test_many_users_at_once_are_chosen_for_as_one_by_one():
    users = users_table()
    one, many = make(), make()
    decisions = many.choose_many(users)
    for user, decision in zip(users.to_dict("records"), decisions, strict=True):
        alone = one.choose(user)
        np.testing.assert_array_equal(alone.scores.total, decision.scores.total)
        assert alone.group == decision.group
    listed = make().choose_many(users.to_dict("records"))
    assert listed.picked == make().choose_many(users).picked


def test_groups():
    users = users_table()
    recommender = make(groups=["sex", "age_band", "member"])
    group = dict(recommender.choose(users.iloc[0]).group)
    assert group["member"] in ("true", "false")
    unknown = users[users.age_band.isna()].iloc[0]
    assert "age_band" not in dict(recommender.choose(unknown).group)
    [decision] = recommender.choose_many(users[users.age_band.isna()].head(1))
    assert decision.group == recommender.choose(unknown).group


def test_eligible_items():
    recommender, users = make(), users_table(5)
    decision = recommender.choose(users.iloc[0], eligible=["video 7"])
    assert decision.arm == "video 7"
    eligible = [["video 1"], None, ["video 2", "video 3"], ["video 4"], ["video 1"]]
    picked = recommender.choose_many(users, eligible=eligible).picked
    assert [picked[0], picked[3], picked[4]] == ["video 1", "video 4", "video 1"]
    assert picked[2] in ("video 2", "video 3")
    with pytest.raises(ValueError, match=r"eligible must be items of the catalogue, got \['video 999'\]"):
        recommender.choose(users.iloc[0], eligible=["video 999"])


@pytest.mark.parametrize(
    "eligible",
    [
        {"video 3", "video 5"},
        np.array(["video 3", "video 5"]),
        pd.Index(["video 3", "video 5"]),
        pl.Series(["video 3", "video 5"]),
        items_table()["item"].isin(["video 3", "video 5"]).to_numpy(),
        items_table().set_index("item")["title"].isin(["The title of 3", "The title of 5"]),
    ],
)
def test_eligible_items_in_all_forms(eligible):
    recommender, users = make(), users_table(3)
    assert set(recommender.choose(users.iloc[0], eligible=eligible).arms) == {"video 3", "video 5"}


def test_eligible_items_of_all_users():
    recommender, users = make(), users_table(6)
    for eligible in (["video 3"], {"video 3"}):
        assert recommender.choose_many(users, eligible=eligible).picked == ["video 3"] * 6
    mask = np.zeros((6, N_ITEMS), bool)
    mask[:, 7] = True
    assert recommender.choose_many(users, eligible=mask).picked == ["video 7"] * 6


@pytest.mark.parametrize(
    ("eligible", "message"),
    [
        ([], "eligible must have at least one item, got none"),
        ("video 1", "eligible must be a collection of ids, got 'video 1'"),
        (3, "eligible must be a collection of ids, got 3"),
        ({"video 1", "other"}, r"eligible must be items of the catalogue, got \['other'\]"),
        (np.array([True, False]), r"eligible must have one truth value per item, got 2 for 200 item\(s\)"),
        (items_table(), "eligible must be a collection of ids, got"),
    ],
)
def test_eligible_items_that_are_refused(eligible, message):
    with pytest.raises(ValueError, match=message):
        make().choose(users_table().iloc[0], eligible=eligible)


def test_slates():
    recommender, users = make(), users_table(3)
    slate = recommender.choose(users.iloc[0], k=3)
    assert len(set(slate.picked)) == 3
    stored = json.dumps(slate.to_dict())
    recommender.learn(Slate.from_dict(json.loads(stored)), [0.5, None, 1.0])
    slates = recommender.choose_many(users, k=2)
    assert [len(each) for each in slates] == [2, 2, 2]
    recommender.learn_many(slates, [0.1, 0.2, 0.3])
    assert recommender.policy.rounds_learned == 4


def test_items_come_change_and_go():
    recommender, users = make(), users_table()
    decision = recommender.choose(users.iloc[0], eligible=["video 0"])
    recommender.learn(decision, 1.0)
    late = recommender.choose(users.iloc[1], eligible=["video 0"])
    new = items_table().head(1).assign(item="new", topic="dance")
    recommender.add_items(new)
    assert len(recommender.items) == N_ITEMS + 1
    assert recommender.choose(users.iloc[0], eligible=["new"]).arm == "new"
    recommender.retire_items(["video 0", "video 1"])
    assert "video 0" not in recommender.items
    assert "video 0" not in recommender.policy.arms_learned
    recommender.learn(late, 0.0)  # counts for the groups alone
    assert "video 0" not in recommender.policy.arms_learned
    assert recommender.policy.rounds_learned == 2
    recommender.add_items(items_table().head(1))
    assert "video 0" in recommender.items
    with pytest.raises(ValueError, match=r"items must be in the catalogue, got \['video 1'\]"):
        recommender.retire_items(["video 2", "video 1"])
    assert "video 2" in recommender.items


def test_interactions():
    recommender = make(
        LinUCB(model="shared", random_state=0), interactions=[("age", "topic"), ("language", "minutes")]
    )
    names = recommender.feature_names
    assert "age*topic=maths" in names
    assert "language=fr*minutes is missing" in names
    user = users_table().iloc[3].to_dict()
    decision = recommender.choose(user)
    named = dict(zip(names, decision.context, strict=True))
    for name, value in named.items():
        if "*" in name:
            of_user, of_item = name.split("*")
            assert value == named[of_user] * named[f"arm-{of_item}"]
    recommender.learn(decision, 0.7)
    users = users_table(20)
    for row, decision in zip(users.to_dict("records"), recommender.choose_many(users), strict=True):
        np.testing.assert_allclose(decision.scores.total, recommender.choose(row).scores.total)


@pytest.mark.parametrize("interactions", [(), [("age", "topic")]])
def test_past_decisions_are_learned_as_if_chosen(interactions):
    users = users_table(60)
    chooses, learns = make(interactions=interactions), make(interactions=interactions)
    decisions = [chooses.choose(user) for user in users.to_dict("records")]
    rewards = [reward_of(decision) for decision in decisions]
    chooses.learn_many(decisions, rewards)
    learns.learn_logged(users, [decision.arm for decision in decisions], rewards)
    for arm in chooses.policy.arms_learned:
        np.testing.assert_allclose(chooses.policy.coefficients(arm), learns.policy.coefficients(arm), atol=1e-12)
    assert str(chooses.groups) == str(learns.groups)
    with pytest.raises(ValueError, match=r"arms must be in the catalogue, got \['elsewhere'\]"):
        learns.learn_logged(users.head(1), ["elsewhere"], [0.5])


def test_saved_and_loaded(tmp_path):
    recommender, users = make(interactions=[("age", "topic")]), users_table()
    for user in users.head(50).to_dict("records"):
        decision = recommender.choose(user)
        recommender.learn(decision, reward_of(decision))
    late = recommender.choose(users.iloc[60])
    recommender.save(tmp_path / "recommender.safetensors")
    after = recommender.choose(users.iloc[61])
    stored = json.dumps(after.to_dict())
    loaded = Recommender.load(tmp_path / "recommender.safetensors")
    assert loaded.items == recommender.items
    assert loaded.feature_names == recommender.feature_names
    assert loaded.group_columns == ("sex", "age_band")
    np.testing.assert_array_equal(
        loaded.choose_many(users).scores.total, recommender.choose_many(users).scores.total
    )
    loaded.learn(late, 0.5)
    loaded.learn(Decision.from_dict(json.loads(stored)), 0.5)
    loaded.add_items(items_table().tail(1).assign(item="new"))
    assert Policy.load(tmp_path / "recommender.safetensors").checksum() == recommender.policy.checksum()
    LinUCB(random_state=0).save(tmp_path / "policy.safetensors")
    with pytest.raises(
        PolicyFileError, match=r"contains a policy without users and items; load it with Policy\.load"
    ):
        Recommender.load(tmp_path / "policy.safetensors")


def test_custom_encoders(tmp_path):
    users = users_table()
    encoder = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["language"]))
    encoder.fit(users.fillna({"age": 40.0}))
    recommender = make(user_encoder=encoder)
    assert recommender.feature_names[0] == "standardscaler__age"
    filled = users.fillna({"age": 40.0})
    decision = recommender.choose(filled.iloc[0])
    np.testing.assert_allclose(decision.context[0], encoder.transform(filled.head(1))[0, 0])
    recommender.learn(decision, 1.0)
    assert len(recommender.choose_many(filled)) == len(users)
    listed, framed = recommender.choose_many(filled.to_dict("records")), recommender.choose_many(filled)
    np.testing.assert_array_equal(listed.scores.total, framed.scores.total)
    recommender.save(tmp_path / "file")
    with pytest.raises(PolicyFileError, match=r"user_encoder must be given: .* with a ColumnTransformer"):
        Recommender.load(tmp_path / "file")
    loaded = Recommender.load(tmp_path / "file", user_encoder=encoder)
    assert loaded.choose(filled.iloc[0]).score == recommender.choose(filled.iloc[0]).score
    copied = pickle.loads(pickle.dumps(encoder))  # noqa: S301
    assert Recommender.load(tmp_path / "file", user_encoder=copied).items == recommender.items
    other = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["language"]))
    other.fit(filled.assign(age=filled["age"] + 1.0))
    with pytest.raises(PolicyFileError, match="user_encoder must be the transformer that was saved"):
        Recommender.load(tmp_path / "file", user_encoder=other)
    with pytest.raises(ValueError, match="user_encoder must be a transformer of scikit-learn fitted on a"):
        make(user_encoder=StandardScaler())
    by_feature = make(user_encoder=encoder, interactions=[("standardscaler__age", "topic")])
    assert "standardscaler__age*topic=maths" in by_feature.feature_names
    with pytest.raises(ValueError, match="interactions must name features of user_encoder, got 'age'"):
        make(user_encoder=encoder, interactions=[("age", "topic")])
    make().save(tmp_path / "plain")
    with pytest.raises(PolicyFileError, match="item_encoder must be left out"):
        Recommender.load(tmp_path / "plain", item_encoder=encoder)


def test_threads_may_change_items_while_others_choose():
    recommender, users = make(), users_table(50).to_dict("records")

    def choose():
        for user in users:
            recommender.learn(recommender.choose(user), 0.5)

    def change():
        for number in range(30):
            recommender.add_items(items_table().head(1).assign(item=f"new {number}"))
            recommender.retire_items([f"new {number}"])

    def retire():
        for number in range(60):
            recommender.retire_items([f"video {number}"])

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work) for work in (choose, change, choose, retire)]:
            future.result()
    assert recommender.policy.rounds_learned == 100
    assert not set(recommender.policy.arms_learned) - set(recommender.items)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "sex"}, "groups must be a list of column names, got 'sex'"),
        ({"groups": ["gender"]}, "groups must name columns of users, got 'gender'; the columns are user_id, age"),
        ({"features": ["height"]}, "features must name columns of users, got 'height'"),
        ({"matches": ["topic"]}, "matches must name columns of users, got 'topic'"),
        (
            {"matches": {"x": ("sex", "speaker")}},
            "matches must name columns of items, got 'speaker'",
        ),
        ({"item_id": "sku"}, "item_id must name columns of items, got 'sku'"),
        ({"policy": "LinUCB"}, "policy must be a fairbandits.Policy, got str"),
        ({"interactions": [("age", "title")]}, "interactions must name columns with features, got 'title'"),
        ({"interactions": [("sex", "topic")]}, "interactions must name columns that are features, got 'sex'"),
        ({"interactions": ("age", "topic")}, "interactions must be a list of pairs"),
        ({"categories": "age"}, "categories must be a list of column names, got 'age'"),
        ({"categories": ["zip"]}, "categories must name columns of users, got 'zip'"),
        ({"groups": None}, "groups must be a list of column names, got None"),
    ],
)
def test_messages(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"age": 30}, "row must have a value for 'sex', got only 'age'; give None if it is unknown"),
        ({**users_table().iloc[0], "age": "thirty"}, "age must be a number, got 'thirty'"),
        (
            {**users_table().iloc[0], "since": "long ago"},
            "since must be a date such as 2024-05-01, got 'long ago'",
        ),
        ({**users_table().iloc[0], "age_band": 2.5}, "age_band must have text or whole numbers, got 2.5"),
        (users_table(2), "user must be one row, got 2; use choose_many"),
        ([1, 2], "user must be a mapping, a row, or a frame with one row, got list"),
        ({key: value for key, value in users_table().iloc[0].items() if key != "sex"}, "a value for 'sex'"),
        ({**users_table().iloc[0], "since": 1704067200000}, "since must be a date such as 2024-05-01"),
        (users_table()["age"], "row must have a value for 'sex', got only 0, 1, 2, .* and 292 more"),
    ],
)
def test_invalid_users(user, message):
    with pytest.raises(ValueError, match=message):
        make().choose(user)


def test_rows_and_frames_are_encoded_alike():
    users = users_table(40)
    users["since"] = users["since"].dt.tz_localize("Europe/Paris")
    users.loc[3, "since"] = pd.NaT
    recommender = Recommender(LinUCB(random_state=0), users, items_table(), groups=["sex"])
    recommender.learn(recommender.choose(users.iloc[0]), 0.5)
    changes = {"age": None, "since": pd.NaT, "language": None}
    for frame in (users, users.assign(age=users["age"].astype(object)), users.head(2).assign(**changes)):
        totals = recommender.choose_many(frame).scores.total
        for row, total in zip(frame.to_dict("records"), totals, strict=True):
            np.testing.assert_array_equal(recommender.choose(row).scores.total, total)
    alone = users.iloc[1].to_frame().T
    assert recommender.choose_many(alone).scores.total.tolist() == [
        recommender.choose(alone).scores.total.tolist()
    ]
    polars = pl.from_pandas(users)
    np.testing.assert_array_equal(
        recommender.choose_many(polars).scores.total, recommender.choose_many(users).scores.total
    )


def test_infinite_numbers_are_refused():
    users = users_table(20)
    users.loc[2, "age"] = np.inf
    with pytest.raises(ValueError, match="users must have finite numbers in column 'age', got inf in row 2"):
        Recommender(LinUCB(), users, items_table())
    with pytest.raises(ValueError, match="users must have finite numbers in column 'age', got inf in row 2"):
        make().choose_many(users)
    with pytest.raises(ValueError, match="age must be a number, got inf"):
        make().choose(users.iloc[2])


def test_no_users():
    recommender = make()
    assert recommender.choose_many(users_table(3).head(0)) == []
    assert recommender.choose_many([]) == []
    recommender.learn_logged(users_table(3).head(0), [], [])
    with pytest.raises(ValueError, match=r"items must have one entry per user, got 1 for 2 user\(s\)"):
        recommender.learn_logged(users_table(2), ["video 1"], [0.5])


def test_a_policy_that_is_loaded_alone_can_be_saved(tmp_path):
    recommender, user = make(), users_table().iloc[0]
    recommender.learn(recommender.choose(user), 0.5)
    recommender.save(tmp_path / "recommender.safetensors")
    policy = Policy.load(tmp_path / "recommender.safetensors")
    assert set(policy.metadata) == {"encoder"}
    policy.save(tmp_path / "policy.safetensors")
    assert Policy.load(tmp_path / "policy.safetensors").checksum() == recommender.policy.checksum()
    with pytest.raises(PolicyFileError, match="contains a policy without users and items"):
        Recommender.load(tmp_path / "policy.safetensors")


def test_policies_of_recommenders_with_other_encoders_do_not_merge():
    one, two = make(), make(features=["age", "member", "since", "language"])
    for recommender in (one, two):
        recommender.learn(recommender.choose(users_table().iloc[0]), 0.5)
    with pytest.raises(ValueError, match="policies must be fitted with the same encoder to merge"):
        one.policy.merge(two.policy)


def test_past_decisions_with_other_indices_are_refused():
    users = users_table(4)
    rewards = pd.Series([0.1, 0.2, 0.3, 0.4], index=[3, 2, 1, 0])
    with pytest.raises(ValueError, match="rewards must have the same index as users, got a different one"):
        make().learn_logged(users, ["video 1"] * 4, rewards)


def test_items_that_are_encoded_as_nan_are_refused():
    items = items_table()
    encoder = make_column_transformer((StandardScaler(), ["minutes"])).fit(items)
    with pytest.raises(ValueError, match="encoded items must be finite"):
        make(item_encoder=encoder)


def test_a_policy_belongs_to_one_recommender():
    policy = LinUCB(random_state=0)
    recommender = make(policy)
    make(policy)  # the same tables, encoded alike
    with pytest.raises(ValueError, match="policy must not belong to another recommender; create a new policy"):
        make(policy, features=["age"])
    recommender.learn(recommender.choose(users_table().iloc[0]), 0.5)
    with pytest.raises(ValueError, match=r"policy must have learned nothing yet, got one with 1 round\(s\)"):
        make(policy)


def test_min_probability_that_makes_all_decisions_random():
    with pytest.warns(UserWarning, match="with 200 items, min_probability=0.05 makes all decisions random"):
        make(LinUCB(min_probability=0.05))


def test_copies():
    recommender, user = make(), users_table().iloc[0]
    recommender.learn(recommender.choose(user), 0.5)
    for copied in (copy.deepcopy(recommender), pickle.loads(pickle.dumps(recommender))):  # noqa: S301
        np.testing.assert_array_equal(copied.choose(user).scores.total, recommender.choose(user).scores.total)
        copied.learn(copied.choose(user), 1.0)
    assert recommender.policy.rounds_learned == 1


def test_ids_of_items_that_were_selected():
    items = items_table()
    chosen = items[items["minutes"] > 60]
    assert Recommender(LinUCB(), users_table(), chosen).items == tuple(chosen["item"])
    numbered = items.drop(columns="item").iloc[10:]
    assert Recommender(LinUCB(), users_table(), numbered).items == tuple(range(10, N_ITEMS))


def test_values_that_were_never_seen():
    user = {
        **users_table().iloc[0],
        "language": "ja",
        "age": 250,
        "since": datetime.date(1990, 1, 1),
        "sex": "other",
    }
    decision = make().choose(user)
    context = dict(zip(make().feature_names, decision.context, strict=True))
    assert [context[name] for name in ("language=en", "age", "since")] == [0.0, 1.0, 0.0]
    assert ("sex", "other") in decision.group


def test_views_are_short():
    recommender = make()
    assert len(repr(recommender)) < 200
    recommender.learn(recommender.choose(users_table().iloc[0]), 0.5)
    html = recommender._repr_html_()
    assert "Recommender with LinUCB" in html
    assert "200 items" in html
    assert len(html) < 8000
