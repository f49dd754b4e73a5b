"""The command: output, files, and error messages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairbandits
from fairbandits import registry
from fairbandits.cli import main
from fairbandits.extras import install_hint
from fairbandits.paper import reproduction
from fairbandits.paper.experiments import RunLength
from fairbandits.worlds.datasets import loading

SOURCE = os.environ.get(loading.VARIABLE) or "stand-in"


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Give every test an empty cache, no network, and its own working directory."""

    def fetch(name):
        raise loading.DataMissingError(f"{name} could not be downloaded:\n- no network")

    monkeypatch.setattr("fairbandits.worlds.fetch_dataset", fetch)
    monkeypatch.setattr(loading, "fetch_dataset", fetch)
    monkeypatch.setattr(loading, "_failed_downloads", {})
    monkeypatch.setattr(loading, "_cache_folder", lambda: tmp_path / "cache")
    monkeypatch.chdir(tmp_path)


def refused(capsys, *arguments):
    """Run a command that is refused, and return its error line."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("error: ")
    return line


def test_reproduce(capsys, monkeypatch):
    monkeypatch.setattr(reproduction, "QUICK_LENGTH", RunLength(train=20, test=20))
    arguments = ["--quick", "--jobs", "1", "--only", "reward_r2,theory", "--data", SOURCE]
    assert main(["reproduce", *arguments]) == 0
    output = capsys.readouterr().out
    results = json.loads(Path("results/results.json").read_text())
    assert output.splitlines()[0] == results["data"]["source"]
    assert "0.037" in output
    assert "do not compare the numbers" in output
    assert "Theorem 1" in output
    assert max(map(len, output.splitlines())) <= 100
    assert results["settings"]["seeds"] == 3
    assert list(results["tables"]) == ["reward_r2"]
    assert Path("results/report.html").is_file()


def test_simulate_both_attributes_more_arms_more_rounds(capsys):
    arguments = [
        "--sensitive",
        "sex,race",
        "--rounds",
        "200",
        "--arms",
        "150",
        "--set",
        "gamma=2",
        "--data",
        SOURCE,
    ]
    assert main(["simulate", *arguments, "--out", "here"]) == 0
    output = capsys.readouterr().out
    first, second = output.splitlines()[:2]
    assert "data: " in first
    assert second == "FairLinUCB, gamma=2 in StudentsAndVideos, seed 0, 200 rounds"
    assert "reward_gap_race" in output
    for attribute in ("sex", "race"):
        for ending in ("png", "pdf"):
            assert Path(f"here/simulate_FairLinUCB_{attribute}.{ending}").is_file()


@pytest.mark.parametrize(
    "policy",
    [
        "CounterfactualLinUCB",
        "EpsilonGreedy",
        "EqualRegretLinUCB",
        "FairLinUCB",
        "LinTS",
        "LinUCB",
        "MaxMinLinUCB",
        "NaiveLinUCB",
        "PrimalDualLinUCB",
        "Uniform",
    ],
)
@pytest.mark.parametrize("world", ["StudentsAndVideos", "LinearWorld"])
def test_simulate_any_policy_on_any_world(capsys, policy, world):
    arguments = ["--policy", policy, "--world", world, "--rounds", "30", "--arms", "10", "--data", SOURCE]
    assert main(["simulate", *arguments]) == 0
    assert "utility_loss" in capsys.readouterr().out


def test_simulate_race_alone_and_parameters_of_the_world(capsys):
    options = ["--sensitive", "race", "--with", "reward=r2", "--with", "noise=0.1"]
    assert main(["simulate", *options, "--rounds", "100", "--data", SOURCE]) == 0
    assert "cmr_White" in capsys.readouterr().out


def test_simulate_a_custom_policy(capsys, tmp_path):
    (tmp_path / "my_policies.py").write_text(
        "from fairbandits import Policy\n"
        "class Greedy(Policy):\n"
        "    def terms(self, seen):\n"
        "        return 0.0, 0.0\n"
        "number = 3\n"
    )
    arguments = ["--policy", "my_policies:Greedy", "--world", "LinearWorld", "--rounds", "20"]
    assert main(["simulate", *arguments]) == 0
    assert "Greedy in LinearWorld, seed 0, 20 rounds" in capsys.readouterr().out
    assert "policy must be a class" in refused(capsys, "simulate", "--policy", "my_policies:number")
    assert "policy must be a subclass of fairbandits.Policy" in refused(
        capsys, "simulate", "--policy", "pathlib:Path"
    )


def test_the_same_seed_prints_the_same_output(capsys):
    arguments = ["simulate", "--world", "LinearWorld", "--rounds", "50", "--seed"]
    outputs = []
    for seed in ("7", "7", "8"):
        assert main([*arguments, seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["simulate", "--nothing", "1"], "No such option"),
        (["simulate", "--rounds", "many"], "'--rounds'"),
        (["simulate", "--rounds", "0"], "rounds must be an integer of at least 1, got 0"),
        (["simulate", "--arms", "-5"], "arms must be an integer of at least 1, got -5"),
        (["simulate", "--seed", "-1"], "seed must be an integer of at least 0, got -1"),
        (["simulate", "--policy", "Best"], "policy must be one of DUCB, FUCB, "),
        (["simulate", "--policy", "Best"], ", or module:Class, got 'Best'"),
        (["simulate", "--policy", "nowhere:Best"], "policy 'nowhere:Best' cannot be imported"),
        (["simulate", "--world", "Mars"], "world must be one of AdultIncome, Compas, "),
        (["simulate", "--world", "Mars"], ", or module:Class, got 'Mars'"),
        (
            ["simulate", "--set", "gamma"],
            "a parameter must be written as name=value, for example gamma=3, got 'gamma'",
        ),
        (["simulate", "--set", "delicacy=1"], "delicacy"),
        (["simulate", "--set", "random_state=1"], "random_state is derived from the seed"),
        (["simulate", "--set", "gamma=-1"], "gamma must be a number of at least 0"),
        (["simulate", "--with", "size=1"], "StudentsAndVideos has no parameter 'size'"),
        (["simulate", "--sensitive", "age"], "sensitive must be one of 'sex', 'race', got 'age'"),
        (["simulate", "--world", "LinearWorld", "--sensitive", "sex"], "LinearWorld has no parameter 'sensitive'"),
        (
            ["simulate", "--data", "nowhere"],
            "data must be 'auto', 'local', 'real', 'stand-in' or an existing folder, got 'nowhere'",
        ),
        (["reproduce", "--seeds", "0"], "seeds must be an integer of at least 1, got 0"),
        (["reproduce", "--only", "table_9"], "experiments must be among table_comparison"),
        (
            ["reproduce", "--jobs", "0", "--data", "stand-in", "--quick"],
            "jobs must be an integer of at least 1, or -1 for one per core, got 0",
        ),
        (["data", "--data", "nowhere"], "--data must be an existing folder, got nowhere"),
    ],
)
def test_errors_are_printed_in_one_line(capsys, arguments, message):
    assert message in refused(capsys, *arguments)


def test_an_output_folder_that_is_a_file_is_refused(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in refused(capsys, "reproduce", "--quick", "--data", "stand-in", "--out", "file")


def test_without_arguments_the_help_is_printed(capsys):
    assert main([]) == 0
    output = capsys.readouterr().out
    for command in ("reproduce", "simulate", "data"):
        assert command in output


def test_data_lists_missing_datasets_and_fetches_them(capsys, monkeypatch):
    monkeypatch.delenv(loading.VARIABLE, raising=False)
    assert main(["data"]) == 0
    output = capsys.readouterr().out
    assert output.count(": missing") == 8
    assert "fairbandits data --fetch" in output
    assert "could not be downloaded: - no network" in refused(capsys, "data", "--fetch")


def test_one_failed_download_does_not_stop_the_others(capsys, monkeypatch):
    monkeypatch.delenv(loading.VARIABLE, raising=False)
    attempts = []

    def fetch(name):
        attempts.append(name)
        if name == "adult":
            raise loading.DataMissingError("adult could not be downloaded:\n- no network")
        return Path(name)

    monkeypatch.setattr("fairbandits.worlds.fetch_dataset", fetch)
    assert main(["data", "--fetch"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "error: adult could not be downloaded: - no network\n"
    assert captured.out.count("downloaded: ") == len(attempts) - 1 == 6  # no download for warfarin
    assert "there is no download: get data/warfarin.csv" in captured.out


def test_data_reports_a_damaged_file(capsys, tmp_path):
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.data").write_text("39, State-gov\n")
    assert "must be the published file of UCI Adult" in refused(capsys, "data", "--data", str(tmp_path))


@pytest.mark.skipif(SOURCE == "stand-in", reason=f"{loading.VARIABLE} is not set")
def test_data_verifies_the_real_files(capsys):
    assert main(["data", "--data", SOURCE]) == 0
    assert capsys.readouterr().out.count("sha256 as published") >= 2


@pytest.mark.parametrize("step", ["reproduce.reproduce_paper", "app.import_module"])
def test_an_interrupt_prints_one_line(capsys, monkeypatch, step):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"fairbandits.cli.{step}", interrupt)
    assert main(["reproduce"]) == 130
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("error: interrupted")


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from fairbandits.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"error: the command needs {missing}; {install_hint('cli,plot')}\n"


@pytest.mark.parametrize("command", ["simulate", "reproduce"])
def test_missing_matplotlib_is_reported_before_anything_runs(capsys, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("fairbandits.simulate.runs.simulate", None)
    assert "figures need matplotlib" in refused(capsys, command, "--data", "stand-in")


def test_the_package_can_be_run_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "fairbandits", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "reproduce" in done.stdout


def test_a_command_does_not_import_the_others():
    code = "import sys; from fairbandits.cli import main; main(['data', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fairbandits.cli.data" in done.stdout
    assert "fairbandits.ope" not in done.stdout


def test_sizes_keep_the_proportions_of_the_paper():
    run = registry.make_run("LinUCB", "StudentsAndVideos", rounds=50_000, arms=500)
    assert run.world_params == {"train": 30_000, "test": 20_000, "male_videos": 150, "female_videos": 350}
    assert registry.make_run("LinUCB", "LinearWorld", rounds=9, arms=3).world_params == {"rounds": 9, "n_arms": 3}


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fairbandits {fairbandits.__version__}\n"


def test_a_parameter_given_twice_is_refused(capsys):
    assert "sensitive must be given only once" in refused(
        capsys, "simulate", "--sensitive", "sex", "--with", "sensitive=race"
    )
    assert "train must be given only once" in refused(capsys, "simulate", "--rounds", "50", "--with", "train=10")


def test_data_can_be_given_as_a_parameter_of_the_world(capsys):
    assert main(["simulate", "--rounds", "20", "--with", "data=stand-in", "--data", "real"]) == 0
    assert capsys.readouterr().out.startswith("STAND-IN data")


def test_the_output_folder_is_checked_first(capsys, tmp_path):
    (tmp_path / "taken").write_text("")
    for command in ("simulate", "reproduce"):
        assert "--out must be a folder" in refused(capsys, command, "--out", str(tmp_path / "taken"))


def test_a_custom_world_without_random_state_or_groups(capsys, tmp_path):
    (tmp_path / "my_worlds.py").write_text(
        "import numpy as np\n"
        "from fairbandits.worlds import Visit\n"
        "class Plain:\n"
        "    def __len__(self):\n"
        "        return 10\n"
        "    def visits(self):\n"
        "        for _ in range(10):\n"
        "            yield Visit(np.eye(2), None, np.array([0.2, 0.4]), np.array([0.2, 0.4]))\n"
    )
    assert main(["simulate", "--policy", "LinUCB", "--world", "my_worlds:Plain"]) == 0
    assert "nothing to draw" in capsys.readouterr().out
    assert "it has none" in refused(capsys, "simulate", "--world", "my_worlds:Plain", "--rounds", "5")


def test_an_invalid_module_name_is_refused(capsys):
    assert "cannot be imported" in refused(capsys, "simulate", "--policy", "..x:Y")
