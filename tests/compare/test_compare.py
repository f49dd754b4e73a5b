"""The whole of a comparison, small: files, words, and the same again to the bit."""

import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest

from fairbandits.compare import sentences, suite, tables
from fairbandits.compare.cell_sums import CellSums
from fairbandits.compare.comparison import compare
from fairbandits.compare.contenders import DEFAULT, POLICIES, as_contenders
from fairbandits.compare.suite import LAST_FIFTH, TEST_PART, WORLDS
from fairbandits.compare.summary import fronts, summarise_world
from fairbandits.registry import split_outside

POLICIES_HERE = ("LinUCB", DEFAULT, "Uniform")
TINY = {"worlds": ["3:7", "scarce", "sex_x_race"], "policies": POLICIES_HERE, "seeds": 2, "data": "standin"}


@pytest.fixture(scope="module", autouse=True)
def small():
    """Make quick runs quicker still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "_QUICK", 50)
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return compare(tmp_path_factory.mktemp("compare"), quick=True, **TINY)


def test_all_numbers_are_there(results):
    written = json.loads((results.folder / "results.json").read_text())
    assert written["data"]["source"] == results.data_source
    assert written["settings"]["policies"] == list(POLICIES_HERE)
    assert written["settings"]["default"] == DEFAULT
    assert list(written["worlds"]) == TINY["worlds"]
    scarce = written["worlds"]["scarce"]
    assert scarce["measured"] == "the last fifth"
    assert scarce["rounds_measured"] == 20
    assert set(scarce["groups"]) == {"female", "male"}
    for row in scarce["policies"].values():
        assert set(tables.METRIC_TITLES) <= set(row)
        assert {"regret_female", "reward_male"} <= set(row)
        assert row["front"] in ("on", "next to", "off")
        gap = row["reward"]["mean"] - (scarce["oracle"]["reward"] - row["below_oracle"]["mean"])
        assert gap == pytest.approx(0, abs=1e-8)
    losses = [point["utility_loss"] for point in scarce["oracle"]["frontier"]]
    assert losses == sorted(losses, reverse=True)


def test_numbers_are_those_of_the_runs(results):
    from fairbandits.simulate import simulate_many

    params = WORLDS["scarce"].world_params(quick=True) | {"data": "standin"}
    runs = [as_contenders(["LinUCB"])[0].run(seed, params) for seed in range(2)]
    parts = [trace.last(20) for trace in simulate_many(runs)]
    row = results.worlds["scarce"].rows["LinUCB"].numbers
    assert row["utility_loss"][0] == pytest.approx(np.mean([part.best - part.expected for part in parts]))
    by_sex = [[part.expected[part.group["group"] == sex].mean() for sex in ("female", "male")] for part in parts]
    assert row["worst_off_reward"][0] == pytest.approx(np.mean([min(pair) for pair in by_sex]))
    assert row["reward_difference"][0] == pytest.approx(np.mean([abs(np.diff(pair)) for pair in by_sex]))


def test_tables_and_figures(results):
    lines = (results.folder / "compare.csv").read_text().splitlines()
    assert lines[0] == f"# {results.data_source}"
    assert any(line.startswith(f"scarce,{DEFAULT},utility_loss,") for line in lines)
    assert "## scarce" in (results.folder / "compare.md").read_text()
    names = {path.name for path in (results.folder / "figures").iterdir()}
    assert names == {f"world_{name}.{kind}" for name in ("3_7", "scarce", "sex_x_race") for kind in ("png", "pdf")}


class Page(HTMLParser):
    """Collects the words of a page, and where its pictures come from."""

    def __init__(self):
        super().__init__()
        self.text, self.sources = [], []

    def handle_starttag(self, tag, attrs):
        self.sources += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_is_one_page(results):
    page = Page()
    page.feed((results.folder / "report.html").read_text())
    text = " ".join(page.text)
    assert len(page.sources) == 3
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert f"{DEFAULT} is on the measured front" in text
    assert "A difference of 0.01 forces female down" in text
    assert "a tenth as long" in text


def test_two_jobs_write_the_bits_of_one(results, tmp_path):
    again = compare(tmp_path, quick=True, jobs=2, **TINY)
    for name in ("results.json", "compare.csv", "compare.md", "report.html"):
        assert (again.folder / name).read_bytes() == (results.folder / name).read_bytes()


def _command(out):
    return [
        *(sys.executable, "-m", "fairbandits", "compare", "--quick", "--seeds", "2", "--jobs", "2"),
        *("--worlds", "3:7", "--policies", ",".join(POLICIES_HERE), "--out", str(out), "--data", "standin"),
    ]


def test_killed_and_started_again_it_ends_with_the_same_file(tmp_path):
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    subprocess.run(_command(whole), check=True, capture_output=True)
    process = subprocess.Popen(_command(resumed), start_new_session=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list((resumed / "cache").glob("*.npz")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    kept = {path.name: path.stat().st_mtime_ns for path in (resumed / "cache").glob("*.npz")}
    subprocess.run(_command(resumed), check=True, capture_output=True)
    assert (resumed / "results.json").read_bytes() == (whole / "results.json").read_bytes()
    for name, when in kept.items():
        assert (resumed / "cache" / name).stat().st_mtime_ns == when


def test_a_later_call_leaves_no_figure_of_an_earlier_one(tmp_path):
    only = {"policies": ["Uniform"], "seeds": 1, "data": "standin", "quick": True}
    compare(tmp_path, worlds=["3:7"], **only)
    found = compare(tmp_path, worlds=["r2"], **only)
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"world_r2"}
    # Without LinUCB there is nobody to compare the worse-off with, and without ours nothing to say of it.
    assert found.worlds["r2"].rows["Uniform"].worse_off == ""


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"worlds": ["mars"]}, "there is no world 'mars'"),
        ({"policies": ["Oracle"]}, "there is no policy 'Oracle'; expected one of"),
        ({"policies": ["FairLinUCB(gama=3)"]}, "FairLinUCB has no parameter 'gama'"),
        ({"policies": ["FairLinUCB(gamma=-3)"]}, "gamma"),
        ({"policies": ["FairLinUCB(gamma=3"]}, r"'FairLinUCB\(gamma=3' came; expected a policy such as"),
        ({"policies": ["LinUCB", "LinUCB"]}, "LinUCB is given twice"),
        ({"policies": []}, "no policy came"),
        ({"seeds": 0}, "seeds=0 came"),
        ({"tolerance": -0.1}, "tolerance=-0.1 came; expected a number from 0 to 1"),
    ],
)
def test_what_cannot_be_compared(tmp_path, params, message):
    with pytest.raises(ValueError, match=message):
        compare(tmp_path, **{"data": "standin", "quick": True} | params)


def test_every_default_policy_can_be_made():
    assert [contender.title for contender in as_contenders(POLICIES)] == list(POLICIES)
    assert DEFAULT in POLICIES
    assert split_outside('A(x=[1,2]),"B"') == ["A(x=[1,2])", '"B"']


def test_the_front():
    assert fronts({"a": (0.1, 0.1), "b": (0.1, 0.1)}) == {"a": "on", "b": "on"}
    assert fronts({"a": (0.1, 0.1), "b": (0.1, 0.1019), "c": (0.1021, 0.1)}) == {
        "a": "on",
        "b": "next to",
        "c": "off",
    }


def cells(female, male, best=(0.9, 0.9), worst=(0.0, 0.0)):
    groups = ((("group", "female"),), (("group", "male"),))
    found = CellSums(groups, np.array([50.0, 50.0]), np.array([female, male]), np.array(best), np.array(worst))
    return [{TEST_PART: found, LAST_FIFTH: found}]


def test_who_is_worse_off_and_whether_that_is_forced():
    world = WORLDS["3:7"]
    found = summarise_world(
        world, {"LinUCB": cells(0.8, 0.7), "level": cells(0.6, 0.6), "up": cells(0.75, 0.74)}, 0.01
    )
    assert found.rows["up"].worse_off == ""
    assert "gets 0.600, 0.100 less than with LinUCB (0.700); nothing forces that" in found.rows["level"].worse_off
    best = (0.9, 0.5)
    scarce = summarise_world(world, {"LinUCB": cells(0.9, 0.5, best), "level": cells(0.5, 0.5, best)}, 0.01)
    assert scarce.oracle[("group", "female")] == pytest.approx(0.51)
    said = " ".join(sentences.about_world(scarce, 0.01))
    assert "A difference of 0.01 forces female down, from 0.900 with LinUCB to 0.510 with the oracle." in said


def test_where_no_policy_keeps_the_tolerance():
    apart = {"best": (0.9, 0.3), "worst": (0.8, 0.2)}
    found = summarise_world(
        WORLDS["3:7"], {"LinUCB": cells(0.9, 0.3, **apart), "other": cells(0.8, 0.2, **apart)}, 0.01
    )
    assert found.oracle is None
    assert "no policy at all keeps a difference of 0.01 here" in found.rows["other"].worse_off
    assert tables.cell(found.rows["other"], "below_oracle") == "-"
    gaps = [gap for gap, _ in found.frontier]
    assert gaps[0] >= 0.5 - 1e-9  # as near as the two can come
    assert gaps[-1] == pytest.approx(0.6)


def test_the_command(tmp_path, capsys):
    from fairbandits.cli import main

    only = ["--worlds", "scarce,r2", "--policies", "LinUCB,FairLinUCB(gamma=3, model=shared)", "--seeds", "1"]
    assert main(["compare", "--quick", "--jobs", "1", "--data", "standin", "--out", str(tmp_path), *only]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].startswith("STAND-IN data")
    assert said.index("r2: ") < said.index("scarce: ")  # in the order of the suite
    assert "FairLinUCB(gamma=3," in said
    assert (tmp_path / "report.html").is_file()
    assert main(["compare", "--worlds", "mars"]) == 2
    assert "error: there is no world 'mars'" in capsys.readouterr().err


def test_a_policy_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "my_compared_policies.py").write_text(
        "from fairbandits import Policy\n\n\n"
        "class Greedy(Policy):\n    def terms(self, seen):\n        return 0.0, 0.0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    mine = "my_compared_policies:Greedy(ridge=2)"
    found = compare(tmp_path / "out", worlds=["3:7"], policies=[mine], seeds=1, data="standin", quick=True)
    assert list(found.worlds["3:7"].rows) == [mine]
