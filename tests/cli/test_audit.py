"""The command: its status is the verdict, and what is no log leaves nothing behind."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fairbandits.cli import main
from tests.audit import logs


def run(*arguments, cwd):
    command = [sys.executable, "-m", "fairbandits", "audit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    logs.make(8_000, gap=0.3).to_csv(folder / "unfair.csv", index=False)
    logs.make(8_000, gap=0.0, n_arms=1).to_csv(folder / "fair.csv", index=False)
    return folder


@pytest.mark.parametrize(
    ("log", "tolerance", "status", "first"),
    [
        (
            "fair.csv",
            "0.3",
            0,
            "Fair, with confidence: groups are within 0.3 of each other by sex, race and sex x race.",
        ),
        ("unfair.csv", "0.02", 1, "Unfair, with confidence: groups are not within 0.02 of each other by sex"),
        ("fair.csv", "0.01", 3, "Too little data: whether groups are within 0.01 of each other cannot be said by"),
    ],
)
def test_the_status_is_the_verdict(folder, log, tolerance, status, first):
    out = folder / f"out-{status}"
    done = run(log, "--tolerance", tolerance, "--out", out, cwd=folder)
    assert done.returncode == status, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("guessed by name: arm=arm, reward=reward, groups=sex,race")
    assert first in done.stdout
    assert json.loads((out / "audit.json").read_text())["verdict"]["status"] == status


def test_bad_input_is_status_2(folder):
    done = run("fair.csv", "--group", "sx", "--out", "nothing", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no column 'sx'; did you mean 'sex'?" in done.stderr
    assert not (folder / "nothing").exists()


def refused(capsys, *arguments):
    assert main(["audit", *map(str, arguments)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


def wrong(frame, column, row, value):
    changed = frame.astype({column: object})
    changed.loc[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: f.assign(sex="female"), [], "log.csv, column 'sex': one group only, 'female' in all 500 rows"),
        (lambda f: f.assign(reward=f.reward * 5), [], "came; expected a reward in [0, 1]. Say which are possible"),
        (lambda f: wrong(f, "reward", 7, "good"), [], "log.csv, column 'reward', row 8"),
        (lambda f: wrong(f, "reward", 7, "NaN"), [], "log.csv, column 'reward', row 8"),
        (lambda f: f.iloc[:0], [], "log.csv"),
        (
            lambda f: f,
            ["--reward-range", "5"],
            "--reward-range '5' came; expected two numbers, LOW,HIGH, such as 1,5",
        ),
        (lambda f: f, ["--reward-range", "1,0"], "reward_range needs two numbers"),
        (lambda f: f, ["--tolerance", "-1"], "tolerance is how far apart groups may be, not below 0; got -1.0"),
        (
            lambda f: f,
            ["--no-guess", "--arm", "arm", "--reward", "reward"],
            "which columns are the groups of users?",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_nothing_is_written(capsys, tmp_path, change, options, message):
    change(logs.make(500)).to_csv(tmp_path / "log.csv", index=False)
    assert message in refused(capsys, tmp_path / "log.csv", *options, "--out", tmp_path / "out")
    assert [path.name for path in tmp_path.rglob("audit.*")] == []


def test_a_parquet_file_that_was_cut_short(capsys, tmp_path):
    path = tmp_path / "log.parquet"
    logs.make(500).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    assert "log.parquet" in refused(capsys, path, "--out", tmp_path / "out")


def test_a_file_of_a_folder_is_named(capsys, tmp_path):
    for number in range(3):
        frame = logs.make(500, seed=number, missing=0.0)
        if number == 1:
            frame.loc[41, "reward"] = 7.0
        (tmp_path / "log").mkdir(exist_ok=True)
        pq.write_table(__import__("pyarrow").Table.from_pandas(frame), tmp_path / "log" / f"{number}.parquet")
    said = refused(capsys, tmp_path / "log", "--out", tmp_path / "out")
    assert "1.parquet, column 'reward', row 42: 7.0 came; expected a reward in [0, 1]" in said


def test_a_report_that_was_there_stays_where_the_next_fails(capsys, tmp_path):
    logs.make(500).to_csv(tmp_path / "log.csv", index=False)
    assert main(["audit", str(tmp_path / "log.csv"), "--out", str(tmp_path)]) == 0
    before = (tmp_path / "audit.html").read_bytes()
    (tmp_path / "log.csv").write_text("arm,reward,sex\n")
    refused(capsys, tmp_path / "log.csv", "--out", tmp_path)
    assert (tmp_path / "audit.html").read_bytes() == before


def test_what_nobody_thought_of_is_no_verdict(capsys, folder, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise OverflowError("nobody thought of this")

    monkeypatch.setattr("fairbandits.cli.audit.audit_log", broken)
    assert main(["audit", str(folder / "unfair.csv"), "--out", str(tmp_path)]) == 70
    said = capsys.readouterr().err
    assert "OverflowError: nobody thought of this" in said
    assert said.splitlines()[-1].startswith("error: unexpected error; please report it")


def test_without_a_tolerance_there_is_no_verdict(capsys, folder, tmp_path):
    assert main(["audit", str(folder / "unfair.csv"), "--group", "sex", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "Users whose sex is female gained 0." in said
    assert "with confidence" not in said
    assert "who got more from it" in said
    assert f"written: {tmp_path / 'audit.html'} and audit.json" in said
    assert json.loads((tmp_path / "audit.json").read_text())["verdict"]["sentence"] is None


def test_what_is_too_small_is_said(capsys, folder, tmp_path):
    options = ["--min-rows", "1000", "--out", str(tmp_path), "--group", "sex,race"]
    assert main(["audit", str(folder / "unfair.csv"), *options]) == 0
    said = capsys.readouterr().out
    assert "too small" in said
    assert "Too small to say anything, with fewer than 1,000 rewards: Asian" in said


def test_the_readme_shows_what_the_commands_say(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    commands = re.findall(
        r"^fairbandits (sample log.parquet.*|audit log.parquet --tolerance.*)$", readme, re.MULTILINE
    )
    assert [main(command.split()) for command in commands] == [0, 1]
    said = capsys.readouterr().out
    quoted = re.search(r"^> .*(?:\n> .*)*", readme[readme.index("## Are we unfair today?") :], re.MULTILINE)
    assert " ".join(quoted[0].replace("> ", "").split()) in said
    shown, same = re.search(r"\(here ([\d.]+)\) and who got\nmore from the same arm \(([\d.]+)\)", readme).groups()
    assert f"that makes {shown} of the difference. From the same arms female got less: that makes {same}" in said
