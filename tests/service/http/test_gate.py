"""Access to every route of a real server: without a key, with an unknown, a revoked and an insufficient one."""

import httpx
import pytest

from fairbandits.service.auth.keys import make_key
from fairbandits.service.auth.scopes import SCOPES
from fairbandits.service.demo import demo_config
from fairbandits.service.http.app import create_app
from tests.polling import wait_until
from tests.service.conftest import Server, write_config
from tests.service.key_issuer import KeyIssuer, bearer


def all_routes():
    """The routes that are served; their table needs no store."""
    app = create_app(demo_config(store={"url": "sqlite:///never-opened.db"}))
    return list(app.gate.routes)


ROUTES = all_routes()
CLOSED = [route for route in ROUTES if route.scope is not None]
OPEN = [route for route in ROUTES if route.scope is None]


def named(route):
    return f"{route.method} {route.path}"


def store_in(folder):
    return {"url": f"sqlite:///{folder}/fairbandits.db"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("guarded")


@pytest.fixture(scope="module")
def issuer(folder):
    return KeyIssuer(demo_config(store=store_in(folder)))


@pytest.fixture(scope="module")
def tokens(issuer):
    """A key for each scope, one for all but each, and one that was revoked."""
    tokens = {scope: issuer.make(scope)[1] for scope in SCOPES}
    tokens |= {f"all but {scope}": issuer.make(*(set(SCOPES) - {scope}))[1] for scope in SCOPES}
    key_id, tokens["revoked"] = issuer.make(*SCOPES)
    issuer.revoke(key_id)
    tokens["wrong"] = tokens["admin"][:-4] + "0000"
    tokens["unknown"] = make_key("stranger", SCOPES, 0.0)[1]
    return tokens


@pytest.fixture(scope="module")
def guarded(folder, tokens, serving_module):
    return serving_module(store=store_in(folder), limits={"guest_rate": 1000.0, "guest_burst": 1000.0})


@pytest.fixture(scope="module")
def client(guarded):
    with guarded.client() as client:
        yield client


def ask(client, route, token=None, **headers):
    path = route.path.replace("{arm}", "m00").replace("{name}", "index.html")
    headers = {"Content-Type": "application/json", **headers}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    body = b"{}" if route.body else None
    return client.request(route.method, path, headers=headers, content=body)


def is_refused(answer, status):
    problem = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(problem) == {"type", "title", "status", "detail"}
    return problem["detail"]


@pytest.mark.parametrize("route", CLOSED, ids=named)
class TestEveryRoute:
    def test_without_a_key(self, client, route):
        answer = ask(client, route)
        assert f"a key with the scope {route.scope!r} is needed" in is_refused(answer, 401)
        assert answer.headers["www-authenticate"].startswith("Bearer")

    @pytest.mark.parametrize("key", ["wrong", "unknown"])
    def test_with_an_unknown_key(self, client, route, tokens, key):
        assert "the key is unknown" in is_refused(ask(client, route, tokens[key]), 401)

    @pytest.mark.parametrize("shown", ["", "Bearer", "Bearer x", "Basic dTpw", "Bearer fb_1_2", "\xe9 \xe9"])
    def test_with_a_malformed_key(self, client, route, shown):
        is_refused(ask(client, route, Authorization=shown.encode("latin-1")), 401)

    def test_with_a_revoked_key(self, client, route, tokens):
        assert "revoked" in is_refused(ask(client, route, tokens["revoked"]), 401)

    def test_with_a_key_that_has_all_other_scopes(self, client, route, tokens):
        answer = ask(client, route, tokens[f"all but {route.scope}"])
        assert f"needs the scope {route.scope!r}" in is_refused(answer, 403)

    def test_with_a_key_that_has_one_other_scope(self, client, route, tokens):
        for scope in set(SCOPES) - {route.scope}:
            is_refused(ask(client, route, tokens[scope]), 403)

    def test_with_the_key_it_needs(self, client, route, tokens):
        if route.path == "/v1/stream":
            with client.stream("GET", route.path, headers=bearer(tokens["read"])) as answer:
                assert answer.status_code == 200
            return
        answer = ask(client, route, tokens[route.scope])
        assert answer.status_code in (200, 422)
        if route.body:
            assert answer.status_code == 422  # an empty body is let in, and is wrong


@pytest.mark.parametrize("route", OPEN, ids=named)
def test_open_routes_need_no_key(client, route):
    kind = "application/x-www-form-urlencoded"
    assert ask(client, route, **{"Content-Type": kind}).status_code in (200, 303)


def test_a_running_server_learns_of_new_and_of_revoked_keys(client, issuer):
    key_id, token = issuer.make("read")
    headers = bearer(token)
    assert client.get("/v1/arms", headers=headers).status_code == 200  # at once
    issuer.revoke(key_id)
    wait_until(lambda: client.get("/v1/arms", headers=headers).status_code != 200, seconds=5)
    assert "revoked" in is_refused(client.get("/v1/arms", headers=headers), 401)


def test_ready_has_details_for_keys_that_may_read(client, tokens):
    assert client.get("/ready").json() == {"ready": True}
    told = client.get("/ready", headers=bearer(tokens["read"])).json()
    assert set(told) == {"ready", "seq", "checksum"}
    assert client.get("/ready", headers=bearer(tokens["decide"])).json() == {"ready": True}


def test_idempotency_keys_of_different_clients_do_not_collide(client, tokens, issuer, students):
    other = issuer.make("decide")[1]
    asked = students.request(0)
    answers = [
        client.post(
            "/v1/decisions", json=asked, headers={"Authorization": f"Bearer {token}", "Idempotency-Key": "one"}
        ).json()["decision"]
        for token in (tokens["decide"], tokens["decide"], other)
    ]
    assert answers[0] == answers[1] != answers[2]


# -- the page --------------------------------------------------------------------------------------------


def test_logging_in_and_out(guarded, tokens):
    with guarded.client() as browser:
        shown = browser.get("/", headers={"Accept": "text/html"})
        assert (shown.status_code, shown.headers["location"]) == (303, "/login")
        assert '<form method="post" action="/login">' in browser.get("/login").text
        for wrong in ("", "x", tokens["wrong"], tokens["revoked"], tokens["decide"]):
            answer = browser.post("/login", data={"key": wrong})
            assert (answer.status_code, answer.headers["location"]) == (303, "/login?wrong")
            assert not browser.cookies
        assert 'role="alert"' in browser.get("/login?wrong").text
        answer = browser.post("/login", data={"key": f" {tokens['read']} "})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"))
        assert browser.get("/v1/arms").status_code == 200
        session = dict(browser.cookies)
        # The cookie that a browser sends by itself allows nothing but reading.
        for route in CLOSED:
            if route.scope != "read":
                is_refused(ask(browser, route), 403)
        browser.post("/logout", data={"now": ""})
        assert browser.get("/v1/arms").status_code == 401
    with guarded.client(cookies=session) as thief:
        assert thief.get("/v1/arms").status_code == 401


def test_other_sites_log_nobody_in_or_out(guarded, tokens):
    for origin in ("https://evil.example", "null", "http://["):
        with guarded.client(headers={"Origin": origin}) as client:
            is_refused(client.post("/login", data={"key": tokens["read"]}), 403)
            is_refused(client.post("/logout", data={"now": ""}), 403)
    with guarded.client(headers={"Origin": guarded.url}) as client:
        assert client.post("/login", data={"key": tokens["read"]}).headers["location"] == "/"


def test_a_session_ends_with_its_key(guarded, issuer):
    key_id, token = issuer.make("read")
    with guarded.client() as browser:
        browser.post("/login", data={"key": token})
        assert browser.get("/v1/arms").status_code == 200
        issuer.revoke(key_id)
        wait_until(lambda: browser.get("/v1/arms").status_code != 200, seconds=5)


# -- without any key -------------------------------------------------------------------------------------


def test_without_keys_everything_is_allowed_locally_and_nothing_to_other_sites(serving):
    server = serving()
    with server.client() as client:
        assert client.get("/v1/arms").status_code == 200
        port = httpx.URL(server.url).port
        for name in (f"localhost:{port}", f"127.0.0.1:{port}", "localhost"):
            assert client.get("/v1/arms", headers={"Host": name}).status_code == 200
        # A name of another site that resolves to this machine; a form of another site.
        assert client.get("/v1/arms", headers={"Host": f"evil.example:{port}"}).status_code == 401
        assert client.get("/v1/arms", headers={"Host": "localhost.evil.example"}).status_code == 401
        body = b'{"arm": "x", "features": {}}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = client.post("/v1/arms", content=body, headers={"Content-Type": kind})
            assert "Content-Type: application/json" in is_refused(answer, 415)
        # Browsers ask for permission before they send JSON to another site, and do not get it.
        asked = client.options("/v1/arms", headers={"Origin": "https://evil.example"})
        assert is_refused(asked, 405)
        assert not [name for name in asked.headers if name.startswith("access-control")]


def test_the_first_key_closes_a_running_server(serving, tmp_path):
    server = serving(store=store_in(tmp_path))
    issuer = KeyIssuer(demo_config(store=store_in(tmp_path)))
    with server.client() as client:
        assert client.get("/v1/arms").status_code == 200
        key_id, token = issuer.make("read")
        wait_until(lambda: client.get("/v1/arms").status_code != 200, seconds=5)
        # And it stays closed once that key is revoked, which the server has learned when it says so.
        issuer.revoke(key_id)
        wait_until(lambda: "revoked" in client.get("/v1/arms", headers=bearer(token)).text, seconds=5)
        assert client.get("/v1/arms").status_code == 401


def test_other_addresses_than_loopback_need_a_key(tmp_path):
    store = store_in(tmp_path)
    _, token = KeyIssuer(demo_config(store=store)).make("read")
    server = Server(tmp_path, str(write_config(tmp_path, store=store)), "--host", "0.0.0.0").start()  # noqa: S104
    try:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        with server.wait().client() as client:
            assert client.get("/v1/arms").status_code == 401
            assert client.get("/v1/arms", headers=bearer(token)).status_code == 200
    finally:
        server.stop()
