"""The command `learn`: what it prints and writes, its exit status and its errors."""

from pathlib import Path

import pytest

from fairbandits.cli import main
from tests.ope.certification.learning_logs import learning_log


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Run every test in its own folder, with two logs in it."""
    monkeypatch.chdir(tmp_path)
    learning_log().to_csv("log.csv", index=False)
    learning_log(n=600).to_csv("short.csv", index=False)


def test_a_certified_policy(capsys):
    assert main(["learn", "log.csv", "--tolerance", "0.1", "--context", "age"]) == 0
    printed = capsys.readouterr().out
    assert "Certified to have a gap within 0.1 and a worst-off group that loses at most 0.01" in printed
    assert "for certification; no user is in two parts." in printed
    assert "under the logging policy" in printed
    assert "policies of the family were not tested" in printed
    assert "written: results/learning/learning.html, learning.json and policy.safetensors" in printed
    assert Path("results/learning/policy.safetensors").is_file()


def test_nothing_can_be_certified(capsys):
    assert main(["learn", "short.csv", "--tolerance", "0.01", "--out", "out"]) == 3
    assert "No policy of the family can be certified" in capsys.readouterr().out
    assert sorted(path.name for path in Path("out").iterdir()) == ["learning.html", "learning.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log.csv"], "Missing option '--tolerance'"),
        (["log.csv", "--tolerance", "-1"], "tolerance must be above 0, got -1.0"),
        (["nothing.csv", "--tolerance", "0.1"], "nothing.csv: there is no such file or folder"),
        (
            ["log.csv", "--tolerance", "0.1", "--confidence", "2"],
            "confidence must be above 0.5 and below 1, got 2.0",
        ),
    ],
)
def test_errors_are_one_line(capsys, arguments, message):
    assert main(["learn", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not list(Path().glob("results/learning/*")), "a report was written"
