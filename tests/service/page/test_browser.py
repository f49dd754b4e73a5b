"""The page in a real browser."""

import json
import re

import pytest

from tests.browser import violations
from tests.polling import wait_until
from tests.service.page.traffic import send
from tests.service.small import PLAIN

_CHARTS = ("gains", "gap", "arms", "exploration", "missing")
_EVEN = {"female": 0.5, "male": 0.52}
_APART = {"female": 0.1, "male": 0.9}


@pytest.fixture(scope="module")
def server(serving_module):
    """A server that has seen some traffic without a gap."""
    server = serving_module(**PLAIN)
    with server.client() as client:
        send(client, 1200, _EVEN)
    return server


@pytest.fixture(scope="module")
def changing(serving_module):
    """A server without any traffic yet."""
    return serving_module(**PLAIN)


def text(page, selector):
    return page.locator(selector).inner_text()


def found(server):
    with server.client() as client:
        return client.get("/v1/fairness").json()


def events_of(page):
    """The events that the page's stream receives from now on."""
    received = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.eventSourceMessageReceived", lambda event: received.append(json.loads(event["data"])))
    return received


def test_the_page_shows_the_findings(server, open_page):
    page = open_page(server)
    view = found(server)
    assert text(page, "h1") == "Courses"
    assert text(page, "#sentence") == view["sentence"]
    assert text(page, "#detail") == view["detail"]
    assert text(page, "#counts") == "1,200 decisions, 1,200 rewards so far."
    assert page.locator("html").get_attribute("lang") == "en"


def test_charts_are_drawn_and_agree_with_their_tables(server, open_page):
    page = open_page(server)
    for name in _CHARTS:
        chart = page.locator(f"#{name}")
        assert chart.locator(".main-svg").count() > 0
        # Every chart has a description.
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 20
    assert "95% confidence interval" in page.locator("#gap").get_attribute("aria-label")
    assert page.locator("#gap .legendtext").all_text_contents()[0] == "95% confidence interval"
    legend = page.locator("#gains .legendtext").all_text_contents()
    assert legend == ["within 0.05 of the lowest mean", "female", "male"]
    assert page.locator("#gains .scatterlayer .js-line").count() >= 2
    assert page.locator("#arms .yaxislayer-above text").all_text_contents()
    groups = {group["labels"][0]: group for group in found(server)["comparisons"][0]["groups"]}
    for name in _CHARTS:
        page.locator(f"section:has(> #{name}) summary").click()
        page.locator(f"#{name}-table tbody tr").first.wait_for()
    row = page.locator("#exploration-table tbody tr", has_text="female").first.inner_text().split("\t")
    assert row[0] == "female"
    assert row[1] == str(groups["female"]["decisions"])
    assert row[3] == f"{100 * groups['female']['exploration_rate']:.1f}%"


def test_recent_decisions_are_explained(server, open_page):
    page = open_page(server)
    rows = page.locator("#recent tbody tr")
    assert rows.count() == 10
    first = found(server)["recent"][0]
    shown = rows.first.inner_text()
    assert first["picked"][0] in shown
    assert re.search(r"(Exploration|Best of 3): .*predicted reward", shown, re.DOTALL)
    assert f"{first['scores'][0]['total']:.3f}" in shown
    page.get_by_role("button", name="Show more").click()
    assert rows.count() == 50
    page.get_by_role("button", name="Show fewer").click()
    assert rows.count() == 10


def test_the_page_is_live_until_it_is_paused(changing, open_page):
    page = open_page(changing)
    counts = page.locator("#counts")
    with changing.client() as client:
        send(client, 50, _EVEN)
        counts.get_by_text("50 decisions, 50 rewards").wait_for()
        assert re.fullmatch(r"Live, \d\d:\d\d:\d\d UTC", text(page, "#connection"))
        pause = page.get_by_role("button", name="Pause updates")
        pause.click()
        assert pause.get_attribute("aria-pressed") == "true"
        received = events_of(page)
        send(client, 50, _EVEN)
        wait_until(
            lambda: any(event["decisions"] == 100 for event in received),
            pause=lambda seconds: page.wait_for_timeout(1000 * seconds),
        )
        assert counts.inner_text().startswith("50 decisions")
        pause.click()
        counts.get_by_text("100 decisions, 100 rewards").wait_for()


