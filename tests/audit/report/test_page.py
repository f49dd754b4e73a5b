"""The page of an audit."""

import base64
import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fairbandits.audit import audit
from fairbandits.audit.report import serialisation
from tests.audit import logs


@pytest.fixture(scope="module")
def result():
    return audit(logs.dated(logs.make(8_000)), tolerance=0.02)


@pytest.fixture(scope="module")
def folder(result, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit") / "deep" / "down"
    assert result.write(folder) == folder / "audit.html"
    return folder


def images(page):
    found = re.findall(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', page)
    assert len(found) == page.count("<img")
    return [(alt, base64.b64decode(content).decode()) for alt, content in found]


def test_the_page_starts_with_the_sentence_and_is_self_contained(result, folder):
    page = (folder / "audit.html").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["audit.html", "audit.json"]
    assert page.index(result.sentence) < page.index("<img") < page.index("<table")
    assert result.verdict in page
    assert "8,000 decisions" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "<script" not in page
    for comparison in result.comparisons:
        assert result.sentences.missing(comparison.analysis) in page


def test_figures_have_alternative_texts_and_a_dark_variant(folder):
    shown = images((folder / "audit.html").read_text())
    assert len(shown) == 9
    for alt, svg in shown:
        assert len(alt) > 40
        ET.fromstring(svg)  # noqa: S314 - our own
        assert "prefers-color-scheme:dark" in svg
        assert "#000000" not in svg
        assert "<text" in svg


def test_the_same_audit_gives_the_same_files(result, folder, tmp_path):
    result.write(tmp_path)
    for name in ("audit.html", "audit.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_names_are_escaped(tmp_path):
    frame = logs.make(2_000).assign(sex=lambda f: "<script>" + f.sex, arm="a & <b>")
    page = audit(frame).write(tmp_path).read_text()
    assert "<script" not in page
    assert "&lt;script&gt;female" in page
    for _, svg in images(page):
        ET.fromstring(svg)  # noqa: S314


@pytest.mark.parametrize("name", ["$5 to $10, ", "$\\frac$", "$$", "\x1b[31m", "\x01", "日本"])
def test_unusual_names_can_be_drawn(tmp_path, name):
    frame = logs.make(2_000).assign(sex=lambda f: name + f.sex, arm=lambda f: name + f.arm)
    page = audit(frame).write(tmp_path).read_text()
    for _, svg in images(page):
        ET.fromstring(svg)  # noqa: S314
    assert all(name in svg for _, svg in images(page)[:1]) or not name.isprintable()


def test_a_failure_leaves_no_files(result, tmp_path, monkeypatch):
    monkeypatch.setattr(serialisation, "audit_to_dict", lambda _: {"mean": math.nan})
    with pytest.raises(ValueError, match="not JSON compliant"):
        result.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_many_groups_and_arms(tmp_path):
    frame = logs.make(6_000, n_arms=30)
    rng = np.random.default_rng(0)
    frame["sex"] = rng.choice([f"a rather long name of group {i}" for i in range(14)], len(frame))
    page = audit(frame, groups=["sex"], min_rows=300).write(tmp_path).read_text()
    assert "the other 20 arms" in page
    [svg, *_] = [svg for alt, svg in images(page) if alt.startswith("Mean reward per decision")]
    assert "groups in between are not shown" in svg


def test_a_page_without_figures(tmp_path):
    page = audit(logs.make(60)).write(tmp_path).read_text()
    assert "<img" not in page
    assert "no group has at least 100 rewards" in page


def test_without_times_there_is_no_history(tmp_path):
    frame = logs.make(1_000).assign(time=np.datetime64("NaT", "us"))
    page = audit(frame, groups=["sex"]).write(tmp_path).read_text()
    assert len(images(page)) == 2
    assert "so far" not in page
    assert "over time" not in page


@pytest.mark.parametrize("times", [1.7e18, 1e300, -1e300, 1e-300])
def test_times_of_any_magnitude(tmp_path, times):
    frame = logs.make(2_000)
    result = audit(frame.assign(time=times * np.linspace(1.0, 1.1, len(frame))), groups=["sex"])
    result.write(tmp_path)
    assert result["sex"].analysis.timeline.gap_low.size <= 120


def test_times_in_nanoseconds():
    start, step = 1_704_067_200_000_000_001, 3_600_000_000_000
    frame = logs.make(2_000).assign(time=start + step * np.arange(2_000))
    timeline = audit(frame, groups=["sex"])["sex"].analysis.timeline
    assert timeline.blocks.n > 30
