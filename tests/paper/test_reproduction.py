"""A small reproduction from end to end: files, figures, report, and bitwise identical results."""

import json
import os
import signal
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from fairbandits.paper import experiments, figures, reproduction
from fairbandits.paper.experiments import RunLength
from fairbandits.paper.published import PUBLISHED
from fairbandits.report import figure_style
from fairbandits.simulate import simulate
from fairbandits.views import plot_style
from fairbandits.worlds import DataError, LinearWorld, StudentsAndVideos
from fairbandits.worlds.datasets.loading import VARIABLE
from tests.polling import wait_for_first_run

ENTRY = {"mean", "sd", "n", "published", "within"}


@pytest.fixture(scope="module")
def small():
    """Make quick runs even shorter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "QUICK_LENGTH", RunLength(train=40, test=30))
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory, source, small):
    return reproduction.reproduce(tmp_path_factory.mktemp("results"), seeds=2, data=source, quick=True)


def assert_nested_alike(published, measured):
    """Check that two tables are nested alike, and that each published number has an entry."""
    for name, value in published.items():
        if name in ("calibration", "arm_ratio"):
            continue
        if isinstance(value, dict):
            assert_nested_alike(value, measured[name])
        else:
            assert set(measured[name]) == ENTRY
            assert measured[name]["published"] == value
            assert isinstance(measured[name]["within"], bool)
            assert measured[name]["n"] == 2


def test_results_are_nested_and_named_as_published(results):
    content = json.loads((results.folder / "results.json").read_text())
    assert list(content)[:3] == ["data", "settings", "tables"]
    assert content["data"]["source"] == results.data_source
    assert content["settings"]["seeds"] == 2
    assert set(content["tables"]) == set(experiments.TABLES)
    assert_nested_alike({name: PUBLISHED[name] for name in experiments.TABLES}, content["tables"])
    assert set(content["theory"]) == {"0", "1", "3"}


def test_every_csv_file_names_the_data(results):
    for name in experiments.TABLES:
        assert (results.folder / f"{name}.csv").read_text().splitlines()[0] == f"# {results.data_source}"
    assert (results.folder / "theory.csv").read_text().startswith("# synthetic data")


def test_figures_are_written_as_png_and_pdf(results):
    folder = results.folder / "figures"
    names = {path.stem for path in folder.glob("*.png")}
    assert names == {path.stem for path in folder.glob("*.pdf")}
    assert {"table_comparison", "reward_r2", "table_gamma_trade_off", "theory"} <= names
    assert {"figure_order_females_first", "figure_order_males_first", "table_arm_ratio_1_to_1"} <= names


class Page(HTMLParser):
    """The text and the image sources of a page; every tag must be closed."""

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


def test_the_report_is_self_contained(results):
    page = Page()
    page.feed((results.folder / "report.html").read_text())
    assert page.open == []
    assert page.text[0] == results.data_source
    assert page.sources
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert len(page.sources) == len(list((results.folder / "figures").glob("*.png")))
    assert any("do not compare the numbers" in text for text in page.text)


def test_the_report_of_full_runs_counts_reproduced_numbers(tmp_path, source, monkeypatch):
    monkeypatch.setattr(reproduction, "PAPER_LENGTH", RunLength(train=20, test=20))
    reproduction.reproduce(tmp_path, seeds=1, only=["reward_r2"], data=source)
    page = Page()
    page.feed((tmp_path / "report.html").read_text())
    assert any("published utility losses and reward gaps" in text for text in page.text)
    assert "NOT reproduced" in (tmp_path / "report.html").read_text()


def test_files_are_bitwise_identical_for_any_number_of_jobs(results, tmp_path, source, small):
    again = reproduction.reproduce(tmp_path, seeds=2, jobs=2, data=source, quick=True)
    for name in ("results.json", "report.html", "theory.csv", *(f"{table}.csv" for table in experiments.TABLES)):
        assert (again.folder / name).read_bytes() == (results.folder / name).read_bytes()


def test_only_the_requested_experiments_run(tmp_path, source, small):
    results = reproduction.reproduce(tmp_path, seeds=1, only=["reward_r2"], data=source, quick=True)
    assert list(results.tables) == ["reward_r2"]
    assert results.theory == {}
    assert not (tmp_path / "theory.csv").exists()
    entry = json.loads((tmp_path / "results.json").read_text())["tables"]["reward_r2"]["linucb"]["utility_loss"]
    assert entry["sd"] is None


def test_results_of_the_stand_in_name_it(tmp_path, small):
    results = reproduction.reproduce(tmp_path, seeds=1, only=["reward_r2"], data="stand-in", quick=True)
    assert results.data_source.startswith("STAND-IN data")
    assert 'class="data stand-in"' in (tmp_path / "report.html").read_text()


def test_invalid_arguments_are_refused(tmp_path):
    with pytest.raises(ValueError, match="seeds must be an integer of at least 1, got 0"):
        reproduction.reproduce(tmp_path, seeds=0, data="stand-in")
    with pytest.raises(DataError, match=r"data must be .* or an existing folder, got"):
        reproduction.reproduce(tmp_path, data=tmp_path / "nowhere")


def _command(out, source):
    return [
        *(sys.executable, "-m", "fairbandits", "reproduce", "--quick", "--seeds", "2", "--jobs", "2"),
        *("--only", "table_gamma", "--out", str(out), "--data", source),
    ]


def _signal_after_first_run(out, source, signal_):
    """Start the command, and send a signal to it and its children when the first run is finished."""
    process = subprocess.Popen(
        _command(out, source),
        start_new_session=True,
        # In a background job, interrupts are ignored, and child processes inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads of ours
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    wait_for_first_run(process, out)
    os.killpg(process.pid, signal_)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors.decode()


@pytest.mark.slow
def test_a_killed_reproduction_resumes_with_the_same_result(tmp_path, source):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    complete, resumed = tmp_path / "complete", tmp_path / "resumed"
    subprocess.run(_command(complete, source), check=True, capture_output=True, env=environment)
    status, _ = _signal_after_first_run(resumed, source, signal.SIGKILL)
    assert status == -signal.SIGKILL
    assert not (resumed / "results.json").exists()
    cached = {path.name: path.stat().st_mtime_ns for path in (resumed / "cache").glob("*.npz")}
    assert 0 < len(cached) < 10
    subprocess.run(_command(resumed, source), check=True, capture_output=True, env=environment)
    assert (resumed / "results.json").read_bytes() == (complete / "results.json").read_bytes()
    for name, modified in cached.items():
        assert (resumed / "cache" / name).stat().st_mtime_ns == modified


def test_an_interrupt_prints_one_line(tmp_path, source):
    status, errors = _signal_after_first_run(tmp_path, source, signal.SIGINT)
    assert status == 130
    assert "Traceback" not in errors
    # Joblib's resource tracker may add warnings about what it cleaned up.
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert lines == [
        "error: interrupted; all written files are complete; reproduce, compare, fairbench, evaluate and "
        "recommend resume when run again"
    ]


def test_a_figure_of_many_groups_and_one_part():
    world = StudentsAndVideos(
        train=0, test=60, male_videos=2, female_videos=2, sensitive=["sex", "race"], data="stand-in"
    )
    from fairbandits import LinUCB

    trace = simulate(LinUCB(random_state=0), world)
    figure = figures.cumulative_rewards({"LinUCB": [trace]}, "race")
    (ax,) = figure.axes
    styles = {(line.get_color(), str(line.get_linestyle()), line._dash_pattern[1] is None) for line in ax.lines}
    assert len(styles) > 1
    assert figure.get_suptitle().startswith("STAND-IN data")


def test_figure_files_are_deterministic(tmp_path):
    from fairbandits import LinUCB

    traces = [simulate(LinUCB(random_state=seed), LinearWorld(rounds=50, random_state=seed)) for seed in (0, 1)]
    for folder in ("one", "other"):
        figure_style.save_figure(figures.cumulative_rewards({"LinUCB": traces}), tmp_path / folder, "f")
    for name in ("f.png", "f.pdf"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_figures_need_matplotlib(monkeypatch):
    from fairbandits import LinUCB

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=5))
    with pytest.raises(ImportError, match=r"figures need matplotlib; .* pip install 'fairbandits\[plot\]'"):
        figures.cumulative_rewards({"LinUCB": [trace]})


def test_files_of_an_earlier_reproduction_are_removed(tmp_path):
    reproduction.reproduce(tmp_path, seeds=1, only=["table_gamma"], data="stand-in", quick=True)
    (tmp_path / "mine.csv").write_text("")
    reproduction.reproduce(tmp_path, seeds=1, only=["reward_r2"], data="stand-in", quick=True)
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["mine.csv", "reward_r2.csv"]
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"reward_r2"}


def test_data_that_changes_during_the_runs_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "fairbandits.paper.reproduction.load_and_describe_data",
        lambda data: ("stand-in", {"source": "real data"}),
    )
    with pytest.raises(ValueError, match="the data changed during the runs"):
        reproduction.reproduce(tmp_path, seeds=1, only=["reward_r2"], quick=True)


def test_twenty_groups_have_distinct_line_styles():
    styles = [plot_style.line_style(number) for number in range(20)]
    assert len({str(style) for style in styles}) == 20
    assert len({str(dashes) for _, dashes in styles[:6]}) == 6
