"""Who may do what, asked of a real server: every route without a key, with a wrong, a revoked, a narrow one."""

import asyncio
import time

import httpx
import pytest

from fairbandits.service.auth.keys import SCOPES, make_key
from fairbandits.service.auth.scopes import ROUTES
from fairbandits.service.demo import demo_config
from fairbandits.service.http.app import create_app
from tests.service.conftest import Server, write_config
from tests.service.holder import Holder, bearer

CLOSED = [access for access in ROUTES if access.scope is not None]
OPEN = [access for access in ROUTES if access.scope is None]


def named(access):
    return f"{access.method} {access.path}"


def store_in(folder):
    return {"url": f"sqlite:///{folder}/fairbandits.db"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("guarded")


@pytest.fixture(scope="module")
def holder(folder):
    return Holder(demo_config(store=store_in(folder)))


@pytest.fixture(scope="module")
def tokens(holder):
    """A key for each scope, one for all but each, and one that was revoked."""
    tokens = {scope: holder.make(scope)[1] for scope in SCOPES}
    tokens |= {f"all but {scope}": holder.make(*(set(SCOPES) - {scope}))[1] for scope in SCOPES}
    identity, tokens["revoked"] = holder.make(*SCOPES)
    holder.revoke(identity)
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


def ask(client, access, token=None, **headers):
    path = access.path.replace("{arm}", "m00").replace("{name}", "index.html")
    headers = {"Content-Type": "application/json", **headers}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    body = b"{}" if access.body else None
    return client.request(access.method, path, headers=headers, content=body)


def is_refused(answer, status):
    problem = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(problem) == {"type", "title", "status", "detail"}
    return problem["detail"]


@pytest.mark.parametrize("access", CLOSED, ids=named)
class TestEveryRoute:
    def test_without_a_key(self, client, access):
        answer = ask(client, access)
        assert f"needs a key that is good for {access.scope!r}" in is_refused(answer, 401)
        assert answer.headers["www-authenticate"].startswith("Bearer")

    @pytest.mark.parametrize("key", ["wrong", "unknown"])
    def test_with_a_key_that_is_not_known(self, client, access, tokens, key):
        assert "not known here" in is_refused(ask(client, access, tokens[key]), 401)

    @pytest.mark.parametrize("shown", ["", "Bearer", "Bearer x", "Basic dTpw", "Bearer fb_1_2", "\xe9 \xe9"])
    def test_with_what_is_no_key(self, client, access, shown):
        is_refused(ask(client, access, Authorization=shown.encode("latin-1")), 401)

    def test_with_a_revoked_key(self, client, access, tokens):
        assert "revoked" in is_refused(ask(client, access, tokens["revoked"]), 401)

    def test_with_a_key_for_all_but_this(self, client, access, tokens):
        answer = ask(client, access, tokens[f"all but {access.scope}"])
        assert f"needs the scope {access.scope!r}" in is_refused(answer, 403)

    def test_with_a_key_for_each_other_scope(self, client, access, tokens):
        for scope in set(SCOPES) - {access.scope}:
            is_refused(ask(client, access, tokens[scope]), 403)

    def test_with_the_key_it_needs(self, client, access, tokens):
        if access.path == "/v1/stream":
            with client.stream("GET", access.path, headers=bearer(tokens["read"])) as answer:
                assert answer.status_code == 200
            return
        answer = ask(client, access, tokens[access.scope])
        assert answer.status_code in (200, 422)
        if access.body:
            assert answer.status_code == 422  # an empty body is let in, and is wrong


@pytest.mark.parametrize("access", OPEN, ids=named)
def test_what_is_open_needs_no_key(client, access):
    kind = "application/x-www-form-urlencoded"
    assert ask(client, access, **{"Content-Type": kind}).status_code in (200, 303)


def all_paths(routes):
    """List the paths of an app's routes, in the schema or not, through the routers that it includes."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from all_paths(inner.routes)
        else:
            yield from ((method, route.path) for method in getattr(route, "methods", None) or ["GET"])


def test_every_route_stands_in_the_table(tmp_path):
    app = create_app(demo_config(store={"url": f"sqlite:///{tmp_path}/x.db"}))
    known = {(access.method, access.path) for access in ROUTES}
    there = {(method, path.replace(":path", "")) for method, path in all_paths(app.routes) if method != "HEAD"}
    assert there == known
    described = {(m.upper(), path) for path, ways in app.openapi()["paths"].items() for m in ways}
    assert described <= known
    for path, ways in app.openapi()["paths"].items():
        for method, operation in ways.items():
            [scope] = [access.scope for access in ROUTES if (access.method, access.path) == (method.upper(), path)]
            assert ("security" in operation) == (scope is not None)


def test_a_route_that_is_not_in_the_table_is_not_served(tmp_path):
    app = create_app(demo_config(store={"url": f"sqlite:///{tmp_path}/x.db"}))
    app.add_api_route("/v1/secret", lambda: "secret")
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
    answer = asyncio.run(client.get("/v1/secret"))
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_a_running_server_learns_of_new_and_of_revoked_keys(client, holder):
    identity, token = holder.make("read")
    headers = bearer(token)
    assert client.get("/v1/arms", headers=headers).status_code == 200  # at once
    holder.revoke(identity)
    began = time.monotonic()
    while client.get("/v1/arms", headers=headers).status_code == 200:
        assert time.monotonic() - began < 5
        time.sleep(0.05)
    assert "revoked" in is_refused(client.get("/v1/arms", headers=headers), 401)


def test_ready_says_more_to_those_who_may_read(client, tokens):
    assert client.get("/ready").json() == {"ready": True}
    told = client.get("/ready", headers=bearer(tokens["read"])).json()
    assert set(told) == {"ready", "seq", "checksum"}
    assert client.get("/ready", headers=bearer(tokens["decide"])).json() == {"ready": True}


def test_an_idempotency_key_is_of_one_client(client, tokens, holder, students):
    other = holder.make("decide")[1]
    asked = students.request(0)
    answers = [
        client.post(
            "/v1/decisions", json=asked, headers={"Authorization": f"Bearer {token}", "Idempotency-Key": "one"}
        ).json()["decision"]
        for token in (tokens["decide"], tokens["decide"], other)
    ]
    assert answers[0] == answers[1] != answers[2]


# -- the page --------------------------------------------------------------------------------------------


def test_somebody_logs_in_and_out(guarded, tokens):
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
        # What a browser sends by itself is good for reading alone.
        for access in CLOSED:
            if access.scope != "read":
                is_refused(ask(browser, access), 403)
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


def test_a_session_ends_with_its_key(guarded, holder):
    identity, token = holder.make("read")
    with guarded.client() as browser:
        browser.post("/login", data={"key": token})
        assert browser.get("/v1/arms").status_code == 200
        holder.revoke(identity)
        began = time.monotonic()
        while browser.get("/v1/arms").status_code == 200:
            assert time.monotonic() - began < 5
            time.sleep(0.05)


# -- without any key -------------------------------------------------------------------------------------


def test_before_the_first_key_this_machine_may_do_everything_and_no_site_may(serving):
    server = serving()
    with server.client() as client:
        assert client.get("/v1/arms").status_code == 200
        port = httpx.URL(server.url).port
        for name in (f"localhost:{port}", f"127.0.0.1:{port}", "localhost"):
            assert client.get("/v1/arms", headers={"Host": name}).status_code == 200
        # A name of another site that points here; a form of another site.
        assert client.get("/v1/arms", headers={"Host": f"evil.example:{port}"}).status_code == 401
        assert client.get("/v1/arms", headers={"Host": "localhost.evil.example"}).status_code == 401
        body = b'{"arm": "x", "features": {}}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = client.post("/v1/arms", content=body, headers={"Content-Type": kind})
            assert "Content-Type: application/json" in is_refused(answer, 415)
        # Browsers ask first before they send JSON to another site, and get no leave.
        asked = client.options("/v1/arms", headers={"Origin": "https://evil.example"})
        assert is_refused(asked, 405)
        assert not [name for name in asked.headers if name.startswith("access-control")]


def test_the_first_key_closes_a_running_server(serving, tmp_path):
    server = serving(store=store_in(tmp_path))
    holder = Holder(demo_config(store=store_in(tmp_path)))
    with server.client() as client:
        assert client.get("/v1/arms").status_code == 200
        identity, _ = holder.make("read")
        began = time.monotonic()
        while client.get("/v1/arms").status_code == 200:
            assert time.monotonic() - began < 5
            time.sleep(0.05)
        # And it stays closed when that key is revoked.
        holder.revoke(identity)
        time.sleep(2.2)
        assert client.get("/v1/arms").status_code == 401


def test_beyond_loopback_only_with_a_key(tmp_path):
    store = store_in(tmp_path)
    _, token = Holder(demo_config(store=store)).make("read")
    server = Server(tmp_path, str(write_config(tmp_path, store=store)), "--host", "0.0.0.0").start()  # noqa: S104
    try:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        with server.wait().client() as client:
            assert client.get("/v1/arms").status_code == 401
            assert client.get("/v1/arms", headers=bearer(token)).status_code == 200
    finally:
        server.stop()
