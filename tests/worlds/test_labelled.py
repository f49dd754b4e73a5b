"""Worlds of labelled rows."""

import numpy as np
import pytest

from fairbandits import LinUCB
from fairbandits.simulate import simulate
from fairbandits.testing import check_world
from fairbandits.worlds import LabelledWorld
from tests.worlds.tables import labelled_table

TABLE = labelled_table()
REWARDS = {"lend": {"high": 1, "low": 0, "medium": 0.5}, "refuse": {"high": 0, "low": 0.6, "medium": 0.3}}


def world_of(table=TABLE, **changes):
    return LabelledWorld(table, **{"label": "dose", "group": "sex", **changes})


def test_the_right_class_has_reward_1():
    world = world_of(features=["age"], categories=["age"])
    check_world(world)
    assert world.arms == ("high", "low", "medium")
    assert world.columns[-3:] == ("arm-id=high", "arm-id=low", "arm-id=medium")
    found = [(visit.group, world.arms[int(visit.expected.argmax())]) for visit in world.visits()]
    assert sorted(found) == sorted(zip(TABLE["sex"], TABLE["dose"], strict=True))
    assert all(visit.expected.sum() == 1 and visit.rewards is visit.expected for visit in world.visits())


def test_contexts_are_a_constant_the_columns_and_the_class():
    world = world_of()
    assert world.columns[:6] == ("constant", "age", "city=Oslo", "city=Rome", "sex=female", "sex=male")
    assert "dose=high" not in world.columns
    visit = next(world.visits())
    contexts = visit.contexts.toarray()
    np.testing.assert_array_equal(contexts[:, -3:], np.eye(3))
    assert contexts[0, world.columns.index(f"sex={visit.group}")] == 1


def test_a_table_of_rewards_has_other_arms_than_labels():
    world = world_of(rewards=REWARDS, group=["sex", "race"])
    check_world(world)
    assert world.arms == ("lend", "refuse")
    found = {tuple(visit.expected.tolist()) for visit in world.visits()}
    assert found == {(1.0, 0.0), (0.0, 0.6), (0.5, 0.3)}
    assert set(next(world.visits()).group) == {"sex", "race"}


def test_keys_of_rewards_are_text_where_they_come_from_json():
    world = world_of(
        TABLE.assign(dose=np.arange(len(TABLE)) % 2), rewards={"yes": {"0": 0.2, "1": 0.8}, "no": {0: 0, 1: 1}}
    )
    assert {tuple(visit.expected.tolist()) for visit in world.visits()} == {(0.2, 0.0), (0.8, 1.0)}


def test_rows_are_drawn_again_only_if_there_are_too_few():
    short, longer = world_of(rounds=50), world_of(rounds=500)
    assert len(short) == 50
    assert len(list(longer.visits())) == 500
    ages = TABLE.assign(age=np.arange(len(TABLE)))
    rows = [visit.contexts.toarray()[0, 1] for visit in world_of(ages, rounds=200).visits()]
    assert len(set(rows)) == 200
    others = [visit.contexts.toarray()[0, 1] for visit in world_of(ages, rounds=200, random_state=1).visits()]
    assert rows != others
    assert sorted(rows) == sorted(others)


def test_rows_without_a_label_are_dropped_and_counted():
    world = world_of(TABLE.assign(dose=TABLE["dose"].where(TABLE["dose"] != "low", None)))
    assert world.arms == ("high", "medium")
    n_low = (TABLE["dose"] == "low").sum()
    assert f"{len(world)} rows with 2 labels, {n_low} rows without a label dropped (" in world.data_source


def test_a_policy_learns_the_classes():
    table = TABLE.assign(dose=np.where(TABLE["city"] == "Rome", "a", "b"))
    trace = simulate(LinUCB(random_state=0), world_of(table, rounds=400))
    assert trace.last(200).expected.mean() > 0.95


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "x"}, "label must name columns of table, got 'x'; the columns are age, city, sex, race, dose"),
        ({"group": "x"}, "group must name columns of table, got 'x'"),
        ({"features": ["x"]}, "features must name columns of table, got 'x'"),
        ({"features": "age"}, "features must be a list of column names, got 'age'"),
        ({"categories": ["x"]}, "categories must name columns of table, got 'x'"),
        ({"rounds": 0}, "rounds must be an integer of at least 1, got 0"),
        (
            {"rewards": {"lend": {"high": 1}}},
            "rewards must have the reward of every arm for every label, got none of 'lend' for 'low'",
        ),
        ({"rewards": {"lend": {"high": 2}}}, r"rewards\['lend'\]\['high'\] must be a number from 0 to 1, got 2"),
        ({"table": TABLE.assign(dose=None)}, "table must have at least one label in column 'dose', got none"),
    ],
)
def test_invalid_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        world_of(**changes)


def test_the_label_is_no_feature():
    with pytest.raises(ValueError, match="features must not contain 'dose', got 'dose'; leave it out"):
        world_of(features=["age", "dose"])


def test_boolean_labels_and_rewards_by_boolean():
    table = TABLE.assign(dose=TABLE["dose"] == "high")
    world = world_of(table, rewards={"lend": {True: 1, False: 0.2}, "refuse": {True: 0, False: 0.5}})
    assert {tuple(visit.expected) for visit in world.visits()} == {(1, 0), (0.2, 0.5)}
    arms = world_of(table, rewards={True: {True: 1, False: 0}, False: {True: 0, False: 1}})
    assert arms.arms == ("true", "false")
