"""Invalid requests of all kinds: the response says what is wrong and where, and nothing changes."""

import json
import re

import pytest

from fairbandits.service.http.problems import problem_from
from tests.polling import wait_until
from tests.service.small import PLAIN, USER

JSON = {"Content-Type": "application/json"}
SQL = "'; DROP TABLE events; --"
ID = "0" * 32


@pytest.fixture(scope="module")
def server(serving_module):
    return serving_module(**PLAIN)


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        decision = client.post("/v1/decisions", json=USER).json()["decision"]
        client.post("/v1/rewards", json={"decision": decision, "reward": 0.5})
        yield client


@pytest.fixture(scope="module")
def decision(client):
    return client.post("/v1/decisions", json=USER).json()["decision"]


@pytest.fixture
def unchanged(client, server, decision):
    """The state and the log are the same afterwards."""

    def state():
        # The checksum may be a second old, but the number of the entry beside it tells.
        seq = server.last_entry()
        ready = wait_until(lambda: (found := client.get("/ready").json())["seq"] == seq and found)
        return ready, client.get("/v1/arms").json()

    before = state()
    yield
    assert state() == before


def user(**changed):
    return {"features": USER["features"] | changed}


def deep(n):
    return b"[" * n + b"]" * n


WRONG = {
    # not JSON, or not an object
    "nothing": ("/v1/decisions", b"", 400, None),
    "not JSON": ("/v1/decisions", b"{'features': 1}", 400, None),
    "not UTF-8": ("/v1/decisions", b'{"features": "\xff"}', 400, None),
    "half a pair": ("/v1/decisions", b'{"features": {"language": "\\ud800"}}', 400, None),
    "cut off": ("/v1/decisions", json.dumps(USER).encode()[:-2], 400, None),
    "two at once": ("/v1/decisions", b"{}{}", 400, None),
    "a list": ("/v1/decisions", b"[]", 422, "#"),
    "null": ("/v1/decisions", b"null", 422, "#"),
    "a number": ("/v1/rewards", b"12", 422, "#"),
    "deep": ("/v1/decisions", b'{"features": ' + deep(100_000) + b"}", 400, None),
    "deep arms": ("/v1/arms", deep(500_000), 400, None),
    "deep in a place": ("/v1/decisions", {"features": {"age": [[[[[[[[1]]]]]]]]}}, 422, "#/features/age"),
    # numbers that are not finite, or out of range
    "NaN": ("/v1/decisions", b'{"features": {"language": "en", "age": NaN}}', 422, "#/features/age"),
    "infinity": ("/v1/decisions", b'{"features": {"language": "en", "age": Infinity}}', 422, "#/features/age"),
    "minus infinity": (
        "/v1/decisions",
        b'{"features": {"language": "en", "age": -Infinity}}',
        422,
        "#/features/age",
    ),
    "1e999": ("/v1/decisions", b'{"features": {"language": "en", "age": 1e999}}', 422, "#/features/age"),
    "many digits": ("/v1/decisions", b'{"features": {"language": "en", "age": ' + b"9" * 5000 + b"}}", 400, None),
    "too old": ("/v1/decisions", user(age=1e9), 422, "#/features/age"),
    "an object for a reward": ("/v1/rewards", {"decision": ID, "reward": {}}, 422, "#/reward"),
    "an object for an arm": ("/v1/decisions", USER | {"arms": [{}]}, 422, "#/arms/0"),
    "NaN reward": ("/v1/rewards", b'{"decision": "%s", "reward": NaN}' % ID.encode(), 422, "#/reward"),
    "reward outside": ("/v1/rewards", {"decision": ID, "reward": 1.5}, 422, "#/reward"),
    "NaN hours": ("/v1/arms", b'{"arm": "x", "features": {"hours": NaN}}', 422, "#/features/hours"),
    # wrong types
    "text for a number": ("/v1/decisions", user(age="30"), 422, "#/features/age"),
    "true for a number": ("/v1/decisions", user(age=True), 422, "#/features/age"),
    "number for a word": ("/v1/decisions", user(language=1), 422, "#/features/language"),
    "object for a word": ("/v1/decisions", user(language={}), 422, "#/features/language"),
    "text for features": ("/v1/decisions", {"features": "all"}, 422, "#/features"),
    "number for groups": ("/v1/decisions", USER | {"groups": 3}, 422, "#/groups"),
    "half an arm": ("/v1/decisions", USER | {"k": 1.5}, 422, "#/k"),
    "no arms": ("/v1/decisions", USER | {"k": 0}, 422, "#/k"),
    "more arms than there are": ("/v1/decisions", USER | {"k": 100}, 422, "#"),
    "too many arms": ("/v1/decisions", USER | {"k": 101}, 422, "#/k"),
    "beyond 64 bits": ("/v1/decisions", USER | {"k": 10**30}, 422, "#/k"),
    "beyond floats": ("/v1/decisions", USER | {"k": 10**400}, 422, "#/k"),
    "an arm as a number": ("/v1/arms", {"arm": 7, "features": {"hours": 1}}, 422, "#/arm"),
    # unknown names
    "unknown feature": ("/v1/decisions", user(shoe=42), 422, "#/features/shoe"),
    "missing feature": ("/v1/decisions", {"features": {"age": 30}}, 422, "#/features/language"),
    "unknown word": ("/v1/decisions", user(language="de"), 422, "#/features/language"),
    "unknown attribute": ("/v1/decisions", USER | {"groups": {"race": "x"}}, 422, "#/groups/race"),
    "unknown group": ("/v1/decisions", USER | {"groups": {"gender": "x"}}, 422, "#/groups/gender"),
    "unknown field": ("/v1/decisions", USER | {"a/b~c": 1}, 422, "#/a~1b~0c"),
    "unknown arm": ("/v1/decisions", USER | {"arms": ["nothing"]}, 422, "#"),
    "unknown decision": ("/v1/rewards", {"decision": ID, "reward": 0.5}, 404, None),
    "the third of many": (
        "/v1/decisions/batch",
        {"decisions": [USER, USER, user(age="x")]},
        422,
        "#/decisions/2/features/age",
    ),
    "the third has no such arm": (
        "/v1/decisions/batch",
        {"decisions": [USER, USER, USER | {"arms": ["nothing"]}]},
        422,
        "#/decisions/2",
    ),
    "the second reward": (
        "/v1/rewards",
        [{"decision": ID, "reward": 0.1}, {"decision": ID, "reward": "x"}],
        422,
        "#/1/reward",
    ),
    # hostile texts
    "SQL for a word": ("/v1/decisions", user(language=SQL), 422, "#/features/language"),
    "SQL for a group": ("/v1/decisions", USER | {"groups": {"gender": SQL}}, 422, "#/groups/gender"),
    "SQL for a decision": ("/v1/rewards", {"decision": SQL, "reward": 0.5}, 422, "#/decision"),
    "SQL for an arm on offer": ("/v1/decisions", USER | {"arms": [SQL]}, 422, "#"),
    "a line break in an arm": ("/v1/arms", {"arm": "a\nb", "features": {"hours": 1}}, 422, "#/arm"),
    "a null in an arm": ("/v1/arms", {"arm": "a\0b", "features": {"hours": 1}}, 422, "#/arm"),
    "a space that cannot break": ("/v1/arms", {"arm": "a\xa0b", "features": {"hours": 1}}, 422, "#/arm"),
    "a joiner": ("/v1/arms", {"arm": "a\u200db", "features": {"hours": 1}}, 422, "#/arm"),
    "a non-joiner": ("/v1/arms", {"arm": "a\u200cb", "features": {"hours": 1}}, 422, "#/arm"),
    "a filler": ("/v1/arms", {"arm": "a\u3164b", "features": {"hours": 1}}, 422, "#/arm"),
    "an empty arm": ("/v1/arms", {"arm": "", "features": {"hours": 1}}, 422, "#/arm"),
    "a long arm": ("/v1/arms", {"arm": "a" * 201, "features": {"hours": 1}}, 422, "#/arm"),
    # very large
    "a million arms": ("/v1/decisions", USER | {"arms": [f"arm{n}" for n in range(1_000_000)]}, 413, None),
    "a million arms to add": ("/v1/arms", [{"arm": f"a{n}"} for n in range(1_000_000)], 413, None),
    "half a million errors": ("/v1/rewards", b"[" + b"1," * 500_000 + b"1]", 422, "#/0"),
    "many unknown fields": ("/v1/decisions", {f"x{n}": 1 for n in range(60_000)}, 422, None),
    "many arms": ("/v1/decisions", USER | {"arms": [f"{n}" for n in range(100_001)]}, 422, "#/arms"),
    "a long text": ("/v1/decisions", user(language="x" * 1_000_000), 422, "#/features/language"),
}


