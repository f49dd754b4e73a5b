"""The command `audit`: its exit status is the verdict, and errors leave no files."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fairbandits.cli import main
from tests.audit import logs
from tests.commands import run_command
from tests.helpers import without_notice


def run(*arguments, cwd):
    return run_command("audit", *arguments, folder=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    logs.make(8_000, gap=0.3).to_csv(folder / "unfair.csv", index=False)
    logs.make(8_000, gap=0.0, n_arms=1, unknown=0.0, missing=0.001).to_csv(folder / "fair.csv", index=False)
    return folder


@pytest.mark.parametrize(
    ("log", "tolerance", "status", "first"),
    [
        (
            "fair.csv",
            "0.5",
            0,
            "Fair (95% confidence): the gap is within the tolerance of 0.5 for sex, race and sex x race, over the "
            "whole log and in the most recent window.",
        ),
        ("unfair.csv", "0.02", 1, "Unfair (95% confidence): the gap exceeds the tolerance of 0.02 for sex"),
        (
            "fair.csv",
            "0.01",
            3,
            "Undecided: there is too little data to tell whether the gap is within the tolerance of 0.01",
        ),
    ],
)
def test_the_status_is_the_verdict(folder, log, tolerance, status, first):
    out = folder / f"out-{status}"
    done = run(log, "--tolerance", tolerance, "--out", out, cwd=folder)
    assert done.returncode == status, done.stderr
    assert without_notice(done.stderr) == ""
    assert done.stdout.startswith("guessed by name: arm=arm, reward=reward, groups=sex,race")
    assert first in done.stdout
    assert json.loads((out / "audit.json").read_text())["verdict"]["status"] == status


def test_bad_input_is_status_2(folder):
    done = run("fair.csv", "--group", "sx", "--out", "nothing", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no column 'sx'; did you mean 'sex'?" in done.stderr
    assert not (folder / "nothing").exists()


def error_of(capsys, *arguments):
    assert main(["audit", *map(str, arguments)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    return error


def with_cell(frame, column, row, value):
    changed = frame.astype({column: object})
    changed.loc[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            lambda f: f.assign(sex="female"),
            [],
            "log.csv, column 'sex': a comparison needs at least two groups, got only 'female' in 500 rows",
        ),
        (
            lambda f: f.assign(reward=f.reward * 5),
            [],
            "reward must be between 0 and 1, got 5.0; set reward_range=",
        ),
        (lambda f: with_cell(f, "reward", 7, "good"), [], "log.csv, column 'reward', row 8"),
        (lambda f: with_cell(f, "reward", 7, "NaN"), [], "log.csv, column 'reward', row 8"),
        (lambda f: f.iloc[:0], [], "log.csv"),
        (
            lambda f: f,
            ["--reward-range", "5"],
            "--reward-range must be two numbers such as 1,5, got '5'",
        ),
        (lambda f: f, ["--reward-range", "1,0"], "reward_range must be two numbers"),
        (lambda f: f, ["--tolerance", "-1"], "tolerance must be a non-negative number, got -1.0"),
        (lambda f: f, ["--min-cell", "-1"], "min_cell (--min-cell) must be an integer of at least 0, got -1"),
        (
            lambda f: f,
            ["--max-unassessed", "2"],
            "max_unassessed (--max-unassessed) must be between 0 and 1, got 2.0",
        ),
        (
            lambda f: f,
            ["--min-cell", "20", "--impact-ratios"],
            "impact_ratios (--impact-ratios) must not be set with min_cell (--min-cell); their counts would",
        ),
        (
            lambda f: f.assign(education="low"),
            ["--min-cell", "20", "--given", "education"],
            "given must not be set with min_cell (--min-cell); adjusted gaps would reveal small groups",
        ),
        (
            lambda f: f,
            ["--given", "arm"],
            "column 'arm' already has the role given, so it cannot be the arm; set arm=",
        ),
        (lambda f: f.iloc[:1], [], "got only 'male' in 1 row; set groups="),
        (
            lambda f: f,
            ["--date", "16.11.2026"],
            "date must be \"today\" or a date such as 2026-11-16, got '16.11.2026'",
        ),
        (
            lambda f: f,
            ["--no-guess", "--arm", "arm", "--reward", "reward"],
            "no group column is given or recognised by its name",
        ),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(capsys, tmp_path, change, options, message):
    change(logs.make(500)).to_csv(tmp_path / "log.csv", index=False)
    assert message in error_of(capsys, tmp_path / "log.csv", *options, "--out", tmp_path / "out")
    assert [path.name for path in tmp_path.rglob("audit.*")] == []


def test_a_truncated_parquet_file(capsys, tmp_path):
    path = tmp_path / "log.parquet"
    logs.make(500).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    assert "log.parquet" in error_of(capsys, path, "--out", tmp_path / "out")


def test_errors_name_the_file_of_a_folder(capsys, tmp_path):
    for number in range(3):
        frame = logs.make(500, seed=number, missing=0.0)
        if number == 1:
            frame.loc[41, "reward"] = 7.0
        (tmp_path / "log").mkdir(exist_ok=True)
        pq.write_table(__import__("pyarrow").Table.from_pandas(frame), tmp_path / "log" / f"{number}.parquet")
    error = error_of(capsys, tmp_path / "log", "--out", tmp_path / "out")
    assert "1.parquet, column 'reward', row 42: reward must be between 0 and 1, got 7.0" in error


def test_a_failure_leaves_the_previous_report(capsys, tmp_path):
    logs.make(500).to_csv(tmp_path / "log.csv", index=False)
    assert main(["audit", str(tmp_path / "log.csv"), "--out", str(tmp_path)]) == 0
    before = (tmp_path / "audit.html").read_bytes()
    (tmp_path / "log.csv").write_text("arm,reward,sex\n")
    error_of(capsys, tmp_path / "log.csv", "--out", tmp_path)
    assert (tmp_path / "audit.html").read_bytes() == before


def test_an_internal_error_is_not_a_verdict(capsys, folder, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise OverflowError("unexpected")

    monkeypatch.setattr("fairbandits.cli.audit.audit_log", broken)
    assert main(["audit", str(folder / "unfair.csv"), "--out", str(tmp_path)]) == 70
    error = capsys.readouterr().err
    assert "OverflowError: unexpected" in error
    assert error.splitlines()[-1].startswith("error: unexpected error; please report it")


def test_without_a_tolerance_there_is_no_verdict(capsys, folder, tmp_path):
    assert main(["audit", str(folder / "unfair.csv"), "--group", "sex", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Over the whole log, female users received 0." in printed
    assert "In the most recent window (decisions from 7,201 on), female users received 0." in printed
    assert "There is no user column, so the intervals assume that all decisions are independent." in printed
    assert not re.search(r"^(Fair|Unfair|Undecided)", printed, re.MULTILINE)
    assert "within-arm effect" in printed
    assert f"written: {tmp_path / 'audit.html'} and audit.json" in printed
    assert json.loads((tmp_path / "audit.json").read_text())["verdict"]["sentence"] is None


def test_a_log_that_is_watched(capsys, folder, tmp_path):
    options = ["--sequential", "--group", "sex", "--tolerance", "0.05", "--out", str(tmp_path)]
    assert main(["audit", str(folder / "unfair.csv"), *options]) == 1
    printed = capsys.readouterr().out
    assert "\nFemale users received 0." in printed
    assert "The gap has been detectable since decision " in printed
    assert "The intervals are anytime-valid" in printed
    assert json.loads((tmp_path / "audit.json").read_text())["settings"]["sequential"] is True


def test_the_first_lines_are_the_sentence_the_verdict_and_whom_they_leave_out(capsys, tmp_path):
    frame = logs.with_group(logs.of_users(lambda day: 0.3 * (day >= 90), n=20_000), None, 100)
    frame.to_parquet(tmp_path / "log.parquet")
    options = ["--tolerance", "0.05", "--date", "2026-11-16", "--out", str(tmp_path)]
    assert main(["audit", str(tmp_path / "log.parquet"), *options]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("guessed by name: arm=arm, reward=reward, time=time, user=user_id, groups=sex")
    assert lines[1].startswith("Over the whole log, female users received 0.")
    assert lines[2].startswith("Unfair (95% confidence)")
    assert lines[3].startswith("Not assessed by sex: 100 of 4,0")
    assert lines[4] == "No decision column: duplicates could not be counted (--decision)."
    assert lines[5].startswith("The intervals are fixed-sample and cluster-robust")
    words = [line.split() for line in lines]
    assert ["period", "gap", "95%", "CI", "disadvantaged", "conclusion"] in words
    assert next(line for line in words if line[1:2] == ["now"])[-2:] == ["female", "unfair"]
    assert any(line[:3] == ["rewards", "users", "effective"] for line in words)
    assert json.loads((tmp_path / "audit.json").read_text())["provenance"]["date"] == "2026-11-16"


def test_small_cells_are_suppressed(capsys, tmp_path):
    frame = logs.with_group(logs.of_users(lambda day: 0.0, n=20_000), "other", 7)
    frame.to_parquet(tmp_path / "log.parquet")
    assert main(["audit", str(tmp_path / "log.parquet"), "--min-cell", "20", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Not assessed by sex: users in groups too small to be shown." in printed
    assert "could reveal groups with fewer than 20 users (--min-cell)." in printed
    rows = [line.split() for line in printed.splitlines()]
    assert ["other", *["<", "20"] * 3, "too", "small"] in rows
    assert sum("suppressed" in row for row in rows) == 1


def test_small_groups_are_listed(capsys, folder, tmp_path):
    options = ["--sequential", "--min-rows", "1000", "--out", str(tmp_path), "--group", "sex,race"]
    assert main(["audit", str(folder / "unfair.csv"), *options]) == 0
    printed = capsys.readouterr().out
    assert "too small" in printed
    assert "Too small to compare (decisions in brackets): Asian (" in printed
    assert "A group needs at least 1,000 rewards." in printed


def test_the_readme_quotes_the_output(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    commands = re.findall(
        r"^fairbandits (sample log.parquet.*|audit log.parquet --tolerance.*)$", readme, re.MULTILINE
    )
    assert [main(command.split()) for command in commands] == [0, 1]
    printed = capsys.readouterr().out
    quoted = re.search(r"^> .*(?:\n> .*)*", readme[readme.index("fairbandits audit log.parquet") :], re.MULTILINE)
    assert " ".join(quoted[0].replace("> ", "").split()) in printed
    exposure, within_arm = re.search(
        r"exposure effect \(([\d.]+)\) and a within-arm effect \(([\d.]+)\)", " ".join(readme.split())
    ).groups()
    assert f"less rewarding arms, which accounts for {exposure} of the gap (" in printed
    assert f"less reward from the same arms, which accounts for {within_arm} of the gap (" in printed
