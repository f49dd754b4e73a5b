"""The commands `sample` and `fit`: what they print and write, and their errors."""

import io
import subprocess
import sys

import pandas as pd
import pytest
import sqlalchemy

from fairbandits import FairLinUCB, Policy
from fairbandits.cli import main
from fairbandits.extras import install_hint


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def error_of(capsys, *arguments):
    """Run an invalid command; return its one-line error."""
    assert main(list(arguments)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


def test_sample_and_fit(capsys, tmp_path):
    assert main(["sample", "log.parquet", "--rows", "3000", "--catalogue", "arms.csv"]) == 0
    assert "written: log.parquet, 3,000 decisions" in capsys.readouterr().out
    options = ["--policy", "FairLinUCB(gamma=2, model=shared)", "--catalogue", "arms.csv", "-o", "p.safetensors"]
    assert main(["fit", "log.parquet", *options]) == 0
    printed = capsys.readouterr().out
    assert "decisions learned" in printed
    assert "skipped (no reward)" in printed
    assert "rows/s" in printed
    assert "sex female: mean" in printed
    policy = Policy.load("p.safetensors")
    assert isinstance(policy, FairLinUCB)
    assert policy.gamma == 2
    assert policy.n_features_in_ == 14
    assert {path.name for path in tmp_path.iterdir()} == {"log.parquet", "arms.csv", "p.safetensors"}


def test_guesses_are_printed_and_can_be_disabled(capsys):
    assert main(["sample", "log.csv", "--rows", "50"]) == 0
    assert main(["fit", "log.csv", "--group", "race"]) == 0
    first = capsys.readouterr().out.splitlines()[1]
    assert first.startswith("guessed by name: arm=arm, reward=reward, propensity=propensity, time=time, ")
    assert "groups=" not in first
    assert first.endswith("(override with --arm, --group, ...; disable with --no-guess)")
    message = error_of(capsys, "fit", "log.csv", "--no-guess", "--arm", "arm")
    assert "log.csv: no reward column is given; set reward=... (--reward)" in message
    assert main(["fit", "log.csv", "--no-guess", "--arm", "arm", "--reward", "reward"]) == 0
    assert "guessed" not in capsys.readouterr().out


def test_roles_from_a_file_and_from_options(capsys, tmp_path):
    frame = pd.DataFrame({"shown": ["a", "b"], "liked": [1, 0], "sex": ["f", "m"], "city": ["x", "y"]})
    frame.to_csv("log.csv", index=False)
    (tmp_path / "roles.toml").write_text('arm = "shown"\nreward = "liked"\ngroups = ["sex", "city"]\n')
    assert main(["fit", "log.csv", "--roles", "roles.toml"]) == 0
    assert Policy.load("policy.safetensors").metadata["roles"]["groups"] == ["sex", "city"]
    flags = ["--roles", "roles.toml", "--group", "city", "--context", "sex,city"]
    assert main(["fit", "log.csv", *flags]) == 0
    metadata = Policy.load("policy.safetensors").metadata
    assert metadata["roles"] == {
        "arm": "shown",
        "reward": "liked",
        "groups": ["city"],
        "contexts": ["sex", "city"],
    }


def learned(capsys):
    """Return the number of decisions that the last command has learned."""
    [line] = [line for line in capsys.readouterr().out.splitlines() if "decisions learned" in line]
    return line


def test_several_files_patterns_and_the_standard_input(capsys, monkeypatch, tmp_path):
    header, rows = "arm,reward,sex\n", ["a,1,f\n", "b,0,m\n", "a,NA,?\n"]
    for number, row in enumerate(rows):
        (tmp_path / f"{number}.csv").write_text(header + row)
    na = ["--na", "NA,?"]
    for log in (["0.csv", "1.csv", "2.csv"], ["?.csv"], ["."]):
        assert main(["fit", *log, *na]) == 0
        assert ": 2 decisions learned, 1 skipped" in learned(capsys)
    content = (header + "".join(rows)).replace(",", "\t").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["fit", "-", "--format", "tsv", *na]) == 0
    assert learned(capsys) == "standard input: 2 decisions learned, 1 skipped (no reward)"
    assert "value must be a number, got 'NA'" in error_of(capsys, "fit", "0.csv", "1.csv", "2.csv")


