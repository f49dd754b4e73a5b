"""A real browser, which must neither report errors nor contact another host."""

import shutil
from urllib.parse import urlsplit

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_COMPLAINTS = ("error", "warning", "assert", "trace")
_FOUND = "#verdict:not([data-status='waiting'])"


@pytest.fixture(scope="module")
def browser():
    """A Chromium; without one, tests that need it are skipped.

    It is started for each file, because its event loop would disturb the tests of other files.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"no Chromium is installed (looked for {', '.join(_NAMES)}): apt-get install chromium")
    with playwright.sync_playwright() as running:
        # Without a sandbox, which root cannot have in a container; the pages are our own.
        opened = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser):
    """Open the page of a server; afterwards, check that the console is empty and no other host was contacted."""
    contexts, complaints, hosts = [], [], set()

    def note(message):
        if message.type in _COMPLAINTS:
            complaints.append(f"{message.type}: {message.text}")

    def open_page(server, width=1280, height=900, scheme="light", waits_for=_FOUND):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.goto(server.url)
        page.wait_for_selector(waits_for)
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert len(hosts) <= 1, hosts
