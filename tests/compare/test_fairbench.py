"""FairBench from end to end, with few rounds; and its suite."""

import json

import pytest

from fairbandits.cli import main
from fairbandits.compare import suite
from fairbandits.compare.fairbench import MIN_ROUNDS, fairbench
from fairbandits.compare.leaderboard import leaderboard_section
from fairbandits.compare.policy_specs import DEFAULT, POLICIES
from fairbandits.compare.rank_figure import draw_ranks
from fairbandits.compare.ranking import Ranking
from fairbandits.compare.suite_worlds import as_worlds

TITLES = ("LinUCB", "FairLinUCB(gamma=3)", DEFAULT, "Uniform")


@pytest.fixture(scope="module", autouse=True)
def small():
    """Make quick runs even shorter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "_QUICK", 50)
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    worlds = {**as_worlds(["3:7", "delayed", "compas"])}
    return fairbench(
        tmp_path_factory.mktemp("fairbench"), worlds=worlds, policies=TITLES, seeds=2, data="stand-in", quick=True
    )


def test_the_suite_is_large_enough():
    worlds = as_worlds(["fairbench"])
    # Warfarin has no download.
    assert len(set(worlds) - {"warfarin"}) >= 24
    assert len(as_worlds(["real"])) >= 6
    assert not set(as_worlds(["long"])) & set(worlds)
    assert all(world.needs for world in as_worlds(["real"]).values())
    assert DEFAULT in POLICIES


def test_everything_is_measured_on_the_last_fifth(results):
    content = json.loads((results.folder / "results.json").read_text())
    assert {world["measured"] for world in content["worlds"].values()} == {"the last fifth"}
    assert MIN_ROUNDS == 400
    assert content["settings"]["min_rounds"] is None  # quick runs have too few rounds


def test_the_json_can_be_cited(results):
    content = json.loads((results.folder / "results.json").read_text())
    assert {"fairbandits", "python", "numpy"} <= content["versions"].keys()
    assert len(content["code"]) == 64
    assert content["data"]["sha256"]
    assert content["settings"]["seeds"] == 2
    assert content["settings"]["policies"] == list(TITLES)
    headline = content["rankings"][0]
    assert headline["measure"] == "worst_off_reward"
    assert set(headline["average_ranks"]) == set(TITLES)
    assert headline["caveats"]
    outcomes = content["outcomes"]["Uniform"]["reward"]
    assert sum(len(worlds) for worlds in outcomes.values()) == 3
    assert content["promises"]["policy"] == DEFAULT
    assert content["promises"]["worlds"].keys() == content["worlds"].keys()
    policy = content["worlds"]["compas"]["policies"]["Uniform"]
    low, high = policy["reward"]["ci95"]
    assert low <= policy["reward"]["mean"] <= high
    assert len(policy["per_seed"]["reward"]) == 2


def test_the_report_has_the_leaderboard_and_the_promises(results):
    text = (results.folder / "report.html").read_text()
    for part in (
        "FairBench",
        f"Promises of {DEFAULT}",
        "Leaderboard",
        "Friedman test",
        "rough approximation",
        "variants of one another",
    ):
        assert part in text
    assert (results.folder / "figures" / "ranks.png").is_file()


def test_seeds_and_versions_give_the_same_files(results, tmp_path):
    again = fairbench(
        tmp_path,
        worlds=["3:7", "delayed", "compas"],
        policies=TITLES,
        seeds=2,
        jobs=2,
        data="stand-in",
        quick=True,
    )
    for name in ("results.json", "report.html"):
        assert (again.folder / name).read_bytes() == (results.folder / name).read_bytes()


def test_the_fairbench_command(tmp_path, capsys):
    only = ["--worlds", "3:7", "--policies", "LinUCB,Uniform", "--seeds", "1", "--data", "stand-in", "--jobs", "1"]
    assert main(["fairbench", "--quick", *only, "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "average rank" in output
    assert "report.html" in output
    assert "promises" not in json.loads((tmp_path / "results.json").read_text())


def test_worlds_without_an_outcome_do_not_hide_the_others():
    rankings = [Ranking("worst_off_reward", {}, None, {}, ())]
    some = {"win": ["a"], "tie": [], "loss": ["b"], "unknown": ["c"]}
    none = {"win": [], "tie": [], "loss": [], "unknown": ["c"]}
    outcomes = {"Uniform": {"worst_off_reward": some, "reward_gap": none}}
    text = leaderboard_section(rankings, outcomes, {}, ["Uniform"])
    assert '<span title="losses: b">1 / 0 / 1</span>' in text
    assert text.count("needs two seeds") == 1


def test_ranks_can_be_drawn_if_no_policy_is_ranked():
    assert draw_ranks([Ranking("worst_off_reward", {}, None, {}, ())], ["Uniform"]).axes[0].get_xlim() == (
        0.5,
        1.5,
    )
