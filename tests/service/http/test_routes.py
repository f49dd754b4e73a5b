"""The API of a real server."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.store import Store
from fairbandits.service.state.decider import decide as decide_directly
from tests.service.logs import decided as made
from tests.service.small import PLAIN, USER, small_recommender

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(serving_module):
    """One small service for all tests of this file."""
    return serving_module(**PLAIN)


def decide(client, **how):
    answer = client.post("/v1/decisions", json=USER | how)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer, status, words):
    """Check that a response is a problem with this status and these words."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (status, status), answer.text
    assert re.search(words, answer.text), answer.text
    return problem


# -- decisions and rewards -----------------------------------------------------------------------------


def test_a_decision_and_its_reward(client):
    decided = decide(client)
    assert set(decided) == {"decision", "arm", "propensity", "scores"}
    parts = decided["scores"]
    assert parts["total"] == pytest.approx(parts["mean"] + parts["exploration"] + parts["fairness"])
    reward = {"decision": decided["decision"], "reward": 0.5}
    answer = client.post("/v1/rewards", json=reward)
    assert (answer.status_code, answer.json()) == (200, reward)


def test_eligible_arms_and_slates(client):
    assert decide(client, arms=["chess"])["arm"] == "chess"
    decided = decide(client, k=2, arms=["chess", "algèbre"])
    assert set(decided["slate"]) == {"chess", "algèbre"}
    assert len(decided["scores"]) == 2
    assert "arm" not in decided


def test_many_decisions_at_once(client, server):
    before = server.last_entry()
    answer = client.post("/v1/decisions/batch", json={"decisions": [USER, USER | {"k": 3}, USER | {"groups": {}}]})
    one, slate, other = answer.json()["decisions"]
    assert {"arm", "slate"} & set(one) == {"arm"}
    assert len(slate["slate"]) == 3
    assert other["arm"]
    assert server.last_entry() == before + 3


def test_a_batch_of_decisions_is_made_whole_or_not_at_all(client, server):
    before = server.last_entry()
    body = {"decisions": [USER, USER | {"arms": ["nothing"]}]}
    refused(client.post("/v1/decisions/batch", json=body), 422, "in the catalogue, got.*#/decisions/1")
    assert server.last_entry() == before


def test_a_repeated_reward_gets_the_same_response(client, server):
    before = server.last_entry()
    reward = {"decision": decide(client)["decision"], "reward": 0.25}
    answers = [client.post("/v1/rewards", json=reward) for _ in range(3)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, reward)] * 3
    refused(
        client.post("/v1/rewards", json=reward | {"reward": 0.5}),
        409,
        "already has a different reward, which is kept",
    )
    assert server.last_entry() == before + 2


def test_rewards_of_slates(client):
    decided = decide(client, k=3)
    wrong = {"decision": decided["decision"], "reward": [0.5, None]}
    refused(
        client.post("/v1/rewards", json=wrong),
        422,
        "one value for each of the 3 arms, null where there is none, got 2",
    )
    refused(
        client.post("/v1/rewards", json=wrong | {"reward": [None] * 3}), 422, "at least one value, got only nulls"
    )
    good = wrong | {"reward": [0.5, None, 1.0]}
    assert client.post("/v1/rewards", json=good).json() == good
    one = {"decision": decide(client, k=2)["decision"], "reward": 0.125}
    assert client.post("/v1/rewards", json=one).json() == one
    single = {"decision": decide(client)["decision"], "reward": [0.5]}
    refused(client.post("/v1/rewards", json=single), 422, "the decision is a single arm, not a slate")


def test_rewards_in_any_order(client):
    decided = [decide(client) for _ in range(4)]
    for one in reversed(decided):
        answer = client.post("/v1/rewards", json={"decision": one["decision"], "reward": 0.75})
        assert answer.status_code == 200


def test_unknown_decisions(client):
    refused(client.post("/v1/rewards", json={"decision": "0" * 32, "reward": 0.5}), 404, "there is no decision")
    refused(client.post("/v1/rewards", json={"decision": "x", "reward": 0.5}), 422, "decision.*pattern")


def test_many_rewards_each_with_its_own_result(client, server):
    first, second = decide(client)["decision"], decide(client)["decision"]
    before = server.last_entry()
    rewards = [
        {"decision": first, "reward": 0.5},
        {"decision": "0" * 32, "reward": 0.5},
        {"decision": first, "reward": 0.5},
        {"decision": first, "reward": 0.75},
        {"decision": second, "reward": [0.5]},
        {"decision": second, "reward": 1},
    ]
    answer = client.post("/v1/rewards", json=rewards)
    assert answer.status_code == 200
    results = answer.json()["rewards"]
    assert [result["decision"] for result in results] == [reward["decision"] for reward in rewards]
    assert [result.get("problem", {}).get("status", 200) for result in results] == [200, 404, 200, 409, 422, 200]
    assert server.last_entry() == before + 2


