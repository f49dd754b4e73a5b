"""A real browser, for the tests of pages."""

import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


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


def violations(page):
    """Return what axe finds inaccessible on a page; without axe, the test is skipped."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [(each["id"], each["impact"], [node["html"][:200] for node in each["nodes"]]) for each in found]
