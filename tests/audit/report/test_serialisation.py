"""The JSON of an audit."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairbandits.audit import audit
from tests.audit import logs

DOCUMENT = Path(__file__).parents[3] / "docs" / "audit.md"


@pytest.fixture(scope="module")
def result():
    return audit(logs.dated(logs.make(8_000)), tolerance=0.02)


def keys_of(plain):
    if isinstance(plain, dict):
        yield from plain
        for value in plain.values():
            yield from keys_of(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from keys_of(value)


def test_every_key_is_documented(result, tmp_path):
    result.write(tmp_path)
    plain = json.loads((tmp_path / "audit.json").read_text())
    assert plain == json.loads(json.dumps(result.to_dict()))
    assert (plain["format"], plain["version"]) == ("fairbandits audit", 2)
    assert plain["verdict"]["status"] == result.status
    assert plain["sentence"] == result.sentence
    assert plain["log"]["guessed"] == ["arm", "groups", "reward", "time"]
    documented = DOCUMENT.read_text()
    for key in set(keys_of(plain)):
        assert f"`{key}`" in documented, key


def test_the_numbers_are_consistent(result):
    for comparison in result.to_dict()["comparisons"]:
        gap, parts, line = comparison["gap"], comparison["decomposition"], comparison["timeline"]
        assert gap["low"] <= gap["value"] <= gap["high"]
        assert parts["exposure_effect"]["value"] + parts["within_arm_effect"]["value"] == pytest.approx(
            gap["value"], abs=1e-12
        )
        assert len(line["starts"]) == len(line["gap_low"]) == len(line["groups"][0]["mean"])
        assert line["starts"][0] == "2026-01-05T00:00:00"
        assert gap["low"] == pytest.approx(line["gap_low"][-1])
        last = {tuple(group["labels"]): group["mean"][-1] for group in line["groups"]}
        large = [group for group in comparison["groups"] if group["large_enough"]]
        assert last == pytest.approx({tuple(group["labels"]): group["mean"] for group in large})


def test_missing_results_are_null():
    frame = logs.make(600).assign(sex=np.where(np.arange(600) < 5, "female", "male"))
    frame.loc[:4, "reward"] = np.nan
    plain = audit(frame, groups=["sex"]).to_dict()["comparisons"][0]
    assert plain["conclusion"] == "too small"
    assert plain["gap"] is plain["timeline"] is plain["decomposition"] is None
    assert plain["groups"][1]["mean"] is plain["groups"][1]["low"] is None
    json.dumps(plain, allow_nan=False)


@pytest.mark.parametrize("extremes", [["0001-01-01"], ["9999-12-31"], ["0001-01-01", "9999-12-31"]])
def test_the_first_and_last_possible_dates(tmp_path, extremes):
    times = [*extremes, *["2024-05-01"] * (2_000 - len(extremes))]
    result = audit(logs.make(2_000, gap=0.5).assign(time=times), groups=["sex"])
    result.write(tmp_path)
    starts = json.loads((tmp_path / "audit.json").read_text())["comparisons"][0]["timeline"]["starts"]
    assert all("0001-01-01" <= start <= "9999-12-31T23:59:59" for start in starts)