@pytest.mark.parametrize("reward", [1.5, -0.1, "0.5", True, None, [], [0.5, 2], {"a": 1}])
def test_invalid_rewards(client, reward, server):
    before = server.last_entry()
    body = {"decision": decide(client)["decision"], "reward": reward}
    refused(client.post("/v1/rewards", json=body), 422, '"pointer":"#/reward')
    assert server.last_entry() == before + 1


def test_numbers_that_are_not_finite(client):
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        body = f'{{"features": {{"age": {number}, "language": "en"}}}}'
        assert client.post("/v1/decisions", content=body, headers=JSON).status_code in (400, 422)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "features: Field required"),
        ({"features": {"age": 30}}, "features.language: Field required"),
        ({"features": {"language": "de"}}, "features.language.*'en' or 'fr'"),
        ({"features": {"language": "en", "age": "30"}}, "features.age.*valid number"),
        ({"features": {"language": "en", "age": 19}}, "features.age.*greater than or equal to 20"),
        ({"features": {"language": "en", "size": 1}}, "features.size.*Extra inputs are not permitted"),
        (USER | {"groups": {"gender": "x"}}, "groups.gender.*'female' or 'male'"),
        (USER | {"groups": {"height": "x"}}, "groups.height.*Extra inputs"),
        (USER | {"k": 0}, "k: Input should be greater than or equal to 1"),
        (USER | {"k": 4}, "k must be at most the 3 arm.s. on offer, got 4"),
        (USER | {"arms": []}, "arms: List should have at least 1 item"),
        (USER | {"arms": ["chess", "chess"]}, "arm ids must be unique"),
        (USER | {"arms": ["'; DROP TABLE events; --"]}, "in the catalogue, got"),
        (USER | {"colour": "red"}, "colour: Extra inputs"),
        ([], "should be an object"),
    ],
)
def test_invalid_users(client, body, words, server):
    before = server.last_entry()
    refused(client.post("/v1/decisions", json=body), 422, words)
    assert server.last_entry() == before


def test_bodies_that_are_not_json(client):
    for body in (b"", b"{", b"\xff", b'{"features": }'):
        refused(client.post("/v1/decisions", content=body, headers=JSON), 400, "Malformed JSON")
    refused(client.post("/v1/decisions", content=b"[" * 100_000, headers=JSON), 400, "recursion")


def test_missing_groups_and_features(client):
    answer = client.post(
        "/v1/decisions", json={"features": {"language": "fr", "age": None}, "groups": {"gender": None}}
    )
    assert answer.status_code == 200
    assert client.post("/v1/decisions", json={"features": {"language": "fr"}}).status_code == 200


# -- idempotency keys ----------------------------------------------------------------------------------


def test_the_same_request_with_the_same_key_has_one_effect(client, server):
    before = server.last_entry()
    key = {"Idempotency-Key": "first"}
    answers = [client.post("/v1/decisions", json=USER, headers=key) for _ in range(3)]
    assert len({answer.content for answer in answers}) == 1
    assert server.last_entry() == before + 1
    other = client.post("/v1/decisions", json=USER, headers={"Idempotency-Key": "second"})
    assert other.json()["decision"] != answers[0].json()["decision"]


def test_an_idempotency_key_of_another_request_is_refused(client):
    key = {"Idempotency-Key": "third"}
    client.post("/v1/decisions", json=USER, headers=key)
    for path, body in (("/v1/decisions", USER | {"k": 1}), ("/v1/decisions/batch", {"decisions": [USER]})):
        refused(client.post(path, json=body, headers=key), 422, "was used before with another request")


def test_the_same_key_at_the_same_time(server):
    with server.client() as client, ThreadPoolExecutor(8) as threads:
        key = {"Idempotency-Key": "at once"}
        answers = threads.map(lambda _: client.post("/v1/decisions", json=USER, headers=key), range(16))
        assert len({answer.content for answer in answers}) == 1


def test_invalid_idempotency_keys(client):
    for key in ("", "x" * 201):
        refused(client.post("/v1/decisions", json=USER, headers={"Idempotency-Key": key}), 422, "1 to 200")


