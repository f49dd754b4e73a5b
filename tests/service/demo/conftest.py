"""The browser of the page's tests."""

from tests.service.page.conftest import browser, open_page

__all__ = ["browser", "open_page"]