def test_databases(capsys, tmp_path):
    frame = pd.DataFrame({"arm": ["a", "b"], "reward": [1, 0], "sex": ["f", "m"]})
    frame.to_sql("decisions", sqlalchemy.create_engine("sqlite:///log.db"), index=False)
    assert main(["fit", "sqlite:///log.db", "--query", "SELECT * FROM decisions WHERE sex = 'f'"]) == 0
    assert learned(capsys) == "sqlite:///log.db: 1 decisions learned, 0 skipped (no reward)"
    assert "a database needs query=... (--query)" in error_of(capsys, "fit", "sqlite:///log.db")


def test_duplicates_are_counted_and_dropped(capsys, tmp_path):
    (tmp_path / "log.csv").write_text("id,arm,reward\n7,a,1\n7,a,1\n7,b,0\n")
    for options, learns, what in (
        ([], 3, "kept; --duplicates drop skips them"),
        (["--duplicates", "drop"], 2, "dropped"),
    ):
        assert main(["fit", "log.csv", *options]) == 0
        out = capsys.readouterr().out
        assert f"warning: 1 row repeats the decision and the arm of an earlier row ({what})" in out
        assert f"log.csv: {learns} decisions learned" in out
    assert "drop" in error_of(capsys, "fit", "log.csv", "--duplicates", "some")


@pytest.mark.parametrize(("lines", "tolerance"), [(0, "0.001"), (1, "1")])
def test_a_closed_pipe_does_not_change_the_status(capsys, lines, tolerance):
    assert main(["sample", "log.csv", "--rows", "3000"]) == 0
    arguments = ["audit", "log.csv", "--tolerance", tolerance]
    capsys.readouterr()
    status = main(arguments)
    assert capsys.readouterr().out.startswith("guessed by name: ")
    command = [sys.executable, "-m", "fairbandits", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as piped:
        for _ in range(lines):
            assert piped.stdout.readline()
        piped.stdout.close()
        assert piped.stderr.read() == ""
    assert piped.returncode == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "s3://bucket/log.csv"], "copy it first: aws s3 cp s3://bucket/log.csv ."),
        (["fit", "log.csv", "--query", "t"], "query must be given only for a database"),
        (["fit", "log.csv", "--format", "xls"], "format must be a suffix such as csv, tsv"),
        (["fit", "log.csv", "log.csv"], "file is given more than once"),
        (["fit", "log.csv", "--duplicates", "drop"], "finding duplicates requires a decision column"),
        (["fit", "none.csv"], "none.csv: there is no such file or folder"),
        (["fit", "log.csv", "--reward", "rewrad"], "there is no column 'rewrad'; did you mean 'reward'?"),
        (["fit", "log.csv", "-o", "."], "--out must be a file, got the folder ."),
        (["fit", "log.csv", "--policy", "Best"], "or module:Class, got 'Best'"),
        (["fit", "log.csv", "--policy", "LinUCB(alpha=-1)"], "alpha must be"),
        (["fit", "log.csv", "--out", "none/p"], "--out must be in an existing folder, got none/p"),
        (["fit", "log.csv", "--catalogue", "none.csv"], "none.csv: there is no such file or folder"),
        (["fit", "log.csv", "--roles", "none.toml"], "none.toml: cannot be read"),
        (["fit", "log.csv", "--cluster", "nowhere"], "cluster must be 'local' or the address of a running Dask"),
        (
            ["fit", "bad.csv"],
            "bad.csv, column 'reward', row 2: value must be a number, got 'good'; ",
        ),
        (["sample", "log.txt"], "a log must be a .csv or .parquet file, got '.txt'"),
        (["sample", "log.csv", "--rows", "0"], "rows must be an integer of at least 1, got 0"),
        (["compare", "--jobs", "2", "--cluster", "local"], "--jobs must not be given with --cluster"),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.setattr("fairbandits.cluster.connection._TIMEOUT", 0.5)
    (tmp_path / "log.csv").write_text("arm,reward,sex\na,1,f\n")
    (tmp_path / "bad.csv").write_text("arm,reward,sex\na,1,f\na,good,f\n")
    assert message in error_of(capsys, *arguments)
    files = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert files == {"log.csv", "bad.csv"}


@pytest.mark.parametrize("missing", ["pyarrow", "narwhals"])
def test_missing_dependencies_name_the_extra_to_install(capsys, monkeypatch, tmp_path, missing):
    (tmp_path / "log.csv").write_text("arm,reward,sex\na,1,f\n")
    monkeypatch.setitem(sys.modules, missing, None)
    expected = f"error: logs need {missing}; {install_hint('logs')}"
    assert error_of(capsys, "fit", "log.csv") == expected
    assert error_of(capsys, "sample", "new.csv") == expected