def test_an_alert_appears_with_a_gap_and_disappears_when_it_closes(changing, open_page):
    page = open_page(changing)
    assert page.locator("#verdict").get_attribute("data-status") == "undecided"
    with changing.client() as client:
        send(client, 600, _APART)
        page.wait_for_selector("#verdict[data-status='unfair']")
        assert text(page, "#badge") == "Alert: a group is disadvantaged"
        assert re.match(r"Female users received 0\.\d+ less reward per decision", text(page, "#sentence"))
        assert "95% CI for the gap" in text(page, "#sentence")
        assert "The gap has been detectable since" in text(page, "#sentence")
        assert page.title().startswith("\u26a0 Courses")
        assert text(page, "#announcement").startswith("Alert: a group is disadvantaged. Female users")
        assert page.locator("#gap .annotation-text", has_text="since").count() == 1
        # The groups change places for as long.
        send(client, 600, {"female": 0.9, "male": 0.1}, seed=1)
        page.wait_for_selector("#verdict:not([data-status='unfair'])")
        assert text(page, "#badge") != "Alert: a group is disadvantaged"
        assert not page.title().startswith("\u26a0")


def test_users_are_compared_by_one_attribute_after_the_other(server, open_page):
    page = open_page(server)
    radios = page.get_by_role("radio")
    assert radios.count() == 2
    page.get_by_label("region").check()
    assert page.locator("#gains .legendtext").all_text_contents()[1:] == ["north", "south"]
    page.get_by_label("gender").check()
    assert page.locator("#gains .legendtext").all_text_contents()[1:] == ["female", "male"]


def test_everything_can_be_reached_by_keyboard(server, open_page):
    page = open_page(server)

    def focused():
        return page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")

    page.keyboard.press("Tab")
    assert focused() == "Skip to the findings"
    page.keyboard.press("Enter")
    assert focused() == "main"
    page.keyboard.press("Shift+Tab")
    assert focused() == "pause"
    page.keyboard.press("Space")
    assert page.locator("#pause").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    before = page.locator("input:checked").get_attribute("value")
    page.keyboard.press("ArrowRight")
    assert page.locator("input:checked").get_attribute("value") != before
    page.keyboard.press("Tab")
    assert focused() == "Show as a table"
    page.keyboard.press("Enter")
    page.locator("#gains-table tbody tr").first.wait_for()
    reached = set()
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.add(focused())
        # The focus is visible.
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if "this page as JSON" in reached:
            break
    assert {"more", "this page as JSON"} <= reached


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_accessibility(server, open_page, width, scheme):
    page = open_page(server, width=width, scheme=scheme)
    for summary in page.locator("summary").all():
        summary.click()
    assert violations(page) == []


def test_the_page_fits_a_phone(server, open_page):
    page = open_page(server, width=360, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    # No chart is cut off, and buttons are large enough to be touched.
    for name in _CHARTS:
        box = page.locator(f"#{name} .main-svg").first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    assert page.locator("#pause").bounding_box()["height"] >= 24


def test_names_are_never_markup_and_a_lost_connection_is_shown(serving, open_page):
    bad = "<img src=x onerror=alert(1)><b>&amp;"
    server = serving(
        **PLAIN
        | {
            "title": f"Courses {bad}",
            "attributes": {bad: ["female", f"male{bad}"]},
            "matches": [],
            "arms": [{"arm": f"{name}{bad}", "features": {"hours": 1}} for name in "ab"],
        }
    )
    with server.client() as client:
        users = [
            {"features": {"language": "en"}, "groups": {bad: ("female", f"male{bad}")[i % 2]}} for i in range(400)
        ]
        made = client.post("/v1/decisions/batch", json={"decisions": users}).raise_for_status().json()
        rewards = [
            {"decision": one["decision"], "reward": 0.2 + 0.6 * (i % 2)} for i, one in enumerate(made["decisions"])
        ]
        client.post("/v1/rewards", json=rewards).raise_for_status()
    page = open_page(server)
    page.wait_for_selector("#verdict[data-status='unfair']")
    assert text(page, "h1") == f"Courses {bad}"
    assert f"male{bad}" in text(page, "#sentence")
    assert page.locator("#gains .legendtext").all_text_contents()[-1] == f"male{bad}"
    assert page.locator("main img").count() == 0
    page.locator("#gains").hover()
    for summary in page.locator("summary").all():
        summary.click()
    assert f"male{bad}" in text(page, "#gains-table thead")
    server.stop()
    page.locator("#connection", has_text="Connection lost").wait_for()
    # The browser itself reports the failed requests.
    open_page.complaints[:] = [each for each in open_page.complaints if "net::ERR" not in each]


@pytest.mark.parametrize("width", [360, 1280])
def test_long_names_of_arms_are_broken(serving, open_page, width):
    long = [{"arm": letter * 200, "features": {"hours": 10}} for letter in "ab"]
    server = serving(**PLAIN | {"arms": long})
    with server.client() as client:
        send(client, 200, _APART)
    page = open_page(server, width=width)
    page.wait_for_selector("#recent tbody tr")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    box = page.locator("#recent tbody th").first.bounding_box()
    assert box["x"] + box["width"] <= width