def ask(client, path, body):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content=content, headers=JSON)


@pytest.mark.usefixtures("unchanged")
def test_invalid_requests_are_refused_with_their_place(client):
    for name, (path, body, status, pointer) in WRONG.items():
        answer = ask(client, path, body)
        assert answer.status_code == status, f"{name}: {answer.text[:500]}"
        assert answer.headers["content-type"] == "application/problem+json", name
        problem = answer.json()
        assert (
            {"type", "title", "status", "detail"}
            <= set(problem)
            <= {"type", "title", "status", "detail", "errors"}
        )
        assert problem["status"] == status, name
        assert len(answer.content) < 10_000, name
        if pointer is not None:
            assert problem["errors"][0]["pointer"] == pointer, f"{name}: {problem}"


@pytest.mark.usefixtures("unchanged")
def test_invalid_arms_headers_and_parameters(client, decision):
    wrong = [
        (client.put("/v1/arms/nothing", json={"features": {"hours": 1}}), 404),
        (client.put(f"/v1/arms/{SQL}", json={"features": {"hours": 1}}), 404),
        (client.put("/v1/arms/%00", json={"features": {"hours": 1}}), 404),
        (client.put("/v1/arms/chess", json={"arm": "other", "features": {"hours": 1}}), 422),
        (client.delete("/v1/arms/nothing"), 404),
        (client.delete(f"/v1/arms/{'x' * 5000}"), 404),
        (client.post("/v1/arms", json={"arm": "chess", "features": {"hours": 1}}), 409),
        (client.get("/v1/arms?limit=0"), 422),
        (client.get("/v1/arms?limit=many"), 422),
        (client.post("/v1/decisions", json=USER, headers={"Idempotency-Key": "x" * 201}), 422),
        (client.post("/v1/rewards", json={"decision": decision, "reward": [0.5, 0.5]}), 422),
        (client.get("/static/..%2f..%2fconfig.toml"), 404),
        (client.get("/static/../../etc/passwd"), 404),
        (client.get("/redoc"), 404),
        (client.get("/v1/arms/"), 404),
        (client.request("TRACE", "/v1/arms"), 405),
        (client.head("/v1/decisions"), 405),
    ]
    for answer, status in wrong:
        assert answer.status_code == status, f"{answer.request.method} {answer.request.url}: {answer.text}"
        assert answer.headers["content-type"] == "application/problem+json"
    assert wrong[7][0].json()["errors"][0]["parameter"] == "limit"
    assert wrong[9][0].json()["errors"][0]["header"] == "Idempotency-Key"
    assert wrong[-1][0].headers["allow"] == "POST"


def test_an_arm_may_be_named_like_sql(client):
    added = client.post("/v1/arms", json={"arm": SQL, "features": {"hours": 1}})
    assert added.status_code == 200
    assert SQL in [arm["arm"] for arm in client.get("/v1/arms").json()["arms"]]
    assert client.post("/v1/decisions", json=USER | {"arms": [SQL]}).json()["arm"] == SQL
    assert client.delete(f"/v1/arms/{SQL}").status_code == 200


def test_an_internal_error_does_not_reveal_values(caplog):
    try:
        raise ValueError("secret: female, 30")
    except ValueError as error:
        problem = problem_from(error)
    number = re.search("[0-9a-f]{8}$", problem.detail)[0]
    assert problem.status == 500
    assert "secret" not in problem.detail
    assert number in caplog.text
    assert "test_problems.py" in caplog.text  # where it was
    assert "secret: female" not in caplog.text.replace('raise ValueError("secret: female, 30")', "")
