"""The API page in a real browser."""

import json
import re

import httpx
import pytest

from tests.browser import violations
from tests.service.key_issuer import KeyIssuer, bearer
from tests.service.small import PLAIN, USER, small_config

BAD = "<img src=x onerror=alert(1)>`<b>&amp;"


@pytest.fixture(scope="module")
def server(serving_module):
    """A server that needs no key, with a title that looks like markup."""
    return serving_module(**PLAIN | {"title": f"Courses {BAD}"})


@pytest.fixture
def open_docs(open_page):
    def open_docs(server, waits_for=".operation", **how):
        return open_page(server, waits_for=waits_for, path="/docs", **how)

    return open_docs


def operation(page, method, path):
    return page.locator(f"#{method}-{re.sub('[^a-z0-9]+', '-', path)}")


def send(card, **values):
    """Fill in the form of an operation, send it, and return the status and the response."""
    if not card.get_by_role("button", name="Send").is_visible():
        card.locator("summary", has_text="Try it").click()
    for label, value in values.items():
        card.get_by_label(label.replace("_", "-"), exact=True).fill(value)
    card.locator(".result").evaluate("result => result.replaceChildren()")
    card.get_by_role("button", name="Send").click()
    status = card.locator(".outcome").inner_text()
    return status, card.locator(".result pre").first.inner_text()


def test_every_operation_is_described(server, open_docs):
    page = open_docs(server)
    with server.client() as client:
        spec = client.get("/openapi.json").json()
    for path, operations in spec["paths"].items():
        for method, described in operations.items():
            card = operation(page, method, path)
            text = card.text_content()
            assert card.locator("h3").inner_text() == f"{method.upper()} {path}"
            assert re.split("`|\n", described["description"])[0].strip() in text
            assert all(status in text for status in described["responses"])
            for parameter in described.get("parameters", []):
                assert parameter["name"] in text
            if "requestBody" in described:
                example = described["requestBody"]["content"]["application/json"]["example"]
                assert json.loads(card.locator("pre").first.inner_text()) == example
    assert page.locator("nav a").count() == page.locator(".operation").count()
    fields = operation(page, "post", "/v1/decisions").locator(".fields").nth(1).inner_text()
    assert re.search(r"features\.age\s+number, or null\s+At least 20, at most 70\.", fields)
    assert re.search(r'groups\.gender\s+"female", "male", or null', fields)


def test_requests_can_be_tried(server, open_docs):
    page = open_docs(server)
    card = operation(page, "post", "/v1/decisions")
    status, text = send(card, Body=json.dumps(USER))
    assert status == "Status 200 OK"
    decision = json.loads(text)
    assert decision["arm"] in {"python", "algèbre", "chess"}
    assert card.locator(".result pre").last.inner_text().startswith(f"curl -X POST '{server.url}/v1/decisions' -H")
    reward = {"decision": decision["decision"], "reward": 0.5}
    status, text = send(operation(page, "post", "/v1/rewards"), Body=json.dumps(reward), Idempotency_Key="one")
    assert (status, json.loads(text)) == ("Status 200 OK", reward)
    status, text = send(operation(page, "get", "/v1/arms"), after="chess", limit="1")
    assert [arm["arm"] for arm in json.loads(text)["arms"]] == ["python"]
    status, _ = send(operation(page, "put", "/v1/arms/{arm}"), arm="chess", Body='{"features": {"hours": 3}}')
    assert status == "Status 200 OK"
    status, text = send(operation(page, "get", "/v1/stream"))
    assert text.endswith("…")
    assert "data:" in text


def test_refusals_are_shown(server, open_docs, open_page):
    page = open_docs(server)
    status, text = send(operation(page, "post", "/v1/decisions"), Body="{}")
    assert status.startswith("Status 422")
    assert json.loads(text)["errors"]
    page.get_by_label("Key for trying out requests").fill("wrong")
    status, text = send(operation(page, "get", "/v1/arms"))
    assert status.startswith("Status 401")
    assert "the key is unknown" in text
    assert "Bearer KEY" in operation(page, "get", "/v1/arms").locator(".result pre").last.inner_text()
    # The browser itself reports refused requests.
    open_page.complaints[:] = [each for each in open_page.complaints if "the server responded with" not in each]


@pytest.fixture
def guarded(serving, tmp_path):
    """A server with keys, and one that may do everything."""
    store = {"url": f"sqlite:///{tmp_path}/guarded.db"}
    _, token = KeyIssuer(small_config(store=store)).make("read", "decide")
    return serving(**PLAIN, store=store), token


def test_the_key_is_sent_and_not_stored(guarded, open_docs, open_page):
    server, token = guarded
    assert httpx.get(f"{server.url}/docs").status_code == 401
    assert httpx.get(f"{server.url}/docs", headers=bearer(token)).status_code == 200
    page = open_docs(server, waits_for="input[name=key]")
    page.get_by_label("Key").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("#verdict")
    page.get_by_role("link", name="API").click()
    card = operation(page, "post", "/v1/decisions")
    card.wait_for()
    assert page.get_by_role("button", name="Log out").is_visible()
    status, _ = send(operation(page, "get", "/v1/arms"))
    assert status == "Status 200 OK", "the session may read"
    key = page.get_by_label("Key for trying out requests")
    key.fill(token)
    status, _ = send(card, Body=json.dumps(USER))
    assert status == "Status 200 OK"
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert stored == '[{},{},""]'
    page.reload()
    card.wait_for()
    assert key.input_value() == ""


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_accessibility(server, open_docs, width, scheme):
    page = open_docs(server, width=width, scheme=scheme)
    for summary in page.locator("summary").all():
        summary.click()
    send(operation(page, "get", "/v1/arms"))
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_names_are_never_markup(server, open_docs):
    page = open_docs(server)
    assert page.locator("h1").inner_text() == f"Courses {BAD}: API"
    assert page.locator("main img, main b").count() == 0


def test_an_operation_can_be_linked_to(server, open_page):
    page = open_page(server, waits_for=".operation", path="/docs#get--v1-stream")
    card = operation(page, "get", "/v1/stream")
    assert abs(card.bounding_box()["y"]) < 100
