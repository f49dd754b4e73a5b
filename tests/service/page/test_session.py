"""The page behind a key, in a real browser: in with a key, and out when it is revoked."""

import time

import pytest

from fairbandits.service.auth import key_store
from fairbandits.service.auth.keys import make_key
from fairbandits.service.log.opening import opened
from tests.service.small import PLAIN, small_config


@pytest.fixture
def guarded(serving, tmp_path):
    """A server, a key with which its page can be read, and the way to revoke that."""
    store = {"url": f"sqlite:///{tmp_path}/guarded.db"}
    config = small_config(store=store)
    key, token = make_key("owner", ["read"], time.time())
    with opened(config) as kept_in:
        key_store.keep_key(kept_in, key)

    def revoke():
        with opened(config) as kept_in:
            assert key_store.revoke_key(kept_in, key.id)

    return serving(**PLAIN, store=store), token, revoke


def test_in_with_a_key_and_out_when_it_is_revoked(guarded, open_page):
    server, token, revoke = guarded
    page = open_page(server, waits_for="input[name=key]")
    assert page.title() == "Log in"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    assert axe.Axe().run(page).response["violations"] == []
    page.get_by_label("Key").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("#verdict[data-status='unsure']")
    assert "Live" in page.locator("#connection").inner_text()
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Key").fill(f" {token} ")
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict[data-status='unsure']")
    revoke()
    # The stream is cut off, the next one refused, and the page asks for a key again.
    page.get_by_label("Key").wait_for()
    open_page.complaints[:] = [each for each in open_page.complaints if "401" not in each]
