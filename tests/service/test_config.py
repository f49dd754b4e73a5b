"""The configuration, and what is refused in one."""

import json
from pathlib import Path

import pandas
import pytest

from fairbandits.service.config import as_config, example_config, load_config
from fairbandits.service.demo import demo_config
from tests.service.small import PLAIN, small_config


def test_the_example_is_valid(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(example_config())
    config = load_config(path)
    assert config.title == "Courses"
    assert [arm["arm"] for arm in config.arms] == ["python-1", "statistiques"]
    assert config.columns[:2] == ("age", "language=en")


def test_the_example_has_a_comment_for_every_setting():
    settings = {name for name in small_config().model_dump() if name not in ("reward", "store", "server")}
    for name in settings:
        assert name in example_config(), name


def test_column_names():
    assert small_config().columns == (
        "age",
        "language=en",
        "language=fr",
        "arm-hours",
        "match-language",
        "match-gender",
    )
    assert len(demo_config().columns) == 134


PLAIN_WITHOUT_ARMS = {name: value for name, value in PLAIN.items() if name != "arms"}
HEAD = "arm,hours,match:language,match:gender\n"


def read_catalogue(folder, text, name="arms.csv"):
    (folder / name).write_text(text)
    return as_config(PLAIN_WITHOUT_ARMS | {"catalogue": name}, folder=folder)


def test_a_catalogue_from_a_file(tmp_path):
    config = read_catalogue(tmp_path, f"{HEAD}knots,3,en,\n007,40,,female\n")
    assert list(config.arms) == [
        {"arm": "knots", "features": {"hours": 3.0}, "matches": {"language": "en", "gender": None}},
        {"arm": "007", "features": {"hours": 40.0}, "matches": {"language": None, "gender": "female"}},
    ]
    assert read_catalogue(tmp_path, f"\ufeff{HEAD}knots,3,en,\n007,40,,female\n") == config, "as Excel writes it"
    lines = [
        {"arm": arm["arm"], "hours": arm["features"]["hours"]}
        | {f"match:{name}": value for name, value in arm["matches"].items()}
        for arm in config.arms
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    assert read_catalogue(tmp_path, text, "arms.jsonl") == config
    pandas.DataFrame(lines).to_parquet(tmp_path / "arms.parquet")
    assert as_config(PLAIN_WITHOUT_ARMS | {"catalogue": "arms.parquet"}, folder=tmp_path) == config


def test_ids_of_a_catalogue_are_text(tmp_path):
    pandas.DataFrame({"arm": [7], "hours": [3], "match:language": ["en"], "match:gender": [None]}).to_parquet(
        tmp_path / "arms.parquet"
    )
    config = as_config(PLAIN_WITHOUT_ARMS | {"catalogue": "arms.parquet"}, folder=tmp_path)
    assert [arm["arm"] for arm in config.arms] == ["7"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}knots,long,en,\n", r"arms\.csv.*hours"),
        (f"{HEAD}knots,,en,\n", r"arms\.0\.features\.hours: Input should be a valid number"),
        (f"{HEAD}knots,50,en,\n", r"arms\.0\.features\.hours: Input should be less than or equal to 40"),
        (f"{HEAD}knots,3,en\n", r"arms\.csv"),
        (HEAD, r"arms\.csv"),
        ("arm,hours\nknots,3\n", "columns must be arm, hours, match:language, match:gender, got arm, hours$"),
        (
            "arm,hours,match_language,match_gender\nknots,3,en,\n",
            "got arm, hours, match_language, match_gender; rename match_language to match:language",
        ),
        ("hours\n3\n", r"arms\.csv: there is no column 'arm' with the arm ids"),
    ],
)
def test_catalogues_that_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_catalogue(tmp_path, text)


def test_a_catalogue_that_is_missing(tmp_path):
    with pytest.raises(ValueError, match=r"none\.csv"):
        as_config(PLAIN_WITHOUT_ARMS | {"catalogue": "none.csv"}, folder=tmp_path)


