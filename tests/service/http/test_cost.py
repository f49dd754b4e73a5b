"""Limits by cost: no request and no key can keep the service busy for long."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from fairbandits.service.demo import demo_config
from fairbandits.service.http.cost import WaitingWork, request_cost
from fairbandits.service.http.problems import ProblemError
from tests.polling import wait_until
from tests.service.key_issuer import KeyIssuer, bearer
from tests.service.small import PLAIN

# What a stall may take on a busy machine. The requests below took 23 s before there was a limit.
PATIENCE = 5.0
N_HOSTILE = 10


def test_cost_grows_with_users_arms_slates_and_columns():
    assert request_cost([{}], 100, 0) == 110 + 1000
    assert request_cost([{"arms": ["a", "b"]}], 100, 0) == 2 + 1000
    assert request_cost([{"k": 10}], 100, 10) == 200 + 10 * 1080
    assert request_cost([{}] * 3, 100, 0) == 3 * request_cost([{}], 100, 0)


def test_clients_share_what_may_wait():
    work = WaitingWork(1000)
    with pytest.raises(ProblemError, match=r"must cost at most 1,000 \(limits.cost\), got 1,001"):
        work.add("shop", 1001)
    work.add("shop", 600)
    work.add("shop", 400)
    with pytest.raises(ProblemError, match="the waiting requests of this key cost too much"):
        work.add("shop", 1)
    work.add("other", 1000)  # one request is always accepted
    work.remove("other", 1000)
    work.remove("shop", 600)
    work.add("other", 100)
    with pytest.raises(ProblemError, match=r"all keys share 1,000 \(limits.cost\)"):
        work.add("shop", 200)  # half of it, because another key waits
    work.remove("other", 100)
    work.remove("shop", 400)
    assert work._waiting == {}


def test_many_clients_have_a_share_nevertheless():
    work = WaitingWork(1000)
    for number in range(50):
        work.add(f"client {number}", 50)
        work.add(f"client {number}", 50)


# -- a real server ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return {"url": f"sqlite:///{tmp_path_factory.mktemp('costly')}/log.db"}


@pytest.fixture(scope="module")
def tokens(place):
    issuer = KeyIssuer(demo_config(store=place))
    return {name: issuer.make("decide", "reward", "read")[1] for name in ("hostile", "honest")}


@pytest.fixture(scope="module")
def server(serving_module, place, tokens):
    return serving_module(store=place)


def hostile_batch(students, users=1000, k=100):
    """A request of a few bytes per user that asks for very much."""
    smallest = min((students.request(number) for number in range(50)), key=lambda each: len(json.dumps(each)))
    return {"decisions": [smallest | {"k": k}] * users}


class HealthWatch(threading.Thread):
    """Asks for the health of a server all the time; `worst` is the longest wait, in seconds."""

    def __init__(self, url):
        super().__init__()
        self._url = url
        self._is_going = True
        self.worst = 0.0
        self.asked = 0

    def run(self):
        with httpx.Client(base_url=self._url, timeout=60) as client:
            while self._is_going:
                began = time.monotonic()
                assert client.get("/health").status_code == 200
                self.worst = max(self.worst, time.monotonic() - began)
                self.asked += 1

    def __enter__(self):
        self.start()
        wait_until(lambda: self.asked > 5)
        return self

    def __exit__(self, *_):
        self._is_going = False
        self.join()


def send_at_once(server, token, body, n=N_HOSTILE, path="/v1/decisions/batch"):
    def send(_):
        with server.client(headers=bearer(token)) as client:
            return client.post(path, json=body)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(send, range(n)))


def test_hostile_requests_are_refused_with_the_reason_and_stall_nobody(server, tokens, students):
    with HealthWatch(server.url) as watch:
        answers = send_at_once(server, tokens["hostile"], hostile_batch(students))
    for answer in answers:
        problem = answer.json()
        assert (answer.status_code, problem["title"]) in [(422, "Request too costly"), (429, "Too many requests")]
        assert "limits.cost" in problem["detail"] or "limits.rate" in problem["detail"]
    assert any("split the request, or ask for smaller slates" in answer.text for answer in answers)
    assert watch.worst < PATIENCE


def answers_while_another_key_decides(server, tokens, students, body, **options):
    """Send a body again and again while another key is answered in time; return the answers."""
    done = threading.Event()
    answers = []

    def flood():
        while not done.is_set():
            answers.extend(send_at_once(server, tokens["hostile"], body, **options))

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        wait_until(lambda: answers)
        with server.client(headers=bearer(tokens["honest"])) as client, HealthWatch(server.url) as watch:
            for number in range(10):
                began = time.monotonic()
                assert client.post("/v1/decisions", json=students.request(number)).status_code == 200
                assert time.monotonic() - began < PATIENCE
    finally:
        done.set()
        thread.join()
    assert watch.worst < PATIENCE
    return answers


def test_requests_within_the_limit_do_not_keep_other_keys_from_being_answered(server, tokens, students):
    # As much as one request may cost, from ten connections again and again.
    body = hostile_batch(students, users=90)
    answers = answers_while_another_key_decides(server, tokens, students, body, n=5)
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} == {429}
    assert {answer.json()["title"] for answer in refused} & {"Too much work waiting", "Too many requests"}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)


def test_rewards_of_too_many_arms_are_refused(serving, students):
    server = serving(limits={"cost": 500_000})
    with server.client() as client:
        body = hostile_batch(students, users=2, k=100)  # of 200 arms, 241 of which the limit pays for
        decisions = [
            each["decision"]
            for _ in range(2)
            for each in client.post("/v1/decisions/batch", json=body).json()["decisions"]
        ]
        rewards = [{"decision": each, "reward": 0.5} for each in decisions]
        answer = client.post("/v1/rewards", json=rewards)
        assert (answer.status_code, answer.json()["title"]) == (422, "Request too costly")
        assert "at most 241 arms in total (limits.cost), got 400; split the request" in answer.json()["detail"]
        assert client.post("/v1/rewards", json=rewards[:2]).status_code == 200
        # Alone, it is accepted whatever its arms.
        assert client.post("/v1/rewards", json=rewards[2]).status_code == 200


def test_lists_of_rewards_that_wait_do_not_keep_other_keys_from_being_answered(server, tokens, students):
    unknown = f"{int(time.time() * 1000):012x}" + "0" * 20
    body = [{"decision": unknown, "reward": 0.5}] * 1000
    answers = answers_while_another_key_decides(server, tokens, students, body, n=40, path="/v1/rewards")
    assert {answer.status_code for answer in answers} == {200, 429}
    refused = [answer for answer in answers if answer.status_code == 429]
    assert {answer.json()["title"] for answer in refused} & {"Too much work waiting", "Too many requests"}


def test_the_rate_is_charged_for_the_arms_of_rewards(serving, students, tmp_path):
    server = serving(limits={"rate": 0.01, "burst": 600.0}, store={"url": f"sqlite:///{tmp_path}/log.db"})
    with server.client() as client:
        body = hostile_batch(students, users=10, k=100)  # about 207 tokens
        decisions = client.post("/v1/decisions/batch", json=body).json()["decisions"]
        # One number for a slate is the reward of all its arms, as only the log knows: another 207 tokens.
        rewards = [{"decision": each["decision"], "reward": 0.5} for each in decisions]
        assert client.post("/v1/rewards", json=rewards).status_code == 200
        left = sum(client.get("/v1/arms?limit=1").status_code == 200 for _ in range(250))
        assert 150 < left < 190


def test_the_rate_is_charged_for_the_cost(serving, students):
    server = serving(limits={"rate": 1.0, "burst": 200.0})
    with server.client() as client:
        body = hostile_batch(students, users=20, k=50)  # a cost of about 2 million, of which 200 tokens pay for
        assert client.post("/v1/decisions/batch", json=body).status_code == 200
        late = client.get("/v1/arms")
        assert late.status_code == 429
        assert int(late.headers["retry-after"]) > 1
        assert client.get("/health").status_code == 200


def test_a_list_of_many_arms_costs_more_tokens(serving, tmp_path):
    arms = [{"arm": f"course {number}", "features": {"hours": 1}} for number in range(1000)]
    limits = {"rate": 0.001, "burst": 50}
    server = serving(**PLAIN | {"arms": arms, "limits": limits, "store": {"url": f"sqlite:///{tmp_path}/log.db"}})
    with server.client() as client:
        lists = [client.get("/v1/arms?limit=400&after=course 5") for _ in range(2)]
        assert [len(each.json()["arms"]) for each in lists] == [400, 400]
        # 50 tokens, of which two lists have taken 5 each.
        statuses = [client.get("/v1/arms?limit=1").status_code for _ in range(60)]
        assert statuses == [200] * 40 + [429] * 20
