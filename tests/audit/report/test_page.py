"""The page of an audit."""

import base64
import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fairbandits.audit import audit
from fairbandits.audit.report import serialisation
from fairbandits.views.group_styles import group_styles
from tests.audit import logs
from tests.browser import violations


@pytest.fixture(scope="module", params=["fixed-sample", "sequential"])
def result(request):
    return audit(logs.dated(logs.make(8_000)), tolerance=0.02, sequential=request.param == "sequential")


@pytest.fixture(scope="module")
def finished():
    """An audit of one attribute, with everything that a page can have."""
    frame = logs.of_users(lambda day: 0.3 if day < 50 else -0.3, n=20_000)
    frame.loc[frame.index % 40 == 0, "reward"] = np.nan
    frame.loc[frame.user_id % 30 == 1, "sex"] = None
    return audit(logs.with_group(frame, "a group with a rather long name", 9), tolerance=0.05, date="2026-11-16")


@pytest.fixture(scope="module")
def finished_page(finished, tmp_path_factory):
    return finished.write(tmp_path_factory.mktemp("finished"))


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
    assert page.index(result.sentence) < page.index(result.verdict) < page.index("<table") < page.index("<img")
    for comparison in result.comparisons:
        left_out = result.sentences.unassessed(comparison)
        assert left_out is None or page.index(left_out) < page.index("<h2>")
    assert page.index(result.sentences.assumption()) < page.index("<h2>")
    assert "8,000 decisions" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "<script" not in page
    for comparison in result.comparisons:
        assert result.sentences.missing(comparison.analysis) in page


def test_figures_have_alternative_texts_and_a_dark_variant(result, folder):
    shown = images((folder / "audit.html").read_text())
    assert len(shown) == 9 if result.settings.sequential else 15
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
    page = audit(frame, groups=["sex"]).write(tmp_path).read_text()
    assert "<script" not in page
    assert "&lt;script&gt;female" in page
    for _, svg in images(page):
        ET.fromstring(svg)  # noqa: S314


@pytest.mark.parametrize("name", ["$5 to $10, ", "$\\frac$", "$$", "\x1b[31m", "\x01", "日本"])
def test_unusual_names_can_be_drawn(tmp_path, name):
    frame = logs.make(2_000).assign(sex=lambda f: name + f.sex, arm=lambda f: name + f.arm)
    page = audit(frame, groups=["sex"]).write(tmp_path).read_text()
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
    page = audit(frame, groups=["sex"]).write(tmp_path).read_text()
    assert "the other 20 arms" in page
    [svg, *_] = [svg for alt, svg in images(page) if alt.startswith("Mean reward per decision")]
    assert "groups in between are not shown" in svg


def test_a_page_without_figures(tmp_path):
    page = audit(logs.make(60), sequential=True).write(tmp_path).read_text()
    assert "<img" not in page
    assert "no group has at least 100 rewards" in page


def test_without_times_there_is_no_history(tmp_path):
    frame = logs.make(1_000).assign(time=np.datetime64("NaT", "us"))
    page = audit(frame, groups=["sex"]).write(tmp_path).read_text()
    assert len(images(page)) == 3
    assert "each time window" not in page
    assert len(images(audit(frame, groups=["sex"], sequential=True).write(tmp_path).read_text())) == 2


@pytest.mark.parametrize("times", [1.7e18, 1e300, -1e300, 1e-300])
def test_times_of_any_magnitude(tmp_path, times):
    frame = logs.make(2_000)
    result = audit(frame.assign(time=times * np.linspace(1.0, 1.1, len(frame))), groups=["sex"])
    result.write(tmp_path)
    history = result["sex"].analysis.history
    assert history is None if times == 1e-300 else history.windows.n == 10


def test_times_in_nanoseconds():
    start, step = 1_704_067_200_000_000_001, 3_600_000_000_000
    frame = logs.make(2_000).assign(time=start + step * np.arange(2_000))
    timeline = audit(frame, groups=["sex"], sequential=True)["sex"].analysis.timeline
    assert timeline.blocks.n > 30


