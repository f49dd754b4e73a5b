"""What an audit says about the rows of a log."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit
from fairbandits.audit.report.page import audit_page
from fairbandits.cli.app import main
from fairbandits.logs import Log, role_guessing


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 600
    log = pd.DataFrame(
        {
            "decision": np.arange(n),
            "arm": rng.choice(["a", "b", "B"], n),
            "reward": (rng.random(n) < 0.5) * 1.0,
            "sex": rng.choice(["female", "male", "Male "], n),
            "time": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n), unit="h"),
        }
    )
    log.loc[:3, "time"] = pd.NaT
    return pd.concat([log, log.iloc[10:17]])


def test_what_is_wrong_with_the_rows(frame):
    result = audit(frame)
    assert result.rows == 607
    assert result.checks.duplicates == 7
    assert result.checks.without_time == 4
    assert result.checks.variants == (("arm", ("B", "b")), ("sex", ("Male ", "male")))
    checks = result.to_dict()["checks"]
    assert (checks["duplicates"], checks["dropped"], checks["without_time"]) == (7, 0, 4)
    assert {"column": "sex", "labels": ["Male ", "male"]} in checks["label_variants"]
    page = audit_page(result)
    for sentence in checks["sentences"]:
        assert sentence.replace("'", "&#x27;") in page


def test_rows_that_were_dropped_are_counted(frame):
    result = audit(Log.open(frame, duplicates="drop"))
    assert result.rows == 600
    assert result.to_dict()["checks"]["dropped"] == 7
    assert "7 rows repeat the decision and the arm of an earlier row (dropped)." in audit_page(result)


def test_nothing_is_wrong():
    log = pd.DataFrame({"arm": ["a"] * 40, "reward": [0.0, 1.0] * 20, "sex": ["f", "f", "m", "m"] * 10})
    checks = audit(log).to_dict()["checks"]
    assert checks == {
        "duplicates": None,
        "dropped": 0,
        "without_time": 0,
        "outside_time": 0,
        "without_user": 0,
        "shared_users": {},
        "label_variants": [],
        "sentences": [
            "No time column: time windows follow the order of the rows; name the column (--time).",
            "No decision column: duplicates could not be counted (--decision).",
        ],
    }


def test_a_sequential_audit_has_no_windows_to_warn_about(frame):
    rows = frame.drop(columns="time")
    found = [audit(rows, sequential=each).to_dict()["checks"]["sentences"] for each in (False, True)]
    assert [any("No time column" in sentence for sentence in each) for each in found] == [True, False]


def test_the_first_screen(frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("log.csv", index=False)
    assert main(["audit", "log.csv"]) == 0
    first = " ".join(capsys.readouterr().out.split("By sex")[0].split())
    assert first.count("7 rows repeat the decision and the arm of an earlier row") == 1
    assert "4 rows have no time" in first
    assert "Labels of sex that differ only in spaces or case count as different: 'Male ' and 'male'." in first


def test_all_recognised_column_names_are_documented():
    document = (Path(__file__).parents[2] / "docs" / "reference" / "audit.md").read_text()
    rows = {role: ", ".join(f"`{name}`" for name in names) for role, names in role_guessing._NAMES.items()}
    rows["groups"] = ", ".join(f"`{name}`" for name in role_guessing._GROUPS)
    for role, names in rows.items():
        assert f"| {role} | {names} |" in document
