"""The API, by a real server."""

import pytest


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


def test_a_decision_and_its_reward(client, students):
    before = client.get("/ready").json()
    answer = client.post("/v1/decisions", json=students.request(0))
    assert answer.status_code == 200
    decided = answer.json()
    assert set(decided) == {"decision", "arm", "propensity", "scores"}
    parts = decided["scores"]
    assert parts["total"] == pytest.approx(parts["mean"] + parts["exploration"] + parts["fairness"])
    reward = {"decision": decided["decision"], "reward": students.reward(0, decided["arm"])}
    answer = client.post("/v1/rewards", json=reward)
    assert (answer.status_code, answer.json()) == (200, reward)
    assert client.get("/health").json() == {"alive": True}
    assert client.get("/ready").json()["seq"] >= before["seq"]