def colours(svg):
    return set(re.findall(r"#[0-9a-f]{6}", svg.lower()))


def test_a_group_has_one_colour_in_every_figure_whatever_the_results_are(tmp_path):
    styles = {labels[0]: style.colour.lower() for labels, style in group_styles([("male",), ("female",)]).items()}
    for gap in (0.2, -0.2):
        frame = logs.of_users(lambda day, gap=gap: gap, n=10_000)
        for sequential in (False, True):
            result = audit(frame, tolerance=0.05, sequential=sequential)
            drawn = dict(images(result.write(tmp_path).read_text()))
            worse = styles[result["sex"].analysis.disadvantaged.name]
            for alt, svg in drawn.items():
                # Over time, the gap has the colour of the disadvantaged group; the decomposition has none.
                expected = {worse} if alt.startswith("Gap") else set(styles.values())
                if "effect" in alt:
                    expected = set()
                assert colours(svg) & set(styles.values()) == expected, alt


def test_a_legend_lists_no_group_without_points(tmp_path):
    frame = logs.of_users(lambda day: 0.0, n=20_000)
    frame["sex"] = np.where(frame.index % 500 == 0, "seldom", frame.sex)
    page = audit(frame.drop(columns="user_id")).write(tmp_path).read_text()
    drawn = {alt.split(",")[0]: svg for alt, svg in images(page)}
    assert "seldom" in next(svg for alt, svg in drawn.items() if alt.startswith("Mean reward per decision"))
    [windows] = [svg for alt, svg in drawn.items() if alt.startswith("Mean reward of each group in each")]
    assert "female" in windows
    assert "seldom" not in windows
    assert page.count("The intervals hold jointly for all windows, so they are wider than those in the") == 2


def test_colours_are_distinct():
    many = group_styles((str(number),) for number in range(30))
    assert len({style.colour for style in many.values()}) == 30


def test_the_provenance_is_on_the_page(finished_page):
    page = finished_page.read_text()
    for name, value in (("date", "2026-11-16"), ("rows", "20,009"), ("log", "dataframe")):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    assert "tolerance = 0.05, sequential = no" in page


def test_intervals_that_do_not_exist_are_left_out(tmp_path):
    page = audit(logs.make(2_000), sequential=True).write(tmp_path).read_text()
    assert re.search(r"\bnan\b", page) is None
    assert "small print" not in page
    assert 'class="below"' not in page


# -- in a browser ------------------------------------------------------------------------------------------------


def opened(browser, path, width=1280, scheme="light"):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(path.as_uri())
    return page


def test_one_attribute_prints_on_four_pages(browser, finished_page, tmp_path):
    many = logs.of_users(lambda day: 0.1, n=20_000)
    many["arm"] = "video " + (many.index % 40).astype(str)
    many["sex"] = "a rather long name " + (many.user_id % 12).astype(str)
    for path in (finished_page, audit(many, tolerance=0.05).write(tmp_path)):
        page = opened(browser, path)
        printed = page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4
        # Nothing is cut off at the right edge, which is 182 mm from the left one.
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 688, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") <= 688
        page.close()


@pytest.mark.parametrize(("width", "scheme"), [(375, "light"), (1280, "dark")])
def test_the_page_is_accessible_and_fits_a_phone(browser, finished_page, width, scheme):
    page = opened(browser, finished_page, width, scheme)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # No figure is cut off.
    for image in page.locator("img").all():
        box = image.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.close()


def test_no_legend_or_label_is_cut_off(browser, finished_page):
    """Text that sticks out of a drawing would be drawn over its neighbour, or cut off."""
    page = browser.new_page(viewport={"width": 900, "height": 900})
    for _, svg in images(finished_page.read_text()):
        page.set_content(svg)
        frame = page.locator("svg").bounding_box()
        edges = page.locator("svg text").evaluate_all(
            "texts => texts.map(text => text.getBoundingClientRect()).map(box => [box.left, box.right])"
        )
        assert len(edges) > 5
        assert min(left for left, _ in edges) >= frame["x"] - 1
        assert max(right for _, right in edges) <= frame["x"] + frame["width"] + 1
    page.close()
