"""A real browser, which must neither report errors nor contact another host."""

from urllib.parse import urlsplit

import pytest

from tests.browser import browser  # noqa: F401 - a fixture

_COMPLAINTS = ("error", "warning", "assert", "trace")
_FOUND = "#verdict:not([data-status='waiting'])"


@pytest.fixture
def open_page(browser):  # noqa: F811 - the fixture
    """Open the page of a server; afterwards, check that the console is empty and no other host was contacted."""
    contexts, complaints, hosts = [], [], set()

    def note(message):
        if message.type in _COMPLAINTS:
            complaints.append(f"{message.type}: {message.text}")

    def open_page(server, width=1280, height=900, scheme="light", waits_for=_FOUND, path=""):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.goto(f"{server.url}{path}")
        page.wait_for_selector(waits_for)
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert len(hosts) <= 1, hosts
