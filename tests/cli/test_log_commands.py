"""The commands that read and write logs: what they print, what they write, how they refuse."""

import sys

import pandas as pd
import pytest

from fairbandits import FairLinUCB, Policy
from fairbandits.cli import main


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def refused(capsys, *arguments):
    """Run a command that is refused, and give its one line."""
    assert main(list(arguments)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


def test_sample_and_fit(capsys, tmp_path):
    assert main(["sample", "log.parquet", "--rows", "3000", "--catalogue", "arms.csv"]) == 0
    assert "written: log.parquet, 3,000 decisions" in capsys.readouterr().out
    options = ["--policy", "FairLinUCB(gamma=2, model=shared)", "--catalogue", "arms.csv", "-o", "p.safetensors"]
    assert main(["fit", "log.parquet", *options]) == 0
    said = capsys.readouterr().out
    assert "decisions learned" in said
    assert "skipped for they have no reward" in said
    assert "rows/s" in said
    assert "sex female: mean" in said
    policy = Policy.load("p.safetensors")
    assert isinstance(policy, FairLinUCB)
    assert policy.gamma == 2
    assert policy.n_features_in_ == 13
    assert {path.name for path in tmp_path.iterdir()} == {"log.parquet", "arms.csv", "p.safetensors"}


def test_guesses_are_shown_and_can_be_refused(capsys):
    assert main(["sample", "log.csv", "--rows", "50"]) == 0
    assert main(["fit", "log.csv", "--group", "race"]) == 0
    first = capsys.readouterr().out.splitlines()[1]
    assert first.startswith("guessed by name: arm=arm, reward=reward, propensity=propensity, time=time, ")
    assert "groups=" not in first
    assert first.endswith("(name others with --arm, --group, ...; refuse with --no-guess)")
    message = refused(capsys, "fit", "log.csv", "--no-guess", "--arm", "arm")
    assert "log.csv: which column is the reward? None is given; name it: reward=... (--reward)" in message
    assert main(["fit", "log.csv", "--no-guess", "--arm", "arm", "--reward", "reward"]) == 0
    assert "guessed" not in capsys.readouterr().out


def test_roles_from_a_file_and_by_flags(capsys, tmp_path):
    frame = pd.DataFrame({"shown": ["a", "b"], "liked": [1, 0], "sex": ["f", "m"], "city": ["x", "y"]})
    frame.to_csv("log.csv", index=False)
    (tmp_path / "roles.toml").write_text('arm = "shown"\nreward = "liked"\ngroups = ["sex", "city"]\n')
    assert main(["fit", "log.csv", "--roles", "roles.toml"]) == 0
    assert Policy.load("policy.safetensors").metadata["roles"]["groups"] == ["sex", "city"]
    flags = ["--roles", "roles.toml", "--group", "city", "--context", "sex,city"]
    assert main(["fit", "log.csv", *flags]) == 0
    notes = Policy.load("policy.safetensors").metadata
    assert notes["roles"] == {"arm": "shown", "reward": "liked", "groups": ["city"], "contexts": ["sex", "city"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "none.csv"], "none.csv: there is no such file or folder"),
        (["fit", "log.csv", "--reward", "rewrad"], "there is no column 'rewrad'; did you mean 'reward'?"),
        (["fit", "log.csv", "-o", "."], "--out .: it is a folder; name a file in it"),
        (["fit", "log.csv", "--policy", "Best"], ", or module:Class, got 'Best'"),
        (["fit", "log.csv", "--policy", "LinUCB(alpha=-1)"], "alpha must be"),
        (["fit", "log.csv", "--out", "none/p"], "--out none/p: its folder does not exist; make it first"),
        (["fit", "log.csv", "--catalogue", "none.csv"], "none.csv: there is no such file or folder"),
        (["fit", "log.csv", "--roles", "none.toml"], "none.toml: cannot be read"),
        (["fit", "log.csv", "--cluster", "nowhere"], "cluster must be 'local' or the address of a running Dask"),
        (["fit", "bad.csv"], "bad.csv, column 'reward', row 2: 'good' came; expected a number; leave it empty"),
        (["sample", "log.txt"], "a log is written to a .csv or .parquet file; got '.txt'"),
        (["sample", "log.csv", "--rows", "0"], "rows must be an integer of at least 1, got 0"),
        (
            ["compare", "--jobs", "2", "--cluster", "local"],
            "--jobs must not be given with --cluster, which uses all of its workers, got --jobs 2",
        ),
    ],
)
def test_refused_in_one_line_and_nothing_is_written(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.setattr("fairbandits.cluster._TIMEOUT", 0.5)
    (tmp_path / "log.csv").write_text("arm,reward,sex\na,1,f\n")
    (tmp_path / "bad.csv").write_text("arm,reward,sex\na,1,f\na,good,f\n")
    assert message in refused(capsys, *arguments)
    made = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert made == {"log.csv", "bad.csv"}


@pytest.mark.parametrize("missing", ["pyarrow", "narwhals"])
def test_without_the_extra_it_says_what_to_install(capsys, monkeypatch, tmp_path, missing):
    (tmp_path / "log.csv").write_text("arm,reward,sex\na,1,f\n")
    monkeypatch.setitem(sys.modules, missing, None)
    expected = f"error: logs need {missing}, which is not installed: pip install 'fairbandits[logs]'"
    assert refused(capsys, "fit", "log.csv") == expected
    assert refused(capsys, "sample", "new.csv") == expected
