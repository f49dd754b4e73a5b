"""Logging in to the page in a real browser, and being logged out when the key is revoked."""

import pytest

from tests.service.key_issuer import KeyIssuer
from tests.service.small import PLAIN, small_config


@pytest.fixture
def guarded(serving, tmp_path):
    """A server, a key that may read its page, and a function that revokes the key."""
    store = {"url": f"sqlite:///{tmp_path}/guarded.db"}
    issuer = KeyIssuer(small_config(store=store))
    key_id, token = issuer.make("read")
    return serving(**PLAIN, store=store), token, lambda: issuer.revoke(key_id)


def test_logging_in_and_being_logged_out_when_the_key_is_revoked(guarded, open_page):
    server, token, revoke = guarded
    page = open_page(server, waits_for="input[name=key]")
    assert page.title() == "Log in"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    assert axe.Axe().run(page).response["violations"] == []
    page.get_by_label("Key").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("#verdict[data-status='undecided']")
    assert "Live" in page.locator("#connection").inner_text()
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Key").fill(f" {token} ")
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict[data-status='undecided']")
    revoke()
    # The stream is cut off, the next one refused, and the page asks for a key again.
    page.get_by_label("Key").wait_for()
    open_page.complaints[:] = [each for each in open_page.complaints if "401" not in each]
