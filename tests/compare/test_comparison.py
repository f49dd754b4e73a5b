"""A small comparison from end to end: files, sentences, and bitwise identical results."""

import json
import os
import signal
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from fairbandits.compare import figures, sentences, suite, tables
from fairbandits.compare.comparison import compare
from fairbandits.compare.pareto import front_positions
from fairbandits.compare.policy_specs import DEFAULT, POLICIES, parse_policies
from fairbandits.compare.run_summary import WINDOWS, RunSummary
from fairbandits.compare.suite import LAST_FIFTH, TEST_PART
from fairbandits.compare.suite_worlds import WORLDS
from fairbandits.compare.summary import summarise_world
from fairbandits.registry import split_list
from fairbandits.worlds import StudentsAndVideos
from tests.polling import wait_for_first_run

TITLES = ("LinUCB", DEFAULT, "Uniform")
TINY = {"worlds": ["3:7", "scarce", "sex_x_race"], "policies": TITLES, "seeds": 2, "data": "stand-in"}


@pytest.fixture(scope="module", autouse=True)
def small():
    """Make quick runs even shorter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "_QUICK", 50)
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return compare(tmp_path_factory.mktemp("compare"), quick=True, **TINY)


def test_results_json_is_complete(results):
    content = json.loads((results.folder / "results.json").read_text())
    assert content["data"]["source"] == results.data_source
    assert content["settings"]["policies"] == list(TITLES)
    assert content["settings"]["default"] == DEFAULT
    assert list(content["worlds"]) == TINY["worlds"]
    scarce = content["worlds"]["scarce"]
    assert scarce["measured"] == "the last fifth"
    assert scarce["rounds_measured"] == 20
    assert set(scarce["groups"]) == {"female", "male"}
    for row in scarce["policies"].values():
        assert set(tables.METRIC_TITLES) <= set(row)
        assert {"regret_female", "reward_male"} <= set(row)
        assert row["front"] in ("on", "near", "off")
        error = row["reward"]["mean"] - (scarce["oracle"]["reward"] - row["below_oracle"]["mean"])
        assert error == pytest.approx(0, abs=1e-8)
    losses = [point["utility_loss"] for point in scarce["oracle"]["frontier"]]
    assert losses == sorted(losses, reverse=True)


def test_metrics_equal_those_computed_from_the_traces(results):
    from fairbandits.simulate import simulate_many

    params = WORLDS["scarce"].world_params(quick=True) | {"data": "stand-in"}
    runs = [parse_policies(["LinUCB"])[0].run(seed, StudentsAndVideos, params) for seed in range(2)]
    parts = [trace.last(20) for trace in simulate_many(runs)]
    metrics = results.worlds["scarce"].policies["LinUCB"].metrics
    assert metrics["utility_loss"][0] == pytest.approx(np.mean([part.best - part.expected for part in parts]))
    by_sex = [[part.expected[part.group["group"] == sex].mean() for sex in ("female", "male")] for part in parts]
    assert metrics["worst_off_reward"][0] == pytest.approx(np.mean([min(pair) for pair in by_sex]))
    assert metrics["reward_gap"][0] == pytest.approx(np.mean([abs(np.diff(pair)) for pair in by_sex]))


def test_tables_and_figures_are_written(results):
    lines = (results.folder / "compare.csv").read_text().splitlines()
    assert lines[0] == f"# {results.data_source}"
    assert any(line.startswith(f"scarce,{DEFAULT},utility_loss,") for line in lines)
    assert "## scarce" in (results.folder / "compare.md").read_text()
    names = {path.name for path in (results.folder / "figures").iterdir()}
    figures = ("world_3_7_6edab9e4", "world_scarce", "world_sex_x_race", "ranks")
    assert names == {f"{name}.{kind}" for name in figures for kind in ("png", "pdf")}


class Page(HTMLParser):
    """The text of a page, and the sources of its images."""

    def __init__(self):
        super().__init__()
        self.text, self.sources = [], []

    def handle_starttag(self, tag, attrs):
        self.sources += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_is_self_contained(results):
    page = Page()
    page.feed((results.folder / "report.html").read_text())
    text = " ".join(page.text)
    assert len(page.sources) == 4
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert f"{DEFAULT} is on the measured Pareto front" in text
    assert "A tolerance of 0.01 levels female down" in text
    assert "a tenth of the rounds" in text


def test_files_are_bitwise_identical_for_any_number_of_jobs(results, tmp_path):
    again = compare(tmp_path, quick=True, jobs=2, **TINY)
    for name in ("results.json", "compare.csv", "compare.md", "report.html"):
        assert (again.folder / name).read_bytes() == (results.folder / name).read_bytes()


def _command(out):
    return [
        *(sys.executable, "-m", "fairbandits", "compare", "--quick", "--seeds", "2", "--jobs", "2"),
        *("--worlds", "3:7", "--policies", ",".join(TITLES), "--out", str(out), "--data", "stand-in"),
    ]


@pytest.mark.slow
def test_a_killed_comparison_resumes_with_the_same_result(tmp_path):
    complete, resumed = tmp_path / "complete", tmp_path / "resumed"
    subprocess.run(_command(complete), check=True, capture_output=True)
    process = subprocess.Popen(_command(resumed), start_new_session=True, stdout=subprocess.DEVNULL)
    wait_for_first_run(process, resumed)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    cached = {path.name: path.stat().st_mtime_ns for path in (resumed / "cache").glob("*.npz")}
    subprocess.run(_command(resumed), check=True, capture_output=True)
    assert (resumed / "results.json").read_bytes() == (complete / "results.json").read_bytes()
    for name, modified in cached.items():
        assert (resumed / "cache" / name).stat().st_mtime_ns == modified


def test_figures_of_an_earlier_comparison_are_removed(tmp_path):
    only = {"policies": ["Uniform"], "seeds": 1, "data": "stand-in", "quick": True}
    compare(tmp_path, worlds=["3:7"], **only)
    results = compare(tmp_path, worlds=["r2"], **only)
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"world_r2"}
    # Without LinUCB there is no reference for the worst-off group.
    assert results.worlds["r2"].policies["Uniform"].worst_off_note == ""


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"worlds": ["mars"]}, "worlds must be some of 3:7, .*, got 'mars'"),
        ({"policies": ["Oracle"]}, "policy must be one of .*, or module:Class, got 'Oracle'"),
        ({"policies": ["FairLinUCB(gama=3)"]}, "FairLinUCB has no parameter 'gama'"),
        ({"policies": ["FairLinUCB(gamma=-3)"]}, "gamma"),
        (
            {"policies": ["FairLinUCB(gamma=3"]},
            r"must be written as Name\(parameter=value, .*, got 'FairLinUCB\(gamma=3': '\(' was never closed",
        ),
        ({"policies": ["LinUCB", "LinUCB"]}, "policies must differ, got LinUCB twice"),
        ({"policies": []}, "policies must contain at least one policy, got none"),
        ({"seeds": 0}, "seeds must be an integer of at least 1, got 0"),
        ({"tolerance": -0.1}, r"tolerance must be a number from 0 to 1, got -0\.1"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path, params, message):
    with pytest.raises(ValueError, match=message):
        compare(tmp_path, **{"data": "stand-in", "quick": True} | params)


def test_every_default_policy_can_be_constructed():
    assert [spec.title for spec in parse_policies(POLICIES)] == list(POLICIES)
    assert DEFAULT in POLICIES
    assert split_list('A(x=[1,2]),"B"') == ["A(x=[1,2])", '"B"']


def test_positions_relative_to_the_front():
    assert front_positions({"a": (0.1, 0.1), "b": (0.1, 0.1)}) == {"a": "on", "b": "on"}
    assert front_positions({"a": (0.1, 0.1), "b": (0.1, 0.1019), "c": (0.1021, 0.1)}) == {
        "a": "on",
        "b": "near",
        "c": "off",
    }


def subgroup_means(female, male, best=(0.9, 0.9), worst=(0.0, 0.0)):
    groups = ((("group", "female"),), (("group", "male"),))
    sums = (np.tile(50.0 * np.array(values), (WINDOWS, 1)) for values in ((1.0, 1.0), (female, male), best, worst))
    shown = {part: np.array([1000]) for part in (TEST_PART, LAST_FIFTH)}
    return [RunSummary("data", groups, *sums, shown=shown, arms=("a",))]


def test_the_worst_off_group_and_levelling_down():
    world = WORLDS["3:7"]
    summary = summarise_world(
        world,
        {"LinUCB": subgroup_means(0.8, 0.7), "level": subgroup_means(0.6, 0.6), "up": subgroup_means(0.75, 0.74)},
        0.01,
    )
    assert summary.policies["up"].worst_off_note == ""
    note = summary.policies["level"].worst_off_note
    assert "receives 0.600, 0.100 less than with LinUCB (0.700). The tolerance does not force this" in note
    best = (0.9, 0.5)
    scarce = summarise_world(
        world, {"LinUCB": subgroup_means(0.9, 0.5, best), "level": subgroup_means(0.5, 0.5, best)}, 0.01
    )
    assert scarce.oracle[("group", "female")] == pytest.approx(0.51)
    text = " ".join(sentences.describe_world(scarce, 0.01))
    assert "A tolerance of 0.01 levels female down, from 0.900 with LinUCB to 0.510 with the oracle." in text


def test_the_gap_of_the_best_arms_compares_with_that_of_a_policy_which_chooses_them():
    pairs = [(0.9, 0.5), (0.4, 0.8)]  # the other group is worse off in the other seed
    seeds = [subgroup_means(*pair, best=pair)[0] for pair in pairs]
    summary = summarise_world(WORLDS["3:7"], {"LinUCB": seeds}, 0.01)
    assert summary.best == pytest.approx({("group", "female"): 0.65, ("group", "male"): 0.65})
    assert summary.best_gap == pytest.approx(0.4)
    assert summary.policies["LinUCB"].metrics["reward_gap"][0] == pytest.approx(summary.best_gap)
    assert tables.to_dict(summary)["best_gap"] == pytest.approx(0.4)
    text = " ".join(sentences.describe_world(summary, 0.01))
    assert "If every user got the best arm, the reward gap would be 0.400." in text


def drawn_bars(ax):
    """Return the ends of all horizontal bars of a panel."""
    lines = [line for container in ax.containers for line in container.lines[2]]
    ends = [segment for line in lines for segment in line.get_segments()]
    return [(start[0], end[0]) for start, end in ends if start[1] == end[1]]


def test_figures_draw_the_confidence_intervals_of_the_tables():
    seeds = [subgroup_means(*means)[0] for means in ((0.8, 0.7), (0.82, 0.75), (0.79, 0.74))]
    summary = summarise_world(WORLDS["3:7"], {"LinUCB": seeds, "Uniform": seeds[::-1]}, 0.01)
    figure = figures.world_figure("3:7", summary, 0.01, "data", 3, ["LinUCB", "Uniform"])
    trade_off, worst_off, regret = figure.axes
    policy = summary.policies["LinUCB"]
    assert "95% confidence intervals over 3 seeds" in " ".join(text.get_text() for text in figure.texts)
    for ax, measures in [
        (trade_off, ["reward_gap"]),
        (worst_off, ["worst_off_reward"]),
        (regret, ["regret_female", "regret_male"]),
    ]:
        intervals = [tables.interval(policy, measure) for measure in measures for _ in range(2)]
        np.testing.assert_allclose(sorted(drawn_bars(ax)), sorted(intervals))
    low, high = tables.interval(policy, "reward_gap")
    assert high - low > 2 * policy.metrics["reward_gap"][1]  # wider than a standard deviation to either side
    one = summarise_world(WORLDS["3:7"], {"LinUCB": seeds[:1]}, 0.01)
    one_seed = figures.world_figure("3:7", one, 0.01, "data", 1, ["LinUCB"])
    assert "one seed" in " ".join(text.get_text() for text in one_seed.texts)
    assert "± is the standard deviation over seeds" in tables.to_markdown({"3:7": summary}, "data")


def test_a_tolerance_that_no_policy_can_meet():
    apart = {"best": (0.9, 0.3), "worst": (0.8, 0.2)}
    summary = summarise_world(
        WORLDS["3:7"],
        {"LinUCB": subgroup_means(0.9, 0.3, **apart), "other": subgroup_means(0.8, 0.2, **apart)},
        0.01,
    )
    assert summary.oracle is None
    assert "No policy can keep the gap within 0.01 here" in summary.policies["other"].worst_off_note
    assert tables.format_metric(summary.policies["other"], "below_oracle") == "-"
    gaps = [gap for gap, _ in summary.frontier]
    assert gaps[0] >= 0.5 - 1e-9  # the smallest possible gap
    assert gaps[-1] == pytest.approx(0.6)


def test_the_compare_command(tmp_path, capsys):
    from fairbandits.cli import main

    only = ["--worlds", "scarce,r2", "--policies", "LinUCB,FairLinUCB(gamma=3, model=shared)", "--seeds", "1"]
    assert main(["compare", "--quick", "--jobs", "1", "--data", "stand-in", "--out", str(tmp_path), *only]) == 0
    output = capsys.readouterr().out
    assert output.splitlines()[0].startswith("STAND-IN data")
    assert output.index("r2: ") < output.index("scarce: ")  # in the order of the suite
    assert "FairLinUCB(gamma=3," in output
    assert (tmp_path / "report.html").is_file()
    assert main(["compare", "--worlds", "mars"]) == 2
    assert "error: worlds must be some of" in capsys.readouterr().err


def test_a_custom_policy_can_be_compared(tmp_path, monkeypatch):
    (tmp_path / "my_compared_policies.py").write_text(
        "from fairbandits import Policy\n\n\n"
        "class Greedy(Policy):\n    def terms(self, seen):\n        return 0.0, 0.0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    custom = "my_compared_policies:Greedy(ridge=2)"
    results = compare(tmp_path / "out", worlds=["3:7"], policies=[custom], seeds=1, data="stand-in", quick=True)
    assert list(results.worlds["3:7"].policies) == [custom]
