"""Users of decisions: stored under a pseudonym, and in the clear nowhere."""

import hashlib
import hmac
import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.service.http.messages import body_without_ids, make_pseudonymiser
from fairbandits.service.log.store import Store
from tests.service.conftest import new_secret
from tests.service.small import PLAIN, USER

# An id that occurs nowhere else, with characters that JSON may escape.
ID = "quiet.zoë@example.org"
SECRET = bytes(range(32))
JSON = {"Content-Type": "application/json"}


def pseudonym(secret, user):
    """The first 128 bits of the HMAC-SHA256, in hexadecimal digits."""
    return hmac.new(secret, user.encode(), hashlib.sha256).hexdigest()[:32]


def users_in(url):
    """The users of all decisions in a log, in order."""
    store = Store(url)
    events = [entry.event for entry in store.read(0)]
    store.close()
    return [event.user for event in events if event.KIND == "decided"]


def sqlite_url(folder):
    return f"sqlite:///{folder}/log.db"


# -- pseudonyms ------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_pseudonyms(user):
    made = make_pseudonymiser(SECRET)(user)
    assert made == pseudonym(SECRET, user)
    assert re.fullmatch("[0-9a-f]{32}", made)
    assert make_pseudonymiser(SECRET[::-1])(user) != made


def test_the_secret_is_not_shown_by_the_pseudonymiser():
    assert "secret" not in repr(make_pseudonymiser(b"secret" * 6))


def test_only_requests_that_name_users_are_recognised_by_their_values():
    body = json.dumps(USER).encode()
    assert body_without_ids(body, [USER]) == body, "as requests of 0.1.0 were, whose replies may be stored"
    assert json.loads(body_without_ids(b"", [USER, USER | {"user": "ab"}])) == [USER, USER | {"user": "ab"}]


# -- a real server ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visited(serving_module, tmp_path_factory):
    """A server that was stopped after visits of a user, its responses, its files, and the folder of its log."""
    folder = tmp_path_factory.mktemp("visited")
    server = serving_module(**PLAIN, store={"url": sqlite_url(folder), "snapshot_every": 3}, min_group=1)
    named = USER | {"user": ID}
    with server.client() as client:
        key = {"Idempotency-Key": "visit"}
        answers = [client.post("/v1/decisions", json=named, headers=key) for _ in range(2)]
        batch = {"decisions": [named, USER, USER | {"user": f"{ID}2"}, named | {"k": 2}]}
        answers += [client.post("/v1/decisions/batch", json=batch, headers={"Idempotency-Key": "more visits"})]
        reward = {"decision": answers[0].json()["decision"], "reward": 1.0}
        answers += [client.post("/v1/rewards", json=reward)]
        assert {answer.status_code for answer in answers} == {200}
        refused = [
            client.post("/v1/decisions", json=body, headers=key)
            for body in (
                named | {"user": f"{ID}2"},
                named | {"user": ID * 10},
                named | {"user": [ID]},
                named | {"user": {ID: 1}},
                named | {"arms": ["nothing"]},
                named | {"k": 50},
                named | {"colour": "red"},
            )
        ]
        refused += [client.post("/v1/decisions/batch", json={"decisions": [USER, named | {"user": ID * 10}]})]
        assert {answer.status_code for answer in refused} == {422}
        broken = f'{{"user": "{ID}", '.encode()
        refused += [client.post("/v1/decisions", content=broken, headers=JSON)]
        pages = [client.get(path) for path in ("/", "/v1/fairness", "/metrics", "/openapi.json", "/v1/arms")]
        assert {page.status_code for page in pages} == {200}
    files = contents(folder, server.folder)  # with the journal, which is gone when the server has stopped
    server.stop()
    texts = [answer.text for answer in (*answers, *refused, *pages)]
    return server, texts, files | contents(folder, server.folder), folder


def contents(*folders):
    """The bytes of all files in some folders."""
    return {
        path.name: path.read_bytes() for folder in folders for path in Path(folder).iterdir() if path.is_file()
    }


def forms(text):
    """The bytes of an id as it could be stored: plain, escaped, or as a digest without the secret."""
    escaped = json.dumps(text)[1:-1]
    digests = [hashlib.new(name, text.encode()).hexdigest() for name in ("md5", "sha1", "sha256", "sha512")]
    return [form.encode() for form in (text, text.partition("@")[0], escaped, *digests)]


def test_the_id_is_in_no_file(visited):
    server, _, files, _ = visited
    assert {"log.db", "log.db-wal", "server.log", "config.toml"} <= set(files)
    for name, content in files.items():
        for form in forms(ID):
            assert form not in content, name
    for name in ("log.db", "log.db-wal"):
        assert pseudonym(secret_of(server), ID).encode() in files[name]


def test_neither_the_id_nor_the_pseudonym_is_in_a_response(visited):
    server, texts, _, _ = visited
    for text in texts:
        for form in forms(ID):
            assert form.decode() not in text
        assert pseudonym(secret_of(server), ID) not in text


def secret_of(server):
    return (server.folder.parent / "users.secret").read_bytes()


def test_decisions_have_the_pseudonyms_of_their_users(visited):
    server, _, _, folder = visited
    user, other = (pseudonym(secret_of(server), name) for name in (ID, f"{ID}2"))
    assert users_in(sqlite_url(folder)) == [user, user, None, other, user]


