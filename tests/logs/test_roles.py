"""Roles of columns: given, guessed, read from a file, declared by a Parquet file."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbandits.logs import Log, Roles
from fairbandits.logs.roles import read_roles
from tests.logs.helpers import VALID, csv, error_of, parquet, reading


def test_unknown_columns(tmp_path):
    path = csv(tmp_path, VALID)
    columns = "The columns are arm, reward, propensity, sex, context_age, time"
    assert error_of(reading(path, reward="rewrad")) == (
        f"{path}: there is no column 'rewrad'; did you mean 'reward'? {columns}"
    )
    assert error_of(reading(path, groups=["sex", "Tim"])) == (
        f"{path}: there is no column 'Tim'; did you mean 'time'? {columns}"
    )
    assert error_of(reading(path, arm="price")) == f"{path}: there is no column 'price'; t{columns[1:]}"
    path = parquet(tmp_path, VALID)
    assert error_of(reading(path, propensity="propensities")).startswith(
        f"{path}: there is no column 'propensities'; did you mean 'propensity'?"
    )


def test_required_roles_without_a_column():
    frame = pd.DataFrame({"what": ["a"], "gain": [1.0]})
    assert error_of(reading(frame)) == (
        "dataframe: no arm column is given or recognised by its name; set arm=... (--arm). "
        "The columns are what, gain"
    )
    assert error_of(reading(frame, arm="what", guess=False)) == (
        "dataframe: no reward column is given; set reward=... (--reward). The columns are what, gain"
    )
    many = pd.DataFrame({f"column {i}": [1] for i in range(30)})
    assert error_of(reading(many)).endswith("column 19 and 10 more")


def test_a_column_that_looks_like_the_arm_has_another_role():
    frame = pd.DataFrame({"Item": ["a"], "reward": [1.0]})
    for role, column in (("given", ["Item"]), ("user", "Item")):
        assert error_of(reading(frame, **{role: column})) == (
            f"dataframe: column 'Item' already has the role {role}, so it cannot be the arm; set arm=... (--arm). "
            "The columns are Item, reward"
        )


def test_guessing_can_be_disabled():
    frame = pd.DataFrame(VALID)
    log = Log.open(frame, arm="arm", reward="reward", guess=False)
    assert log.guessed == {}
    assert log.roles == Roles("arm", "reward")
    assert Log.open(frame, Roles("arm", "reward")).guessed == {}
    assert Log.open(frame, Roles("arm", "reward"), groups="sex").roles.groups == ("sex",)
    assert Log.open(frame.rename(columns=str.upper)).roles.reward == "REWARD"


def test_a_column_with_a_given_role_is_not_guessed_for_another():
    frame = pd.DataFrame(VALID)
    # Only a group may be a feature as well.
    assert Log.open(frame, contexts=["sex"]).guessed["groups"] == ("sex",)
    assert "groups" not in Log.open(frame, time="sex").guessed
    assert "time" not in Log.open(frame, contexts=["time"]).guessed


def test_users_are_recognised_and_are_no_features():
    columns = VALID | {"user_age": [1.0] * 4, "user_id": [1, 2, 3, 4], "Customer": ["a", "b", "c", "d"]}
    log = Log.open(pd.DataFrame(columns))
    assert log.guessed["user"] == "user_id"
    assert log.roles.contexts == ("context_age", "user_age")
    log = Log.open(pd.DataFrame(columns), user="Customer")
    assert "user" not in log.guessed
    assert log.roles.contexts == ("context_age", "user_age")
    del columns["user_id"]
    assert Log.open(pd.DataFrame(columns)).roles.user == "Customer"


def test_positions_are_recognised_and_read_by_name():
    frame = pd.DataFrame({"slate_id": [3, 3], "Position": [1, 2], "arm": ["a", "b"], "reward": [1.0, 0.0]})
    log = Log.open(frame)
    assert (log.roles.decision, log.roles.position) == ("slate_id", "Position")
    assert [chunk.position for chunk in log.chunks()] == [None]
    [chunk] = log.chunks(columns=["Position"])
    assert chunk.position.tolist() == [1, 2]


def test_factors_are_never_guessed_and_change_no_guess():
    frame = pd.DataFrame(VALID | {"user_id": [1, 2, 3, 4]})
    without, log = Log.open(frame), Log.open(frame, given=["sex", "context_age"])
    assert without.roles.given == ()
    assert log.roles.given == ("sex", "context_age")
    assert log.guessed == without.guessed
    assert log.roles.to_dict()["given"] == ["sex", "context_age"]
    assert "user" not in Log.open(frame, given="user_id").guessed


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"user": "arm", "arm": "arm"}, "a column must have at most one role, got 'arm' more than once"),
        ({"user": "sex", "groups": "sex"}, "a column must have at most one role, got 'sex' more than once"),
        ({"given": ["sex", "sex"]}, "a column must have at most one role, got 'sex' more than once"),
        ({"arm": "arm", "reward": "arm"}, "a column must have at most one role, got 'arm' more than once"),
        ({"groups": ["sex", "sex"]}, "a column must have at most one role, got 'sex' more than once"),
        ({"time": "sex", "groups": ["sex"]}, "a column must have at most one role, got 'sex' more than once"),
        ({"arm": 3}, "arm must be a column name, got 3"),
        ({"groups": 3}, "groups must be a list of column names, got 3"),
        ({"groups": [3]}, "groups must be a column name, got 3"),
        ({"rewards": "reward"}, "there is no role 'rewards'; did you mean 'reward'? The roles are arm, reward"),
    ],
)
def test_invalid_roles(given, expected):
    with pytest.raises(ValueError, match="^" + expected.replace("?", r"\?")):
        Log.open(pd.DataFrame(VALID), **given)


def test_roles_from_a_file(tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text('arm = "video"\ngroups = ["sex"]\n')
    assert read_roles(path) == {"arm": "video", "groups": ("sex",)}
    path.write_text('arms = "video"\n')
    assert error_of(lambda: read_roles(path)).startswith(f"{path}: there is no role 'arms'; did you mean 'arm'?")
    path.write_text("arm: video\n")
    assert error_of(lambda: read_roles(path)).startswith(f"{path}: not TOML (")
    assert error_of(lambda: read_roles(tmp_path / "none")).startswith(
        f"{tmp_path / 'none'}: cannot be read (No such"
    )


def test_roles_that_a_file_declares_may_be_outdated_or_invalid(tmp_path):
    table = pa.table(VALID)
    for declared in (b'{"arm": "arm", "groups": ["sex", "race"], "time": "gone"}', b"[1]", b"nonsense"):
        pq.write_table(table.replace_schema_metadata({b"fairbandits.roles": declared}), tmp_path / "log.parquet")
        log = Log.open(tmp_path / "log.parquet")
        assert log.roles == Roles("arm", "reward", ("sex",), "propensity", ("context_age",), "time")
        assert ("groups" in log.guessed) == (not declared.startswith(b"{"))
