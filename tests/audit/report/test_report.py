"""What an audit leaves behind: the page, the JSON, and Fairlearn's MetricFrame."""

import base64
import json
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, count, mean_prediction

from fairbandits.adapters.fairlearn import metric_frame
from fairbandits.audit import audit
from fairbandits.audit.report import serialisation
from tests.audit import logs

DOCUMENT = Path(__file__).parents[3] / "docs" / "audit.md"


@pytest.fixture(scope="module")
def found():
    return audit(logs.dated(logs.make(8_000)), tolerance=0.02)


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit") / "deep" / "down"
    assert found.write(folder) == folder / "audit.html"
    return folder


def images(page):
    found = re.findall(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', page)
    assert len(found) == page.count("<img")
    return [(alt, base64.b64decode(content).decode()) for alt, content in found]


def test_the_page_starts_with_the_sentence_and_holds_everything(found, folder):
    page = (folder / "audit.html").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["audit.html", "audit.json"]
    assert page.index(found.sentence) < page.index("<img") < page.index("<table")
    assert found.verdict in page
    assert "8,000 decisions" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "<script" not in page
    for comparison in found.comparisons:
        assert found.words.missing(comparison.difference) in page


def test_pictures_say_in_words_what_they_show_and_turn_light_on_dark_screens(folder):
    shown = images((folder / "audit.html").read_text())
    assert len(shown) == 9
    for alt, svg in shown:
        assert len(alt) > 40
        ET.fromstring(svg)  # noqa: S314 - our own
        assert "prefers-color-scheme:dark" in svg
        assert "#000000" not in svg
        assert "<text" in svg


def test_the_same_audit_gives_the_same_files(found, folder, tmp_path):
    found.write(tmp_path)
    for name in ("audit.html", "audit.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_names_are_written_as_text(tmp_path):
    frame = logs.make(2_000).assign(sex=lambda f: "<script>" + f.sex, arm="a & <b>")
    page = audit(frame).write(tmp_path).read_text()
    assert "<script" not in page
    assert "&lt;script&gt;female" in page
    for _, svg in images(page):
        ET.fromstring(svg)  # noqa: S314


@pytest.mark.parametrize("name", ["$5 to $10, ", "$\\frac$", "$$", "\x1b[31m", "\x01", "日本"])
def test_any_name_can_be_drawn(tmp_path, name):
    frame = logs.make(2_000).assign(sex=lambda f: name + f.sex, arm=lambda f: name + f.arm)
    page = audit(frame).write(tmp_path).read_text()
    for _, svg in images(page):
        ET.fromstring(svg)  # noqa: S314
    assert all(name in svg for _, svg in images(page)[:1]) or not name.isprintable()


def test_nothing_is_written_where_something_fails(found, tmp_path, monkeypatch):
    monkeypatch.setattr(serialisation, "as_plain", lambda _: {"mean": math.nan})
    with pytest.raises(ValueError, match="not JSON compliant"):
        found.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def keys_of(plain):
    if isinstance(plain, dict):
        yield from plain
        for value in plain.values():
            yield from keys_of(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from keys_of(value)


def test_the_json_is_what_the_documentation_says(found, folder):
    plain = json.loads((folder / "audit.json").read_text())
    assert plain == json.loads(json.dumps(found.to_dict()))
    assert (plain["format"], plain["version"]) == ("fairbandits audit", 1)
    assert plain["verdict"]["status"] == found.status
    assert plain["sentence"] == found.sentence
    assert plain["log"]["guessed"] == ["arm", "groups", "reward", "time"]
    documented = DOCUMENT.read_text()
    for key in set(keys_of(plain)):
        assert f"`{key}`" in documented, key


def test_the_numbers_of_the_json_fit_together(found):
    for comparison in found.to_dict()["comparisons"]:
        gap, parts, line = comparison["gap"], comparison["decomposition"], comparison["timeline"]
        assert gap["low"] <= gap["value"] <= gap["high"]
        assert parts["shown"]["value"] + parts["same_arm"]["value"] == pytest.approx(gap["value"], abs=1e-12)
        assert len(line["starts"]) == len(line["gap_low"]) == len(line["groups"][0]["mean"])
        assert line["starts"][0] == "2026-01-05T00:00:00"
        assert gap["low"] == pytest.approx(line["gap_low"][-1])
        last = {tuple(group["labels"]): group["mean"][-1] for group in line["groups"]}
        enough = [group for group in comparison["groups"] if group["enough"]]
        assert last == pytest.approx({tuple(group["labels"]): group["mean"] for group in enough})


def test_what_cannot_be_compared_is_null():
    frame = logs.make(600).assign(sex=np.where(np.arange(600) < 5, "female", "male"))
    frame.loc[:4, "reward"] = np.nan
    plain = audit(frame, groups=["sex"]).to_dict()["comparisons"][0]
    assert plain["word"] == "too small"
    assert plain["gap"] is plain["timeline"] is plain["decomposition"] is None
    assert plain["groups"][1]["mean"] is plain["groups"][1]["low"] is None
    json.dumps(plain, allow_nan=False)


def test_many_groups_and_arms_and_small_ones_are_drawn_too(tmp_path):
    frame = logs.make(6_000, n_arms=30)
    rng = np.random.default_rng(0)
    frame["sex"] = rng.choice([f"a rather long name of group {i}" for i in range(14)], len(frame))
    page = audit(frame, groups=["sex"], min_rows=300).write(tmp_path).read_text()
    assert "the other 20 arms" in page
    [svg, *_] = [svg for alt, svg in images(page) if alt.startswith("Mean reward per decision")]
    assert "groups between these are not drawn" in svg


def test_nothing_to_draw(tmp_path):
    page = audit(logs.make(60)).write(tmp_path).read_text()
    assert "<img" not in page
    assert "no group has 100 rewards" in page


def test_no_times_are_no_picture(tmp_path):
    frame = logs.make(1_000).assign(time=np.datetime64("NaT", "us"))
    page = audit(frame, groups=["sex"]).write(tmp_path).read_text()
    assert len(images(page)) == 2
    assert "so far" not in page


@pytest.mark.parametrize("times", [1.7e18, 1e300, -1e300, 1e-300])
def test_times_may_be_any_numbers(tmp_path, times):
    frame = logs.make(2_000)
    found = audit(frame.assign(time=times * np.linspace(1.0, 1.1, len(frame))), groups=["sex"])
    found.write(tmp_path)
    assert found["sex"].difference.timeline.gap_low.size <= 120


def test_times_in_nanoseconds_are_read_whole():
    start, step = 1_704_067_200_000_000_001, 3_600_000_000_000
    frame = logs.make(2_000).assign(time=start + step * np.arange(2_000))
    timeline = audit(frame, groups=["sex"])["sex"].difference.timeline
    assert timeline.blocks.n > 30


@pytest.mark.parametrize("odd", [["0001-01-01"], ["9999-12-31"], ["0001-01-01", "9999-12-31"]])
def test_the_first_and_the_last_date_there_is_can_be_drawn(tmp_path, odd):
    times = [*odd, *["2024-05-01"] * (2_000 - len(odd))]
    found = audit(logs.make(2_000, gap=0.5).assign(time=times), groups=["sex"])
    found.write(tmp_path)
    starts = json.loads((tmp_path / "audit.json").read_text())["comparisons"][0]["timeline"]["starts"]
    assert all("0001-01-01" <= start <= "9999-12-31T23:59:59" for start in starts)


# -- Fairlearn -----------------------------------------------------------------------------------------


def test_the_metric_frame_agrees_with_fairlearn_and_with_the_audit():
    frame = logs.make()
    ours = metric_frame(frame, groups=["sex"])
    came = frame.dropna(subset="reward")
    theirs = MetricFrame(
        metrics={"rewards": count, "mean_reward": mean_prediction},
        y_true=came.reward,
        y_pred=came.reward,
        sensitive_features=came.sex,
    )
    pd.testing.assert_frame_equal(
        ours.by_group[["rewards", "mean_reward"]], theirs.by_group, check_dtype=False, check_names=False
    )
    difference = audit(frame)["sex"].difference
    assert ours.difference()["mean_reward"] == pytest.approx(float(difference.gap), abs=1e-12)
    assert ours.by_group["missing"].to_dict() == pytest.approx(
        {group.name: group.missing_share.value for group in difference.groups}
    )


def test_the_metric_frame_of_intersections():
    frame = logs.make()
    ours = metric_frame(frame).by_group["mean_reward"]
    for group in audit(frame)["sex", "race"].groups:
        assert ours[group.labels] == pytest.approx(group.mean)


def test_without_fairlearn_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn.metrics", None)
    with pytest.raises(
        ImportError, match=r"a MetricFrame needs fairlearn: pip install 'fairbandits\[fairlearn\]'"
    ):
        metric_frame(logs.make(10))
