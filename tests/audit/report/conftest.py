"""A real browser, for the page."""

from tests.browser import browser  # noqa: F401 - a fixture
