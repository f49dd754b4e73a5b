"""The command `recommend`: what it prints and writes, and its errors."""

import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from fairbandits import LinUCB, Recommender
from fairbandits.cli import main
from fairbandits.cluster import Checkpoint
from tests.recommendations.samples import N_ITEMS, N_USERS, write_files

GREEDY = ["recommend", "greedy.safetensors", "--users", "users.parquet"]


@pytest.fixture(autouse=True)
def tables(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path)


def test_recommend(capsys, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}
    assert main([*GREEDY, "-k", "3", "-o", "tonight.parquet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{N_USERS} users (ids: column user), 3 of {N_ITEMS} items each"
    table = [line.split() for line in lines if line.startswith(("sex", "age_band"))]
    assert [row[1] for row in table] == ["female", "male", "30", "50", "under", "unknown"]
    assert "users/s" in lines[-2]
    assert lines[-1].startswith("written: tonight.parquet, ")
    assert pq.read_metadata("tonight.parquet").num_rows == 3 * N_USERS
    assert {path.name for path in tmp_path.iterdir()} == {*before, "tonight.parquet"}


def test_items_and_a_cluster(capsys, tables):
    tables.items.iloc[:12].rename(index={"course 1": "new"}).to_parquet("items.parquet")
    options = ["--items", "items.parquet", "--user-id", "level"]
    assert main([*GREEDY, *options, "-o", "here.parquet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{N_USERS} users (ids: column level), 10 of 12 items each"
    assert lines[1] == "nothing has been learned about 1 of the items"
    assert main([*GREEDY, *options, "-o", "there.parquet", "--cluster", "local"]) == 0
    assert pq.read_table("here.parquet").equals(pq.read_table("there.parquet"))


def test_an_interrupted_run_resumes_or_starts_again(capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    store = Checkpoint.store
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "store", lambda *given: (store(*given), interrupt()))
        for _ in range(2):
            assert main(GREEDY) == 130
            assert "evaluate and recommend resume when run again" in capsys.readouterr().err
            assert main(GREEDY) == 0
            lines = capsys.readouterr().out.splitlines()
            assert lines[0] == "resuming after an interruption: 1 of 1 blocks are finished"
            assert not any("users/s" in line for line in lines)
        assert main(GREEDY) == 130
    assert main([*GREEDY, "-k", "4"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "k has changed since the interrupted run; starting from the beginning"


def test_a_table_without_users(capsys, tables):
    tables.users.iloc[:0].drop(columns="user").to_parquet("users.parquet")
    assert main(GREEDY) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "users.parquet: there are no users, so the output is empty"
    assert lines[1] == "0 users (ids: row numbers), 10 of 30 items each"
    assert pq.read_metadata("recommendations.parquet").num_rows == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.safetensors --users users.parquet", "none.safetensors: no such file"),
        ("users.parquet --users users.parquet", "users.parquet: not a policy file, or truncated or damaged"),
        (
            "alone.safetensors --users users.parquet",
            "alone.safetensors: contains a policy without items; pass a file",
        ),
        ("greedy.safetensors --users none.parquet", "none.parquet: there is no such file or folder"),
        ("greedy.safetensors --users items.parquet", "there is no column 'sex', the group of users"),
        ("greedy.safetensors --users users.parquet --user-id name", "there is no column 'name', the id of users"),
        (
            "greedy.safetensors --users users.parquet --items users.parquet",
            "the table must have a column of ids, named",
        ),
        ("greedy.safetensors --users users.parquet -k 31", "k must be at most the 30 arm(s) on offer, got 31"),
        ("greedy.safetensors --users users.parquet -o .", "out must be a file, got the folder ."),
        ("greedy.safetensors --users users.parquet --device cuda:99", "device must be available, got 'cuda:99'"),
        ("greedy.safetensors", "Missing option '--users'; try --help"),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(capsys, tmp_path, tables, arguments, message):
    Recommender(LinUCB(), tables.users, tables.items).policy.save("alone.safetensors")
    before = {path.name for path in tmp_path.iterdir()}
    assert main(["recommend", *arguments.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert {path.name for path in tmp_path.iterdir()} == before


def test_an_error_right_after_reading_a_csv_file_does_not_abort_the_process(tables):
    """Threads of Arrow may still be at work when the interpreter shuts down."""
    tables.users.drop(columns="level").to_csv("users.csv", index=False)
    command = [sys.executable, "-m", "fairbandits", *GREEDY[:-1], "users.csv"]
    for _ in range(4):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 2, ended.stderr
        (line,) = ended.stderr.splitlines()
        assert line.startswith("error: users.csv: there is no column 'level'")
