"""The JSON of an audit."""

import copy
import hashlib
import json
import re
from pathlib import Path

import jsonschema_rs
import numpy as np
import pytest

from fairbandits.audit import audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report import serialisation
from fairbandits.audit.report.analysis_serialisation import estimate_to_dict
from tests.audit import logs

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "audit.md"
SCHEMA = json.loads(Path(serialisation.__file__).with_name("schema.json").read_text())


def strict(schema):
    """Return the schema without room for keys that it does not describe."""
    if isinstance(schema, dict):
        schema = {name: strict(value) for name, value in schema.items()}
        return schema | {"additionalProperties": False} if "required" in schema else schema
    return [strict(value) for value in schema] if isinstance(schema, list) else schema


VALIDATOR = jsonschema_rs.validator_for(strict(copy.deepcopy(SCHEMA)))


@pytest.fixture(scope="module", params=["fixed-sample", "sequential"])
def result(request):
    return audit(logs.dated(logs.make(8_000)), tolerance=0.02, sequential=request.param == "sequential")


@pytest.fixture(scope="module")
def finished():
    return audit(logs.of_users(lambda day: 0.3 * (day >= 90), n=20_000), tolerance=0.05, date="2026-11-16")


def keys_of(plain):
    if isinstance(plain, dict):
        yield from plain
        for value in plain.values():
            yield from keys_of(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from keys_of(value)


def test_every_key_is_described_and_documented(result, tmp_path):
    result.write(tmp_path)
    plain = json.loads((tmp_path / "audit.json").read_text())
    assert plain == json.loads(json.dumps(result.to_dict()))
    VALIDATOR.validate(plain)
    documented = DOCUMENT.read_text()
    for key in set(keys_of(plain)):
        assert f"`{key}`" in documented, key


def test_the_schema_is_strict_enough(finished):
    plain = finished.to_dict()
    VALIDATOR.validate(plain)
    for change in ({"version": 2}, {"verdict": {}}, {"comparisons": None}, {"further": 1}):
        assert not VALIDATOR.is_valid(plain | change)
    jsonschema_rs.validator_for(SCHEMA).validate(plain | {"further": 1})


def test_provenance_settings_and_verdict(result, finished):
    plain = result.to_dict()
    assert (plain["format"], plain["version"]) == ("fairbandits audit", 3)
    assert plain["sentence"] == result.sentence
    assert plain["verdict"]["status"] == result.status
    assert plain["provenance"]["guessed"] == ["arm", "groups", "reward", "time"]
    assert plain["provenance"]["rows"] == 8_000
    assert plain["provenance"]["date"] is None
    assert plain["settings"]["reward_range"] == [0.0, 1.0]
    assert finished.to_dict()["provenance"]["date"] == "2026-11-16"
    assert finished.to_dict()["verdict"] == {
        "status": 1,
        "whole": "fair",
        "now": "unfair",
        "sentence": finished.verdict,
    }
    assert audit(logs.make(2_000)).to_dict()["verdict"] == {
        "status": 0,
        "whole": None,
        "now": None,
        "sentence": None,
    }


def test_the_date(monkeypatch):
    frame = logs.make(500)
    assert len(audit(frame, date="today").date) == 10
    with pytest.raises(
        ValueError, match=r'date must be "today" or a date such as 2026-11-16, got \'16 November\''
    ):
        audit(frame, date="16 November")


def test_the_hash_of_the_data_is_that_of_the_log(tmp_path):
    path = tmp_path / "log.csv"
    logs.make(500).to_csv(path, index=False)
    provenance = audit(path).to_dict()["provenance"]
    assert provenance["hash"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_numbers_are_consistent(result):
    for comparison in result.to_dict()["comparisons"]:
        gap, parts = comparison["gap"], comparison["decomposition"]
        assert gap["low"] <= gap["value"] <= gap["high"]
        assert parts["exposure_effect"]["value"] + parts["within_arm_effect"]["value"] == pytest.approx(
            gap["value"], abs=1e-12
        )
        large = [group for group in comparison["groups"] if group["large_enough"]]
        means = {tuple(group["labels"]): group["mean"] for group in large}
        assert gap["value"] == pytest.approx(max(means.values()) - min(means.values()))
        if result.settings.sequential:
            line = comparison["timeline"]
            assert comparison["history"] is comparison["recent"] is comparison["detectable"] is None
            assert len(line["starts"]) == len(line["gap_low"]) == len(line["groups"][0]["mean"])
            assert line["starts"][0] == "2026-01-05T00:00:00"
            assert gap["low"] == pytest.approx(line["gap_low"][-1])
            assert {tuple(group["labels"]): group["mean"][-1] for group in line["groups"]} == pytest.approx(means)
            assert parts["exposure_effect"]["low"] is None
        else:
            assert comparison["timeline"] is comparison["since"] is None
            assert parts["exposure_effect"]["low"] < parts["exposure_effect"]["high"]


def test_history(finished):
    [comparison] = finished.to_dict()["comparisons"]
    history, recent = comparison["history"], comparison["recent"]
    assert len(history["windows"]) == len(history["groups"][0]["mean"]) == 10
    assert (history["change"], history["first"], history["last"]) == ("grew", 9, 9)
    assert recent["start"] == history["windows"][-1]["start"] == "2024-03-31T00:00:00"
    assert recent["end"] == "2024-04-10T00:00:00"
    assert recent["gap"]["disadvantaged"] == ["female"]
    assert recent["conclusion"] == "unfair"
    # The most recent window has more of the error probability than each of ten windows.
    last = history["windows"][-1]["gap"]
    assert last["low"] < recent["gap"]["low"] < recent["gap"]["value"] == last["value"]
    assert 0.05 < comparison["detectable"] < 0.1
    groups = {group["labels"][0]: group for group in comparison["groups"]}
    assert groups["female"]["users"] == 1_986
    assert 1_000 < groups["female"]["effective_users"] < 2_000


def test_shares_belong_to_their_groups():
    """Rewards as harms swap the advantaged and the disadvantaged group, and nothing else."""
    frame = logs.make(8_000, unknown=0.0)
    plain = [
        audit(frame, groups=["sex"], lower_is_better=each).to_dict()["comparisons"][0] for each in (False, True)
    ]
    assert plain[0]["gap"]["advantaged"] == plain[1]["gap"]["disadvantaged"] == ["male"]
    arms = [{arm["arm"]: arm for arm in each["decomposition"]["arms"]} for each in plain]
    # Female users are never shown the last video.
    assert arms[0]["video 4"]["share_disadvantaged"] == arms[1]["video 4"]["share_advantaged"] == 0.0
    assert arms[0]["video 4"]["mean_disadvantaged"] is arms[1]["video 4"]["mean_advantaged"] is None


def test_missing_results_are_null():
    frame = logs.make(600).assign(sex=np.where(np.arange(600) < 5, "female", "male"))
    frame.loc[:4, "reward"] = np.nan
    result = audit(frame, groups=["sex"])
    plain = result.to_dict()["comparisons"][0]
    assert plain["conclusion"] == "too small"
    assert plain["gap"] is plain["history"] is plain["decomposition"] is None
    assert plain["groups"][1]["mean"] is plain["groups"][1]["low"] is None
    VALIDATOR.validate(json.loads(json.dumps(result.to_dict(), allow_nan=False)))


def test_no_bound_is_a_number_that_underflowed():
    frame = logs.make(2_000, missing=0.0).assign(reward=lambda f: f.reward * (f.sex == "male"))
    result = audit(frame, groups=["sex"], confidence=1.0 - 1e-9)
    assert not re.search(r"e-3\d\d", json.dumps(result.to_dict()))
    assert estimate_to_dict(IntervalEstimate(0.5, 2.2e-308, 1.0)) == {"value": 0.5, "low": 0.0, "high": 1.0}


@pytest.mark.parametrize("extremes", [["0001-01-01"], ["9999-12-31"], ["0001-01-01", "9999-12-31"]])
@pytest.mark.parametrize("sequential", [False, True])
def test_the_first_and_last_possible_dates(tmp_path, extremes, sequential):
    times = [*extremes, *["2024-05-01"] * (2_000 - len(extremes))]
    result = audit(logs.make(2_000, gap=0.5).assign(time=times), groups=["sex"], sequential=sequential)
    result.write(tmp_path)
    [plain] = json.loads((tmp_path / "audit.json").read_text())["comparisons"]
    starts = plain["timeline"]["starts"] if sequential else [each["start"] for each in plain["history"]["windows"]]
    assert all("0001-01-01" <= start <= "9999-12-31T23:59:59" for start in starts)