def test_the_secret_is_beside_the_configuration(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(example_config().replace("# secret_file", "secret_file"))
    assert load_config(path).users.secret_file == tmp_path / "users.secret"
    path.write_text(example_config().replace("# secret_file = ", 'secret_file = "/keys/s" #'))
    assert load_config(path).users.secret_file == Path("/keys/s")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"unknown": 1}, "unknown: Extra inputs are not permitted"),
        ({"policy": "LinUCP"}, ", or module:Class, got 'LinUCP'"),
        ({"policy": "LinUCB(gamma=1)"}, "LinUCB has no parameter 'gamma'"),
        ({"policy": "LinUCB(alpha=-1)"}, "alpha"),
        (
            {"policy": "LinUCB(reward_range=[0, 5])"},
            r"policy must not set reward_range; set reward.low and reward.high",
        ),
        (
            {"policy": "EqualRegretLinUCB"},
            "got EqualRegretLinUCB, whose state cannot be rebuilt from the log; choose another policy",
        ),
        ({"policy": "LinUCB(model=Model(feature_map=Nystroem))"}, "a feature map must be fitted to contexts"),
        ({"matches": ["age"]}, "matches must name attributes or categorical features, got 'age'"),
        ({"matches": ["gender", "gender"]}, "matches must be unique, got duplicates: gender"),
        (
            {"attributes": {"gender": ["a", "a"]}, "matches": []},
            "attributes.gender must be unique, got duplicates: a",
        ),
        ({"attributes": {"gender": []}, "matches": []}, "attributes.gender: Tuple should have at least 1 item"),
        (
            {"features": {"age": {"low": 1, "high": 1}}, "matches": []},
            "low must be below high, both below 1e.50 in absolute value, got 1 and 1",
        ),
        ({"features": {"age": {"low": 0, "high": float("nan")}}, "matches": []}, "finite number"),
        (
            {"features": {"age": {"low": 0, "high": 1, "default": 2}}, "matches": []},
            "default must be from 0 to 1, got 2",
        ),
        (
            {"features": {"w": {"values": ["a"], "default": "b"}}, "matches": []},
            "default must be one of the values, got 'b'",
        ),
        (
            {"features": {"w": {"values": ["a", "a"]}}, "matches": []},
            "values must be unique, got duplicates: a",
        ),
        ({"features": {"w\n": {"values": ["a"]}}, "matches": []}, "must not contain control characters"),
        (
            {"features": {"a": {"values": ["b"]}, "a=b": {"low": 0, "high": 1}}, "matches": []},
            "columns must be unique, got duplicates: a=b",
        ),
        (
            {"features": {}, "arm_features": {}, "matches": [], "arms": []},
            "contexts must have at least one column, got none",
        ),
        (
            {"arm_features": {"match:x": {"low": 0, "high": 1}}, "arms": []},
            "arm_features must not begin with 'match:', got 'match:x'; use matches",
        ),
        ({"arms": [{"arm": "a"}]}, r"arms\.0\.features: Field required"),
        ({"arms": [{"arm": "a", "features": {"hours": 50}}]}, "less than or equal to 40"),
        ({"arms": [{"arm": "a", "features": {"hours": 5}}] * 2}, "arms must be unique, got duplicates: a"),
        ({"arms": [{"arm": "a", "features": {"hours": 5, "x": 1}}]}, "Extra inputs"),
        ({"store": {"url": "mysql://x"}}, "store.url"),
        ({"reward": {"low": 1, "high": 0}}, "reward_range"),
        ({"reward": {"window_days": 0}}, "window_days"),
        ({"tolerance": 0}, "tolerance"),
        ({"min_group": 0}, "min_group"),
        ({"server": {"port": 70_000}}, "server.port"),
        ({"users": {"secret_file": 5}}, "users.secret_file"),
        ({"users": {"secret": "x" * 32}}, r"users\.secret: Extra inputs are not permitted"),
    ],
)
def test_invalid_configurations_are_explained(changed, message):
    with pytest.raises(ValueError, match=message):
        small_config(**changed)


def test_invalid_configuration_files(tmp_path):
    with pytest.raises(ValueError, match=r"cannot be read .*`fairbandits serve --example` prints one"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("title = ")
    with pytest.raises(ValueError, match=r"bad\.toml: not valid TOML"):
        load_config(tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"bad\.toml: not valid TOML"):
        load_config(tmp_path / "bad.toml")


def test_the_schema_of_a_log():
    schema = small_config().log_schema()
    assert small_config(title="Other", policy="Uniform", arms=[]).log_schema() == schema
    features = PLAIN["features"] | {"age": {"low": 20, "high": 80}}
    for changed in ({"features": features}, {"reward": {"high": 2}}, {"matches": ["gender"], "arms": []}):
        assert small_config(**changed).log_schema() != schema
