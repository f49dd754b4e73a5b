"""What a service is told, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.service.config import as_config, example, load_config
from fairbandits.service.demo import demo_config
from fairbandits.service.features import CategoricalFeature, FeatureEncoder, NumericFeature
from fairbandits.service.log.events import ArmAdded, Decided, Rewarded, read_event
from tests.service.small import PLAIN, small_config


def test_the_example_is_one(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(example())
    config = load_config(path)
    assert config.title == "Courses"
    assert [arm["arm"] for arm in config.arms] == ["python-1", "statistiques"]
    assert config.columns[:2] == ("age", "language=en")


def test_the_example_has_a_comment_for_every_setting():
    settings = {name for name in small_config().model_dump() if name not in ("reward", "store", "server")}
    for name in settings:
        assert name in example(), name


def test_columns_are_named():
    assert small_config().columns == (
        "age",
        "language=en",
        "language=fr",
        "arm-hours",
        "match-language",
        "match-gender",
    )
    assert len(demo_config().columns) == 134


def test_a_catalogue_of_its_own(tmp_path):
    plain = {name: value for name, value in PLAIN.items() if name != "arms"}
    (tmp_path / "arms.csv").write_text("arm,hours,match_language,match_gender\nknots,3,en,\n")
    config = as_config(plain | {"catalogue": "arms.csv"}, folder=tmp_path)
    assert list(config.arms) == [
        {"arm": "knots", "features": {"hours": 3.0}, "matches": {"language": "en", "gender": None}}
    ]
    (tmp_path / "arms.csv").write_text("arm,hours,match_language,match_gender\nknots,long,en,\n")
    with pytest.raises(ValueError, match="hours"):
        as_config(plain | {"catalogue": "arms.csv"}, folder=tmp_path)
    (tmp_path / "arms.csv").write_text("\ufeffarm,hours,match_language,match_gender\nknots,3,en,\n")
    assert as_config(plain | {"catalogue": "arms.csv"}, folder=tmp_path) == config, "as Excel writes it"
    for row in ("knots", "knots,3,en", "knots,3,en,,more"):
        (tmp_path / "arms.csv").write_text(f"arm,hours,match_language,match_gender\nropes,3,en,\n{row}\n")
        with pytest.raises(ValueError, match=r"arms\.csv: row 2 has not as many cells as there are columns"):
            as_config(plain | {"catalogue": "arms.csv"}, folder=tmp_path)
    (tmp_path / "arms.csv").write_text("arm,hours\nknots,3\n")
    with pytest.raises(ValueError, match="expected rows with the columns arm, hours, match_language"):
        as_config(plain | {"catalogue": "arms.csv"}, folder=tmp_path)
    with pytest.raises(ValueError, match=r"none\.csv: the catalogue cannot be read"):
        as_config(plain | {"catalogue": "none.csv"}, folder=tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"unknown": 1}, "unknown: Extra inputs are not permitted"),
        ({"policy": "LinUCP"}, ", or module:Class, got 'LinUCP'"),
        ({"policy": "LinUCB(gamma=1)"}, "LinUCB has no parameter 'gamma'"),
        ({"policy": "LinUCB(alpha=-1)"}, "alpha"),
        ({"policy": "LinUCB(reward_range=[0, 5])"}, r"the range of rewards is said in \[reward\]"),
        ({"policy": "EqualRegretLinUCB"}, "its state does not follow from the log; take another policy"),
        ({"policy": "LinUCB(model=Model(feature_map=Nystroem))"}, "a feature map must be fitted to contexts"),
        ({"matches": ["age"]}, "matches names 'age', which is no attribute and no feature of words"),
        ({"matches": ["gender", "gender"]}, "matches: these stand more than once: gender"),
        ({"attributes": {"gender": ["a", "a"]}, "matches": []}, "these stand more than once: a"),
        ({"attributes": {"gender": []}, "matches": []}, "attributes.gender: Tuple should have at least 1 item"),
        ({"features": {"age": {"low": 1, "high": 1}}, "matches": []}, "low must be below high"),
        ({"features": {"age": {"low": 0, "high": float("nan")}}, "matches": []}, "finite number"),
        ({"features": {"age": {"low": 0, "high": 1, "default": 2}}, "matches": []}, "default 2 must lie"),
        (
            {"features": {"w": {"values": ["a"], "default": "b"}}, "matches": []},
            "default 'b' is none",
        ),
        ({"features": {"w": {"values": ["a", "a"]}}, "matches": []}, "values: these stand more than once: a"),
        ({"features": {"w\n": {"values": ["a"]}}, "matches": []}, "control characters"),
        (
            {"features": {"a": {"values": ["b"]}, "a=b": {"low": 0, "high": 1}}, "matches": []},
            "columns: these",
        ),
        ({"features": {}, "arm_features": {}, "matches": [], "arms": []}, "contexts would have no columns"),
        ({"arms": [{"arm": "a"}]}, r"arms\.0\.features: Field required"),
        ({"arms": [{"arm": "a", "features": {"hours": 50}}]}, "less than or equal to 40"),
        ({"arms": [{"arm": "a", "features": {"hours": 5}}] * 2}, "arms: these stand more than once: a"),
        ({"arms": [{"arm": "a", "features": {"hours": 5, "x": 1}}]}, "Extra inputs"),
        ({"store": {"url": "mysql://x"}}, "store.url"),
        ({"reward": {"low": 1, "high": 0}}, "reward_range"),
        ({"reward": {"window_days": 0}}, "window_days"),
        ({"tolerance": 0}, "tolerance"),
        ({"min_group": 0}, "min_group"),
        ({"server": {"port": 70_000}}, "server.port"),
    ],
)
def test_wrong_configurations_say_where_and_what(changed, message):
    with pytest.raises(ValueError, match=message):
        small_config(**changed)


def test_files_that_are_no_configuration(tmp_path):
    with pytest.raises(ValueError, match=r"cannot be read .*serve --example prints a config"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("title = ")
    with pytest.raises(ValueError, match=r"bad\.toml: is no TOML"):
        load_config(tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"bad\.toml: is no TOML"):
        load_config(tmp_path / "bad.toml")


def test_what_the_numbers_of_a_log_mean():
    meaning = small_config().meaning()
    assert small_config(title="Other", policy="Uniform", arms=[]).meaning() == meaning
    features = PLAIN["features"] | {"age": {"low": 20, "high": 80}}
    for changed in ({"features": features}, {"reward": {"high": 2}}, {"matches": ["gender"], "arms": []}):
        assert small_config(**changed).meaning() != meaning


def test_the_encoder():
    encoder = FeatureEncoder(
        {"w": CategoricalFeature(values=("a", "b"), default="b"), "x": NumericFeature(low=-1, high=3)}
    )
    assert encoder.columns == ("w=a", "w=b", "x")
    np.testing.assert_array_equal(encoder.encode({"w": "a", "x": 0}), [1.0, 0.0, 0.25])
    np.testing.assert_array_equal(encoder.encode({"w": None, "x": 3}), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(encoder.encode({"x": -1}), [0.0, 1.0, 0.0])


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1), finite, st.text())
def test_numbers_come_back_to_the_bit(values, time, text):
    event = Decided(
        "id",
        time,
        0,
        {text: time},
        {"a": text},
        [text],
        False,
        1,
        None,
        False,
        [{"mean": time}],
        [[[0], values, 0]],
        1,
    )
    again = read_event("decided", event.to_json())
    assert again == event
    assert np.array(again.contexts[0][1]).tobytes() == np.array(values, float).tobytes()
    assert json.loads(event.to_json())["time"] == time
    assert read_event("rewarded", Rewarded("id", time, values).to_json()) == Rewarded("id", time, values)


def test_keys_of_events_do_not_collide():
    assert ArmAdded("a:1", 1, 0.0, {}, {}).key != ArmAdded("1", 1, 0.0, {}, {}).key
    keys = {ArmAdded(arm, version, 0.0, {}, {}).key for arm in ("1", "1:1", ":1") for version in (1, 11)}
    assert len(keys) == 6
