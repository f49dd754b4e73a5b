"""Worlds of observed ratings."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairbandits import LinUCB
from fairbandits.simulate import Run, simulate
from fairbandits.testing import check_world
from fairbandits.worlds import RatingsWorld
from tests.worlds.tables import ratings_table

COLUMNS = {"user": "user", "item": "film", "reward": "stars"}
RATINGS = ratings_table()


def world_of(ratings=RATINGS, **changes):
    return RatingsWorld(ratings, **{**COLUMNS, "group": "sex", "rounds": 60, "offered": 5, **changes})


def stars_of(ratings):
    """Return the last rating of each user and item."""
    return {(row.user, row.film): row.stars for row in ratings.itertuples()}


def user_of_age(visit, world):
    """Return the user of a visit; ages tell users apart."""
    age = visit.contexts.toarray()[0, world.columns.index("age")]
    return f"u{round(age * 19)}"


def test_every_reward_is_a_rating_that_the_user_gave():
    world = world_of(rounds=300)
    stars = stars_of(RATINGS)
    check_world(world)
    for visit in world.visits():
        user = user_of_age(visit, world)
        given_stars = np.array([stars[user, film] for film in visit.arms])
        np.testing.assert_allclose(visit.expected, (given_stars - 1) / 4)
        assert visit.rewards is visit.expected
        assert visit.group == ("female" if int(user[1:]) % 2 == 0 else "male")
        assert len(visit.arms) == 5


@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(5, 80),
    n_users=st.integers(1, 8),
    n_items=st.integers(2, 12),
    offered=st.integers(2, 15),
    seed=st.integers(0, 2**31),
)
def test_only_rated_items_are_offered_whatever_the_table(n, n_users, n_items, offered, seed):
    ratings = ratings_table(n, n_users, n_items, seed)
    rated = {user: set(films) for user, films in ratings.groupby("user")["film"]}
    ratings["who"] = ratings["user"]
    assume(any(len(films) > 1 for films in rated.values()))
    world = world_of(ratings, group="who", offered=offered, rounds=30, reward_range=(1, 5), random_state=seed)
    check_world(world)
    for visit in world.visits():
        assert set(visit.arms) <= rated[visit.group]
        assert len(visit.arms) == min(offered, len(rated[visit.group]))


def test_another_seed_draws_other_users_and_items_of_the_same_table():
    first, same, other = (world_of(random_state=seed) for seed in (1, 1, 2))
    arms = [[visit.arms for visit in world.visits()] for world in (first, same, other)]
    assert arms[0] == arms[1]
    assert arms[0] != arms[2]
    assert (
        first.data_source
        == other.data_source
        == f"ratings: {len(stars_of(RATINGS))} ratings of 30 items by " + (first.data_source.split(" by ")[1])
    )


def test_users_are_drawn_evenly():
    world = world_of(rounds=4000)
    counts = pd.Series([user_of_age(visit, world) for visit in world.visits()]).value_counts()
    assert len(counts) == 20
    assert counts.min() > 130
    assert counts.max() < 280


def test_columns_of_ratings_describe_users_or_items():
    columns = world_of().columns
    assert columns[:4] == ("constant", "sex=female", "sex=male", "age")
    assert set(columns[4:]) == {"arm-genre=comedy", "arm-genre=drama", "arm-genre=war", "arm-year"}


def test_users_and_items_have_tables_of_their_own(tmp_path):
    users = RATINGS[["user", "sex", "age"]].drop_duplicates()
    items = RATINGS[["film", "genre", "year"]].drop_duplicates()
    RATINGS[["user", "film", "stars"]].to_csv(tmp_path / "ratings.csv", index=False)
    users.to_csv(tmp_path / "users.csv.gz", index=False, sep=";")
    items.to_parquet(tmp_path / "items.parquet")
    from_files = world_of(
        tmp_path / "ratings.csv", users=tmp_path / "users.csv.gz", items=str(tmp_path / "items.parquet")
    )
    from_frames = world_of(pl.from_pandas(RATINGS), users=pl.from_pandas(users), items=items)
    check_world(from_files)
    assert from_files.data_source.startswith("ratings.csv: ")
    assert from_files.columns == from_frames.columns
    for one, other in zip(from_files.visits(), from_frames.visits(), strict=True):
        assert one.arms == other.arms
        np.testing.assert_array_equal(one.contexts.toarray(), other.contexts.toarray())
        np.testing.assert_array_equal(one.expected, other.expected)


def test_features_matches_and_categories_are_those_of_the_recommender():
    ratings = RATINGS.assign(likes=[["comedy", "war"][int(user[1:]) % 2] for user in RATINGS["user"]])
    ratings["decade"] = ratings["year"] // 10
    world = world_of(ratings, features=["age"], matches={"genre": ("likes", "genre")}, categories=["decade"])
    assert "sex=male" not in world.columns
    assert {"match-genre", "arm-decade=195"} <= set(world.columns)
    check_world(world)


def test_ids_are_features_where_nothing_else_is_and_they_are_few():
    bare = RATINGS[["user", "film", "stars"]].assign(who=RATINGS["user"])
    world = world_of(bare, group="who", features=[])
    assert len(world.columns) == 1 + 20 + 30
    many = world_of(bare.assign(film=range(len(bare))), group="who", features=[])
    assert len(many.columns) == 1 + 20
    check_world(many)


def test_the_most_rated_items_are_kept():
    world = world_of(n_arms=7)
    counts = RATINGS.drop_duplicates(["user", "film"])["film"].value_counts()
    assert len(world.arms) == 7
    assert counts[list(world.arms)].min() >= counts.drop(list(world.arms)).max()
    assert {arm for visit in world.visits() for arm in visit.arms} == set(world.arms)


def test_the_last_rating_counts_and_incomplete_rows_do_not():
    ratings = pd.DataFrame(
        {
            "user": ["a", "a", "a", "b", "a", None, "a"],
            "film": [1, 2, 1, 1, None, 2, 3],
            "stars": [1.0, 2.0, 5.0, 3.0, 4.0, 5.0, None],
            "sex": ["f", "f", "f", "m", "f", "m", "f"],
        }
    )
    world = world_of(ratings, rounds=3)
    assert world.data_source.startswith("ratings: 3 ratings of 2 items by 2 users, 3 incomplete rows dropped (")
    for visit in world.visits():  # user b rated one item only
        assert visit.group == "f"
        assert dict(zip(visit.arms, visit.expected.tolist(), strict=True)) == {1: 1.0, 2: 0.0}


def test_several_attributes_give_mappings_and_groups_may_be_unknown():
    ratings = RATINGS.assign(sex=RATINGS["sex"].where(RATINGS["user"] != "u0", None))
    world = world_of(ratings, group=["sex", "age"])
    check_world(world)
    groups = [visit.group for visit in world.visits()]
    assert {"sex": None, "age": 20} in groups
    assert {"sex": "male", "age": 21} in groups


def test_a_range_of_rewards_can_be_given():
    highest = max(visit.expected.max() for visit in world_of(reward_range=(0, 10)).visits())
    assert highest == 0.5


def test_a_policy_learns_from_ratings():
    run = Run(LinUCB, RatingsWorld, 3, {}, {"ratings": RATINGS, **COLUMNS, "group": "sex", "rounds": 50})
    assert len(run.simulate()) == 50
    ratings = RATINGS.assign(stars=np.where(RATINGS["genre"] == "war", 5, 2))
    trace = simulate(LinUCB(model="shared", random_state=0), world_of(ratings, rounds=400))
    assert trace.last(200).expected.mean() == pytest.approx(trace.last(200).best.mean(), abs=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": "who"}, "user must name columns of ratings, got 'who'; the columns are user, film, stars, "),
        ({"item": "x"}, "item must name columns of ratings, got 'x'"),
        ({"reward": "x"}, "reward must name columns of ratings, got 'x'"),
        ({"reward": "genre"}, "reward must be a column of numbers, got 'genre' with text or dates"),
        ({"group": "height"}, "group must name columns of users, got 'height'"),
        ({"group": "genre"}, "group must have one value per user, got several in 'genre' for user 'u"),
        ({"group": []}, "group must name at least one column, got none"),
        ({"group": 3}, "group must be a list of column names, got 3"),
        ({"rounds": 0}, "rounds must be an integer of at least 1, got 0"),
        ({"offered": 1}, "offered must be an integer of at least 2, got 1"),
        ({"n_arms": 1}, "n_arms must be an integer of at least 2, got 1"),
        ({"n_arms": 31}, "n_arms must be at most the 30 items that are rated, got 31"),
        ({"reward_range": (5, 1)}, r"reward_range must be the lowest and the highest reward, got \(5, 1\)"),
        ({"reward_range": 5}, "reward_range must be the lowest and the highest reward, got 5"),
        ({"reward_range": (2, 5)}, "rewards must be from 2 to 5, got 1 to 5"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
        (
            {"ratings": RATINGS.assign(stars=3)},
            "rewards must not all be equal, got 3 in every row; pass reward_range",
        ),
        (
            {"ratings": RATINGS.assign(stars=np.nan)},
            "ratings must have a row with user, item and rating, got none",
        ),
        ({"ratings": RATINGS[:0]}, "ratings must have at least one row, got none"),
        ({"ratings": RATINGS[:1]}, "rewards must not all be equal"),
        (
            {"ratings": RATINGS.drop_duplicates("user")},
            "ratings must have a user with at least two rated items, got none",
        ),
        ({"users": RATINGS}, "users must have one row for each user, got 'u"),
        ({"users": RATINGS[:1]}, "users must have a row for each user in ratings, got none for 'u"),
        ({"items": RATINGS[["genre"]]}, "film must name columns of items, got 'film'; the columns are genre"),
        (
            {"ratings": "nowhere.csv"},
            "ratings must be a data frame or the path of a CSV or Parquet file, got 'now",
        ),
        ({"ratings": 3}, "ratings must be a data frame, got int"),
    ],
)
def test_invalid_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        world_of(**changes)


@pytest.mark.parametrize("name", ["broken.parquet", "broken.csv"])
def test_a_file_that_is_no_table_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"a,b\n1\n2,3,4\n")
    with pytest.raises(ValueError, match=f"ratings must be a table in CSV or Parquet, got {name}: "):
        world_of(path)


def test_files_need_pyarrow(tmp_path, monkeypatch):
    RATINGS.to_csv(tmp_path / "ratings.csv", index=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="reading files needs pyarrow; install fairbandits with its extra"):
        world_of(tmp_path / "ratings.csv")
