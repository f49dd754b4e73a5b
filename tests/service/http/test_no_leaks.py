"""Sensitive values stay in the log of decisions: the server neither prints nor counts them."""

import re

import pytest

from fairbandits.service.auth.keys import parse_token
from fairbandits.service.auth.scopes import SCOPES
from tests.service.key_issuer import KeyIssuer, bearer
from tests.service.small import PLAIN, small_config

# Values that occur nowhere else.
GROUPS = {"gender": ["quietfemale", "quietmale"], "region": ["quietnorth", "quietsouth"]}
WORDS = ["quietenglish", "quietfrench"]
QUIET = PLAIN | {
    "features": PLAIN["features"] | {"language": {"values": WORDS}},
    "attributes": GROUPS,
    "arms": [{"arm": "python", "features": {"hours": 10}}, {"arm": "chess", "features": {"hours": 40}}],
}
HUSH = "hushhush"
USER = {
    "user": "quietsomebody",
    "features": {"age": 33.25, "language": "quietenglish"},
    "groups": {"gender": "quietmale", "region": "quietsouth"},
}


@pytest.fixture(scope="module")
def spoken(serving_module, tmp_path_factory):
    """What a server printed and counted while it received valid and invalid requests, and the key used."""
    folder = tmp_path_factory.mktemp("quiet")
    changed = QUIET | {"store": {"url": f"sqlite:///{folder}/log.db"}, "min_group": 1}
    _, token = KeyIssuer(small_config(**changed)).make(*SCOPES)
    server = serving_module(**changed)
    with server.client(headers=bearer(token)) as client:
        for reward in (0.0, 1.0):
            decision = client.post("/v1/decisions", json=USER).json()["decision"]
            assert client.post("/v1/rewards", json={"decision": decision, "reward": reward}).status_code == 200
        for body in (
            USER | {"groups": {"gender": HUSH}},
            USER | {"groups": {HUSH: "x"}},
            USER | {"features": {"age": HUSH, "language": HUSH}},
            USER | {"arms": [HUSH]},
            USER | {HUSH: 1},
            USER | {"user": HUSH * 30},
        ):
            assert client.post("/v1/decisions", json=body).status_code == 422
        client.post("/v1/decisions", content=HUSH, headers={"Content-Type": "application/json"})
        client.get(f"/{HUSH}")
        client.get(f"/v1/arms?after={HUSH}&{HUSH}=1")
        client.put(f"/v1/arms/{HUSH}", json={"features": {"hours": 1}})
        client.post("/v1/rewards", json={"decision": HUSH, "reward": 0.5})
        client.post("/login", data={"key": HUSH})
        client.get("/v1/arms", headers=bearer(HUSH))
        numbers = client.get("/metrics").text
    server.stop()
    return server.said(), numbers, token


def test_the_server_prints_neither_users_nor_keys(spoken):
    said, _, token = spoken
    for word in (HUSH, "quiet", "33.25", token, parse_token(token)[1]):
        assert word not in said
    assert said == ""


def test_metrics_have_only_configured_labels(spoken):
    _, numbers, token = spoken
    assert HUSH not in numbers
    assert token not in numbers
    for word in WORDS:
        assert word not in numbers
    labels = dict.fromkeys(re.findall(r'(\w+)="([^"]*)"', numbers))
    known = {
        "attribute": set(GROUPS),
        "group": {group for groups in GROUPS.values() for group in groups},
        "bound": {"value", "low", "high"},
    }
    for name, value in labels:
        if name in known:
            assert value in known[name]
        elif name == "route":
            assert value == "other" or re.fullmatch(r"/[a-z0-9/{}:._]*", value)
        else:
            assert name in ("status", "le")
    assert 'group="quietmale"' in numbers