def test_idempotency_keys_of_rewards_and_arms(client):
    reward = {"decision": decide(client)["decision"], "reward": 0.5}
    key = {"Idempotency-Key": "reward"}
    answers = [client.post("/v1/rewards", json=reward, headers=key).content for _ in range(2)]
    assert answers[0] == answers[1]
    arm = {"arm": "keyed", "features": {"hours": 1}}
    key = {"Idempotency-Key": "arm"}
    answers = [client.post("/v1/arms", json=arm, headers=key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], "the second is no conflict with the first"
    assert answers[0].content == answers[1].content
    # A repeated request gets its response even if it would be refused now.
    body, key = USER | {"arms": ["keyed"]}, {"Idempotency-Key": "gone"}
    before = client.post("/v1/decisions", json=body, headers=key)
    assert client.delete("/v1/arms/keyed").status_code == 200
    assert client.post("/v1/decisions", json=body, headers=key).content == before.content
    refused(client.post("/v1/decisions", json=body), 422, "in the catalogue, got")


# -- arms ----------------------------------------------------------------------------------------------


def listed(client):
    return {arm["arm"]: arm for arm in client.get("/v1/arms").json()["arms"]}


def test_arms_are_added_changed_and_retired(client):
    new = {"arm": "knots/2 ü", "features": {"hours": 3}, "matches": {"language": "en"}}
    answer = client.post("/v1/arms", json=new)
    assert answer.json()["arms"] == [new | {"version": 1}]
    assert listed(client)["knots/2 ü"] == new | {"version": 1}
    assert decide(client, arms=["knots/2 ü"])["arm"] == "knots/2 ü"
    refused(client.post("/v1/arms", json=new), 409, "arm 'knots/2 ü' already exists")
    changed = client.put("/v1/arms/knots%2F2%20%C3%BC", json={"features": {"hours": 5}})
    assert changed.json()["arms"][0] == {"arm": "knots/2 ü", "version": 2, "features": {"hours": 5}, "matches": {}}
    open_decision = decide(client, arms=["knots/2 ü"])["decision"]
    assert client.delete("/v1/arms/knots%2F2%20%C3%BC").json()["arms"][0]["version"] == 3
    assert "knots/2 ü" not in listed(client)
    refused(client.delete("/v1/arms/knots%2F2%20%C3%BC"), 404, "no such arm, or it was retired")
    refused(client.put("/v1/arms/knots", json={"features": {"hours": 5}}), 404, "no such arm")
    answer = client.post("/v1/rewards", json={"decision": open_decision, "reward": 1})
    assert answer.status_code == 200, "for a retired arm"
    assert client.post("/v1/arms", json=new).json()["arms"][0]["version"] == 4
    client.delete("/v1/arms/knots%2F2%20%C3%BC")


def test_many_arms_all_or_none(client):
    before = listed(client)
    several = [{"arm": f"new{number}", "features": {"hours": number}} for number in range(5)]
    refused(client.post("/v1/arms", json=[*several, several[0]]), 409, "arm 'new0' already exists")
    refused(client.post("/v1/arms", json=[*several, {"arm": "chess", "features": {"hours": 1}}]), 409, "chess")
    assert listed(client) == before
    assert len(client.post("/v1/arms", json=several).json()["arms"]) == 5
    first = client.get("/v1/arms?limit=3").json()
    second = client.get(f"/v1/arms?limit=100&after={first['next']}").json()
    assert second["next"] is None
    assert [arm["arm"] for arm in first["arms"] + second["arms"]] == sorted(listed(client))
    for arm in several:
        client.delete(f"/v1/arms/{arm['arm']}")


@pytest.mark.parametrize(
    "arm",
    [
        {},
        {"arm": "", "features": {"hours": 1}},
        {"arm": "a\x00", "features": {"hours": 1}},
        {"arm": "x" * 201, "features": {"hours": 1}},
        {"arm": 5, "features": {"hours": 1}},
        {"arm": "a", "features": {"hours": 41}},
        {"arm": "a", "features": {}},
        {"arm": "a", "features": {"hours": 1, "days": 1}},
        {"arm": "a", "features": {"hours": 1}, "matches": {"hours": "x"}},
        {"arm": "a", "features": {"hours": 1}, "price": 1},
    ],
)
def test_invalid_arms(client, arm, server):
    before = server.last_entry()
    refused(client.post("/v1/arms", json=arm), 422, "pointer")
    refused(client.post("/v1/arms", json=[arm]), 422, "pointer")
    assert server.last_entry() == before


def test_two_clients_change_one_arm_at_the_same_time(server):
    with server.client() as client, ThreadPoolExecutor(8) as threads:
        client.post("/v1/arms", json={"arm": "busy", "features": {"hours": 0}})
        put = list(
            threads.map(
                lambda hours: client.put("/v1/arms/busy", json={"features": {"hours": hours}}).status_code,
                range(16),
            )
        )
        assert set(put) == {200}
        assert listed(client)["busy"]["version"] == 17
        gone = list(threads.map(lambda _: client.delete("/v1/arms/busy").status_code, range(8)))
        assert sorted(gone) == [200] + [404] * 7


# -- operations ----------------------------------------------------------------------------------------


def test_health_and_readiness(client):
    assert client.get("/health").json() == {"alive": True}
    ready = client.get("/ready").json()
    assert ready["ready"] is True
    assert re.fullmatch("[0-9a-f]{64}", ready["checksum"])


def test_metrics(client):
    for number in range(50):
        body = USER | {"groups": {"gender": "male" if number % 2 else "female", "region": "north"}}
        reward = {
            "decision": client.post("/v1/decisions", json=body).json()["decision"],
            "reward": float(number % 2),
        }
        client.post("/v1/rewards", json=reward)
    text = client.get("/metrics").text
    for line in (
        r'fairbandits_group_rewards_total\{attribute="gender",group="male"\} 25.0',
        r'fairbandits_group_mean_reward\{attribute="gender",group="male"\} 1.0',
        r'fairbandits_gap\{attribute="gender",bound="low"\} 0\.\d+',
        r'fairbandits_alert\{attribute="gender"\} [01].0',
        r"fairbandits_store_up 1.0",
        r'fairbandits_request_seconds_count\{route="/v1/decisions",status="200"\} \d+.0',
    ):
        assert re.search(f"^{line}$", text, re.M), line
    assert "python" not in text, "no arms, no features"


def test_small_groups_are_not_shown(serving):
    server = serving(**PLAIN | {"min_group": 3})
    with server.client() as client:
        for group, times in (("female", 3), ("male", 2)):
            for _ in range(times):
                body = USER | {"groups": {"gender": group}}
                decision = client.post("/v1/decisions", json=body).json()["decision"]
                client.post("/v1/rewards", json={"decision": decision, "reward": 0.5})
        text = client.get("/metrics").text
        assert 'group="female"' in text
        assert 'group="male"' not in text
        assert "fairbandits_gap{" not in text


def test_other_paths_and_methods_are_problems_too(client):
    refused(client.get("/nowhere"), 404, "Not found")
    refused(client.get("/v1/decisions"), 405, "Method not allowed")
    refused(client.get("/v1/arms?limit=0"), 422, "limit")


def test_the_description_of_the_api(client):
    spec = client.get("/openapi.json").json()
    user = spec["components"]["schemas"]["UserFeatures"]
    assert user["properties"]["age"]["anyOf"][0] == {"type": "number", "minimum": 20.0, "maximum": 70.0}
    assert user["required"] == ["language"]
    operation = spec["paths"]["/v1/decisions"]["post"]
    assert operation["requestBody"]["content"]["application/json"]["example"]
    assert {"200", "400", "409", "422", "503"} <= set(operation["responses"])
    used = set(re.findall(r"#/components/schemas/(\w+)", str(spec)))
    assert used <= set(spec["components"]["schemas"])


def test_the_examples_of_the_description_work(client):
    spec = client.get("/openapi.json").json()
    example = {
        path: operation["post"]["requestBody"]["content"]["application/json"]["example"]
        for path, operation in spec["paths"].items()
        if "post" in operation
    }
    for path in ("/v1/decisions", "/v1/decisions/batch", "/v1/arms"):
        assert client.post(path, json=example[path]).status_code == 200, path
    assert client.post("/v1/rewards", json=example["/v1/rewards"]).status_code == 404, "right, but unknown"
    client.delete(f"/v1/arms/{example['/v1/arms']['arm']}")


# -- time ----------------------------------------------------------------------------------------------


def test_rewards_days_late_and_too_late(serving, tmp_path):
    recommender = small_recommender()
    now = time.time()
    late, expired = (
        made(
            number,
            time=now - days * 86400.0,
            picked=["chess"],
            contexts=decide_directly(recommender, USER["features"], USER["groups"], arms=["chess"]).contexts,
            width=6,
        )
        for number, days in ((1, 29.0), (2, 31.0))
    )
    url = f"sqlite:///{tmp_path}/log.db"
    store = Store(url)
    store.open(recommender.config.log_schema())
    append(store, [AppendEvents(events=[late, expired])], 0)
    store.close()
    with serving(**PLAIN | {"store": {"url": url}}).client() as client:
        client.post("/v1/arms", json=[{"arm": "chess", "features": {"hours": 1}}])
        answer = client.post("/v1/rewards", json={"decision": late.id, "reward": 0.5})
        assert answer.status_code == 200
        refused(client.post("/v1/rewards", json={"decision": expired.id, "reward": 0.5}), 410, "more than 30 days")
        again = client.post("/v1/rewards", json={"decision": late.id, "reward": 0.5})
        assert again.content == answer.content


def test_an_empty_catalogue(serving):
    with serving(**PLAIN | {"arms": []}).client() as client:
        refused(client.post("/v1/decisions", json=USER), 409, "there are no arms to recommend")
        client.post("/v1/arms", json={"arm": "first", "features": {"hours": 1}})
        assert decide(client)["arm"] == "first"
