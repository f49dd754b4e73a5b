"""The whole of it, small: files, figures, report, and the same again to the bit."""

import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import pytest

from fairbandits.paper import experiments, figures, reproduce
from fairbandits.paper.experiments import Size
from fairbandits.paper.published import PUBLISHED
from fairbandits.report import figure_style
from fairbandits.simulate import simulate
from fairbandits.worlds import DataError, LinearWorld, StudentsAndVideos
from fairbandits.worlds.datasets.loading import VARIABLE

CELL = {"mean", "sd", "n", "published", "within"}


@pytest.fixture(scope="module")
def small():
    """Make quick runs quicker still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "QUICK_SIZE", Size(train=40, test=30))
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory, source, small):
    return reproduce.reproduce(tmp_path_factory.mktemp("results"), seeds=2, data=source, quick=True)


def compare(published, measured):
    """Check that two tables are nested alike, and each published number has its cell."""
    for name, value in published.items():
        if name in ("calibration", "arm_ratio"):
            continue
        if isinstance(value, dict):
            compare(value, measured[name])
        else:
            assert set(measured[name]) == CELL
            assert measured[name]["published"] == value
            assert isinstance(measured[name]["within"], bool)
            assert measured[name]["n"] == 2


def test_results_are_nested_and_named_as_published(results):
    written = json.loads((results.folder / "results.json").read_text())
    assert list(written)[:3] == ["data", "settings", "tables"]
    assert written["data"]["source"] == results.data_source
    assert written["settings"]["seeds"] == 2
    assert set(written["tables"]) == set(experiments.TABLES)
    compare({name: PUBLISHED[name] for name in experiments.TABLES}, written["tables"])
    assert set(written["theory"]) == {"0", "1", "3"}


def test_every_file_says_which_data_it_shows(results):
    for name in experiments.TABLES:
        assert (results.folder / f"{name}.csv").read_text().splitlines()[0] == f"# {results.data_source}"
    assert (results.folder / "theory.csv").read_text().startswith("# synthetic data")


def test_figures_are_there_as_png_and_pdf(results):
    folder = results.folder / "figures"
    names = {path.stem for path in folder.glob("*.png")}
    assert names == {path.stem for path in folder.glob("*.pdf")}
    assert {"table_comparison", "reward_r2", "table_gamma_trade_off", "theory"} <= names
    assert {"figure_order_females_first", "figure_order_males_first", "table_arm_ratio_1_to_1"} <= names


class Page(HTMLParser):
    """Collects what a page is made of, and checks that its tags close."""

    VOID = ("meta", "img")

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag == "img":
            assert dict(attrs)["alt"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and "style" not in self.open and "head" not in self.open:
            self.text.append(data.strip())


def test_the_report_is_one_page_with_everything_inside(results):
    page = Page()
    page.feed((results.folder / "report.html").read_text())
    assert page.open == []
    assert page.text[0] == results.data_source
    assert page.sources
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert len(page.sources) == len(list((results.folder / "figures").glob("*.png")))
    assert any("compare with nothing" in text for text in page.text)


def test_the_report_of_the_papers_size_counts_what_is_within(tmp_path, source, monkeypatch):
    monkeypatch.setattr(reproduce, "PAPER_SIZE", Size(train=20, test=20))
    reproduce.reproduce(tmp_path, seeds=1, only=["reward_r2"], data=source)
    page = Page()
    page.feed((tmp_path / "report.html").read_text())
    assert any("published losses and differences" in text for text in page.text)
    assert "NOT within" in (tmp_path / "report.html").read_text()


def test_two_jobs_write_the_bits_of_one(results, tmp_path, source, small):
    again = reproduce.reproduce(tmp_path, seeds=2, jobs=2, data=source, quick=True)
    for name in ("results.json", "report.html", "theory.csv", *(f"{table}.csv" for table in experiments.TABLES)):
        assert (again.folder / name).read_bytes() == (results.folder / name).read_bytes()


def test_only_some(tmp_path, source, small):
    found = reproduce.reproduce(tmp_path, seeds=1, only=["reward_r2"], data=source, quick=True)
    assert list(found.tables) == ["reward_r2"]
    assert found.theory == {}
    assert not (tmp_path / "theory.csv").exists()
    cell = json.loads((tmp_path / "results.json").read_text())["tables"]["reward_r2"]["linucb"]["utility_loss"]
    assert cell["sd"] is None


def test_the_standin_says_so(tmp_path, small):
    found = reproduce.reproduce(tmp_path, seeds=1, only=["reward_r2"], data="standin", quick=True)
    assert found.data_source.startswith("STAND-IN data")
    assert 'class="data standin"' in (tmp_path / "report.html").read_text()


def test_what_cannot_be_reproduced(tmp_path):
    with pytest.raises(ValueError, match="seeds=0 came"):
        reproduce.reproduce(tmp_path, seeds=0, data="standin")
    with pytest.raises(DataError, match="a folder that is there"):
        reproduce.reproduce(tmp_path, data=tmp_path / "nowhere")


def _command(out, source):
    return [
        *(sys.executable, "-m", "fairbandits", "reproduce", "--quick", "--seeds", "2", "--jobs", "2"),
        *("--only", "table_gamma", "--out", str(out), "--data", source),
    ]


def _kill_after_a_run(out, source, sign):
    """Start the command, and kill it and all it started once a run, but not the last, is finished."""
    process = subprocess.Popen(
        _command(out, source),
        start_new_session=True,
        # Where the tests run in the background, interrupts are ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads of ours
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not list((out / "cache").glob("*.npz")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.killpg(process.pid, sign)
    _, said = process.communicate(timeout=60)
    return process.returncode, said.decode()


def test_killed_and_started_again_it_ends_with_the_same_file(tmp_path, source):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    subprocess.run(_command(whole, source), check=True, capture_output=True, env=environment)
    status, _ = _kill_after_a_run(resumed, source, signal.SIGKILL)
    assert status == -signal.SIGKILL
    assert not (resumed / "results.json").exists()
    kept = {path.name: path.stat().st_mtime_ns for path in (resumed / "cache").glob("*.npz")}
    assert 0 < len(kept) < 10
    subprocess.run(_command(resumed, source), check=True, capture_output=True, env=environment)
    assert (resumed / "results.json").read_bytes() == (whole / "results.json").read_bytes()
    for name, when in kept.items():
        assert (resumed / "cache" / name).stat().st_mtime_ns == when


def test_interrupted_it_says_so_in_one_line(tmp_path, source):
    status, said = _kill_after_a_run(tmp_path, source, signal.SIGINT)
    assert status == 130
    assert "Traceback" not in said
    # Joblib's own watchman may warn after that of what it cleaned up.
    ours = [line for line in said.splitlines() if line.startswith("error: ")]
    assert ours == ["error: interrupted; nothing is half written; reproduce and compare go on from what is done"]


def test_a_figure_of_many_groups_and_one_part():
    world = StudentsAndVideos(
        train=0, test=60, male_videos=2, female_videos=2, sensitive=["sex", "race"], data="standin"
    )
    from fairbandits import LinUCB

    trace = simulate(LinUCB(random_state=0), world)
    figure = figures.cumulative_rewards({"LinUCB": [trace]}, "race")
    (ax,) = figure.axes
    looks = {(line.get_color(), str(line.get_linestyle()), line._dash_pattern[1] is None) for line in ax.lines}
    assert len(looks) > 1
    assert figure.get_suptitle().startswith("STAND-IN data")


def test_figures_do_not_change_from_run_to_run(tmp_path):
    from fairbandits import LinUCB

    traces = [simulate(LinUCB(random_state=seed), LinearWorld(rounds=50, random_state=seed)) for seed in (0, 1)]
    for folder in ("one", "other"):
        figure_style.save(figures.cumulative_rewards({"LinUCB": traces}), tmp_path / folder, "f")
    for name in ("f.png", "f.pdf"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_figures_without_matplotlib(monkeypatch):
    from fairbandits import LinUCB

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=5))
    with pytest.raises(ImportError, match=r"figures need matplotlib: pip install 'fairbandits\[plot\]'"):
        figures.cumulative_rewards({"LinUCB": [trace]})


def test_an_earlier_call_leaves_nothing_that_does_not_belong(tmp_path):
    reproduce.reproduce(tmp_path, seeds=1, only=["table_gamma"], data="standin", quick=True)
    (tmp_path / "mine.csv").write_text("")
    reproduce.reproduce(tmp_path, seeds=1, only=["reward_r2"], data="standin", quick=True)
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["mine.csv", "reward_r2.csv"]
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"reward_r2"}


def test_data_that_changes_on_the_way_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "fairbandits.paper.reproduce.about_data", lambda data: ("standin", {"source": "real data"})
    )
    with pytest.raises(ValueError, match="the data changed during the runs"):
        reproduce.reproduce(tmp_path, seeds=1, only=["reward_r2"], quick=True)


def test_many_groups_have_lines_of_their_own():
    styles = [figure_style.style_of(number) for number in range(20)]
    assert len({str(style) for style in styles}) == 20
    assert len({str(dashes) for _, dashes in styles[:6]}) == 6
