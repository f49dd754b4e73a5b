"""Policies that cannot run in a world, and worlds whose data cannot be had."""

import json

import pytest

from fairbandits import CounterfactualLinUCB, LinUCB, NaiveLinUCB
from fairbandits.cli import main
from fairbandits.compare import tables
from fairbandits.compare.comparison import compare
from fairbandits.compare.suite import SuiteWorld
from fairbandits.simulate.offered_params import params_from_world
from fairbandits.worlds import Compas, DataMissingError, LinearWorld, ModifiedWorld, StudentsAndVideos

SMALL = SuiteWorld("Small.", {"train": 30, "test": 20, "male_videos": 3, "female_videos": 7, "data": "stand-in"})


class Gone(LinearWorld):
    """A world whose data cannot be had."""

    def __post_init__(self):
        raise DataMissingError("the file is not there")


def test_a_policy_that_needs_what_a_world_does_not_offer_is_not_applicable(tmp_path):
    worlds = {"students": SMALL, "linear": LinearWorld(rounds=40)}
    results = compare(tmp_path, worlds=worlds, policies=["LinUCB", "CounterfactualLinUCB"], seeds=2)
    assert "CounterfactualLinUCB" in results.worlds["students"].policies
    assert list(results.worlds["linear"].policies) == ["LinUCB"]
    reason = "CounterfactualLinUCB needs swap or flip, which this world does not offer"
    assert results.worlds["linear"].not_applicable == {"CounterfactualLinUCB": reason}
    content = json.loads((tmp_path / "results.json").read_text())
    assert content["worlds"]["linear"]["not_applicable"] == {"CounterfactualLinUCB": reason}
    assert f"Not applicable here: CounterfactualLinUCB ({reason})." in (tmp_path / "report.html").read_text()
    assert "| CounterfactualLinUCB | not applicable" in tables.to_markdown(results.worlds, "")
    assert "not applicable" in results._repr_html_()
    # It has no rank, because it does not run everywhere.
    assert list(content["rankings"][0]["average_ranks"]) == ["LinUCB"]


def test_a_policy_that_runs_nowhere_raises_its_error(tmp_path):
    with pytest.raises(ValueError, match="NaiveLinUCB needs drop, which this world does not offer"):
        compare(tmp_path, worlds=[LinearWorld], policies=["LinUCB", "NaiveLinUCB"], seeds=1)


def test_a_world_in_which_no_policy_can_run_is_skipped(tmp_path):
    worlds = {"linear": LinearWorld(rounds=40), "students": SMALL}
    results = compare(tmp_path, worlds=worlds, policies=["CounterfactualLinUCB"], seeds=1)
    reason = "CounterfactualLinUCB needs swap or flip, which this world does not offer"
    assert results.skipped == {"linear": f"no policy is applicable: CounterfactualLinUCB ({reason})"}
    assert list(results.worlds) == ["students"]
    assert "STAND-IN" in results.data_source
    assert "synthetic data: LinearWorld" not in results.data_source
    assert json.loads((tmp_path / "results.json").read_text())["skipped"] == results.skipped
    report = (tmp_path / "report.html").read_text()
    assert "Worlds that were skipped" in report
    assert reason in report
    with pytest.raises(ValueError, match=reason):
        compare(tmp_path, worlds={"linear": LinearWorld(rounds=40)}, policies=["CounterfactualLinUCB"], seeds=1)


def test_a_world_without_its_data_is_skipped(tmp_path):
    worlds = {"gone": SuiteWorld("Gone.", world=Gone, needs="the lost data"), "linear": LinearWorld(rounds=40)}
    results = compare(tmp_path, worlds=worlds, policies=["LinUCB"], seeds=1)
    assert results.skipped == {"gone": "the lost data: the file is not there"}
    assert list(results.worlds) == ["linear"]
    assert "gone: the lost data: the file is not there" in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "results.json").read_text())["skipped"] == results.skipped
    with pytest.raises(DataMissingError, match="the file is not there"):
        compare(tmp_path, worlds={"gone": Gone}, policies=["LinUCB"], seeds=1)


def test_the_command_names_what_is_skipped(tmp_path, capsys):
    here = f"{__name__}:Gone"
    only = [
        "--policies",
        "LinUCB,CounterfactualLinUCB(flip=[0])",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    assert main(["compare", "--worlds", f"{here},LinearWorld(rounds=20)", *only]) == 0
    assert f"skipped: {here} (the file is not there)" in capsys.readouterr().out


def test_worlds_offer_parameters_by_name():
    offered = params_from_world(CounterfactualLinUCB, StudentsAndVideos)
    assert offered.keys() == {"swap", "flip", "columns"}
    assert params_from_world(NaiveLinUCB, LinearWorld(rounds=5)) == {}
    assert params_from_world(LinUCB, StudentsAndVideos) == {}


def test_worlds_of_tables_offer_their_sensitive_columns(tmp_path):
    by_sex, by_race = (Compas(group=group, rounds=60, data="stand-in") for group in ("sex", "race"))
    assert params_from_world(CounterfactualLinUCB, by_sex)["swap"] == (("sex=female", "sex=male"),)
    modified = ModifiedWorld(by_sex, delay=5)
    assert params_from_world(NaiveLinUCB, modified) == params_from_world(NaiveLinUCB, by_sex)
    policies = ["LinUCB", "NaiveLinUCB", "CounterfactualLinUCB"]
    results = compare(tmp_path, worlds={"sex": modified, "race": by_race}, policies=policies, seeds=1)
    assert list(results.worlds["sex"].policies) == policies
    # Four races have no single counterfactual twin.
    assert list(results.worlds["race"].not_applicable) == ["CounterfactualLinUCB"]
