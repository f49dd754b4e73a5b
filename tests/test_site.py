"""The built documentation site in a real browser: `make docs` runs these tests after it has built the site."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.browser import browser, violations  # noqa: F401 - a fixture

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
PAGES = (
    "index.html",
    "tutorials/are_we_unfair.html",
    "explanations/algorithms.html",
    "reference/api/recommender.html",
    "gallery/index.html",
)

pytestmark = pytest.mark.site


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files without a line on the standard error for each."""

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture(scope="module")
def url():
    assert (SITE / "index.html").is_file(), "there is no site: run `make docs`"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=SITE)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("name", PAGES)
def test_pages_are_accessible_and_fit_the_screen(browser, url, name, width, scheme):  # noqa: F811 - the fixture
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    other_hosts = []

    def refuse(route):
        other_hosts.append(route.request.url)
        route.abort()

    context.route(lambda address: not address.startswith(url), refuse)
    page = context.new_page()
    page.goto(f"{url}/{name}")
    page.wait_for_selector("h1")
    page.screenshot(path=SITE.parent / "screenshots" / f"{name.replace('/', '_')[:-5]}-{width}-{scheme}.png")
    assert page.locator("html").get_attribute("data-theme") == scheme
    assert violations(page) == []
    assert other_hosts == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    context.close()
