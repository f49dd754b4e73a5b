"""A database that fairbandits 0.1.0 wrote: it opens, decides as it did then, and goes on."""

import asyncio
import csv
import json
import shutil
from pathlib import Path

import httpx
import pytest

from fairbandits.service.auth.key_store import read_keys
from fairbandits.service.auth.keys import parse_token
from fairbandits.service.config import UsersConfig
from fairbandits.service.engine import Engine
from fairbandits.service.export import export
from fairbandits.service.http.app import create_app
from fairbandits.service.log.store import open_store
from fairbandits.service.state.decider import decide
from tests.service.conftest import new_secret
from tests.service.key_issuer import KeyIssuer, bearer
from tests.service.small import USER, small_config

DATA = Path(__file__).parent / "data"


@pytest.fixture
def expected():
    return json.loads((DATA / "v0_1.json").read_text())


@pytest.fixture
def config(tmp_path):
    shutil.copy(DATA / "v0_1.sqlite", tmp_path / "log.db")
    return small_config(store={"url": f"sqlite:///{tmp_path}/log.db", "snapshot_every": 100})


def run(engine, use):
    """Start an engine, use it, and stop it."""

    async def work():
        await engine.start()
        try:
            return use(engine)
        finally:
            await engine.stop()

    return asyncio.run(work())


def test_the_recommender_decides_as_it_did(config, expected, caplog):
    engine = Engine(config)
    decision = run(engine, lambda engine: decide(engine.recommender, USER["features"], USER["groups"]))
    assert engine.follower.seq == expected["seq"]
    assert decision.picked == expected["picked"]
    for scores, before in zip(decision.scores, expected["scores"], strict=True):
        assert scores == pytest.approx(before, rel=0, abs=1e-12)
    assert caplog.messages == [], "its snapshot is used"


def test_the_log_alone_leads_to_the_same_decision(config, expected):
    with open_store(config) as store, store.transaction() as connection:
        connection.exec_driver_sql("DELETE FROM snapshots")
    decision = run(Engine(config), lambda engine: decide(engine.recommender, USER["features"], USER["groups"]))
    assert decision.picked == expected["picked"]
    for scores, before in zip(decision.scores, expected["scores"], strict=True):
        assert scores == pytest.approx(before, rel=0, abs=1e-12)


def test_its_decisions_have_no_user(config, tmp_path):
    assert export(config, tmp_path / "log.csv") > 0
    with (tmp_path / "log.csv").open(newline="") as file:
        assert {row["user"] for row in csv.DictReader(file)} == {""}


def test_its_key_is_known(config, expected):
    key_id, secret = parse_token(expected["token"])
    with open_store(config) as store:
        [key] = read_keys(store)
    assert key.id == key_id
    assert key.verify(secret, now=0.0)
    assert key.scopes == {"decide"}


def test_new_decisions_and_rewards_are_appended(config, expected, tmp_path):
    config = config.model_copy(update={"users": UsersConfig(**new_secret(tmp_path))})
    _, new_token = KeyIssuer(config).make("reward")

    async def go_on():
        app = create_app(config)
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
        async with app.router.lifespan_context(app), client:
            named = USER | {"user": "somebody"}
            decided = await client.post("/v1/decisions", json=named, headers=bearer(expected["token"]))
            reward = {"decision": decided.json()["decision"], "reward": 0.5}
            rewarded = await client.post("/v1/rewards", json=reward, headers=bearer(new_token))
            return decided.status_code, rewarded.status_code

    assert asyncio.run(go_on()) == (200, 200)
    with open_store(config) as store:
        decided, rewarded = (entry.event for entry in store.read(expected["seq"]))
        assert (decided.KIND, rewarded.KIND) == ("decided", "rewarded")
        assert len(decided.user) == 32
        assert store.last_snapshot_seq() == expected["seq"] + 2, "a new snapshot was saved"