def test_stored_replies_and_digests_do_not_depend_on_the_id_alone(visited):
    """Whoever reads the database knows the rest of the request, and could try ids until the digest fits."""
    *_, folder = visited
    with sqlite3.connect(folder / "log.db") as database:
        stored = database.execute("SELECT digest, body FROM answers").fetchall()
        entries = database.execute("SELECT body FROM events WHERE kind = 'decided'").fetchall()
    assert len(stored) == 2
    assert all(b"user" not in body for _, body in stored)
    named = USER | {"user": ID}
    for values in (named, [named]):
        for separators in ((",", ":"), (", ", ": ")):
            for ascii_only in (True, False):
                text = json.dumps(values, separators=separators, ensure_ascii=ascii_only)
                digest = hashlib.sha256(f"POST /v1/decisions\n{text}".encode()).hexdigest()
                assert digest not in {digest for digest, _ in stored}
    assert sum('"user"' in body for (body,) in entries) == 4, "an entry without a user does not mention one"


def test_the_description_has_the_field(serving):
    with serving(**PLAIN).client() as client:
        spec = client.get("/openapi.json").json()
    field = spec["components"]["schemas"]["DecisionRequest"]["properties"]["user"]
    assert (field["type"], field["minLength"], field["maxLength"]) == ("string", 1, 200)
    body = spec["paths"]["/v1/decisions"]["post"]["requestBody"]["content"]["application/json"]
    assert body["example"]["user"] == "user-17"


# -- requests --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(serving_module, tmp_path_factory):
    return serving_module(**PLAIN, store={"url": sqlite_url(tmp_path_factory.mktemp("users"))})


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("", "at least 1 character"),
        ("x" * 201, "at most 200 characters"),
        (17, "valid string"),
        (None, "valid string"),
        ([], "valid string"),
    ],
)
def test_invalid_users(client, user, words):
    answer = client.post("/v1/decisions", json=USER | {"user": user})
    assert answer.status_code == 422
    assert re.fullmatch(f"#/user: .*{words}", answer.json()["detail"])
    answer = client.post("/v1/decisions/batch", json={"decisions": [USER, USER | {"user": user}]})
    assert answer.status_code == 422
    assert re.fullmatch(f"#/decisions/1/user: .*{words}", answer.json()["detail"])


@pytest.mark.parametrize("user", ["x", "é" * 200, "\x00\n", " 17 ", "🙂"])
def test_any_text_can_be_an_id(client, user):
    assert client.post("/v1/decisions", json=USER | {"user": user}).status_code == 200


def test_half_a_surrogate_pair_is_no_text(client):
    body = json.dumps(USER | {"user": "\ud800"})
    assert client.post("/v1/decisions", content=body, headers=JSON).status_code == 400


def test_a_repeated_request_has_one_effect_however_it_is_written(client):
    named = USER | {"user": "somebody"}
    key = {"Idempotency-Key": "user"} | JSON
    bodies = [json.dumps(named), json.dumps(named, indent=1), json.dumps(dict(reversed(named.items())))]
    assert len({client.post("/v1/decisions", content=body, headers=key).content for body in bodies}) == 1


def test_a_key_that_was_used_for_another_user_is_refused(client):
    key = {"Idempotency-Key": "others"}
    batch = {"decisions": [USER, USER | {"user": "one"}]}
    assert client.post("/v1/decisions/batch", json=batch, headers=key).status_code == 200
    for user in ({"user": "two"}, {}):
        answer = client.post("/v1/decisions/batch", json={"decisions": [USER, USER | user]}, headers=key)
        assert (answer.status_code, "was used before with another request" in answer.text) == (422, True)


def test_without_a_secret_users_are_refused(serving):
    with serving(**PLAIN, users={}).client() as client:
        answers = [
            client.post("/v1/decisions", json=USER | {"user": ID}),
            client.post("/v1/decisions/batch", json={"decisions": [USER | {"user": ID}]}),
        ]
        assert client.post("/v1/decisions", json=USER).status_code == 200
        described = client.get("/openapi.json").json()["components"]["schemas"]["DecisionRequest"]["properties"]
    message = "user must be left out, because no secret is configured; set users.secret_file"
    assert [answer.status_code for answer in answers] == [422, 422]
    assert [answer.json()["detail"] for answer in answers] == [
        f"#/user: {message}",
        f"#/decisions/0/user: {message}",
    ]
    assert all("quiet" not in answer.text for answer in answers)
    assert "user" not in described


def test_workers_and_restarts_give_a_user_the_same_pseudonym(serving, tmp_path):
    server = serving("--workers", "2", **PLAIN, store={"url": sqlite_url(tmp_path)})

    def visit(_):  # each over a connection of its own, which either worker may accept
        return httpx.post(f"{server.url}/v1/decisions", json=USER | {"user": ID}, timeout=30).status_code

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(visit, range(20))) == {200}
    server.stop()
    server.start().wait()
    assert visit(0) == 200
    assert users_in(sqlite_url(tmp_path)) == [pseudonym(secret_of(server), ID)] * 21


def test_another_secret_makes_new_users(serving, tmp_path):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        server = serving(**PLAIN, store={"url": sqlite_url(tmp_path)}, users=new_secret(tmp_path / name))
        with server.client() as client:
            assert client.post("/v1/decisions", json=USER | {"user": ID}).status_code == 200
        server.stop()
    old, new = users_in(sqlite_url(tmp_path))
    assert old == pseudonym((tmp_path / "old" / "users.secret").read_bytes(), ID)
    assert new == pseudonym((tmp_path / "new" / "users.secret").read_bytes(), ID)
    assert old != new
