"""Services that start from a saved recommender, and recommenders that are loaded from services."""

import asyncio
import json

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler

from fairbandits import EpsilonGreedy, EqualRegretLinUCB, FairLinUCB, LinUCB, Recommender
from fairbandits.audit import audit
from fairbandits.logs import Log
from fairbandits.policies.persistence import PolicyState
from fairbandits.service.config import as_config, load_config
from fairbandits.service.demo import load_config_or_demo
from fairbandits.service.engine import Engine
from fairbandits.service.export import export, export_recommender
from fairbandits.service.http.app import create_app
from fairbandits.service.log.events import Rewarded
from fairbandits.service.log.store import open_store
from fairbandits.service.state.decider import decide
from fairbandits.service.state.findings import Findings
from fairbandits.service.state.monitor import MAX_OPEN_GROUPS
from tests.polling import wait_until
from tests.service.conftest import Server
from tests.service.saved import ITEMS, USER, USERS, load_saved, row_of, saved_config, trained
from tests.service.test_export import run, write


def served(config, use):
    """Start a service in this process, and use a client of it."""

    async def work():
        app = create_app(config)
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")
        async with app.router.lifespan_context(app), client:
            return await use(client)

    return asyncio.run(work())


def opened(config):
    engine = Engine(config)
    engine._open()
    return engine


def assert_equal_decision(answer, decision):
    assert answer["arm"] == str(decision.arm)
    assert answer["propensity"] == decision.probability
    parts = {part: getattr(decision.scores, part)[decision.index].item() for part in answer["scores"]}
    assert answer["scores"] == parts


def last_checksum(client, seq):
    """Return the checksum after an entry; a checksum may be a second old."""
    found = {}

    def is_reached():
        found.update(client.get("/ready").json())
        return found["seq"] == seq

    wait_until(is_reached)
    return found["checksum"]


def test_fit_evaluate_and_serve_without_a_seam(tmp_path):
    """The first decisions of the service are those of the library, bit for bit."""
    commands = [
        ("sample", "log.parquet", "--rows", "300", "--catalogue", "arms.csv"),
        ("fit", "log.parquet", "--policy", "FairLinUCB(gamma=2)", "--catalogue", "arms.csv"),
        ("evaluate", "log.parquet", "--policy", "policy.safetensors", "--catalogue", "arms.csv"),
    ]
    for command in commands:
        ended = run(tmp_path, *command)
        assert ended.returncode == 0, ended.stderr
    log = pd.read_parquet(tmp_path / "log.parquet").head(50)
    features, groups = Log.open(tmp_path / "log.parquet").roles.contexts, ["sex", "race"]
    users = json.loads(log[[*features, *groups]].to_json(orient="records"))
    expected = Recommender.load(tmp_path / "policy.safetensors").choose_many(users)
    server, made = Server(tmp_path, "policy.safetensors"), []
    try:
        with server.start().wait().client() as client:
            for user, decision in zip(users, expected, strict=True):
                body = {"features": {n: user[n] for n in features}, "groups": {n: user[n] for n in groups}}
                answer = client.post("/v1/decisions", json=body).json()
                assert_equal_decision(answer, decision)
                made.append(answer["decision"])
            client.post("/v1/rewards", json=[{"decision": each, "reward": 0.5} for each in made])
            checksum = last_checksum(client, 2 * len(made))
        server.stop()
        with server.start().wait().client() as client:
            assert last_checksum(client, 2 * len(made)) == checksum
    finally:
        server.stop()


async def decide_and_reward(client, n=20):
    """Decide for users of all kinds, and reward most of them."""
    rng = np.random.default_rng(0)
    answers = []
    for number in range(n):
        features = USER["features"] | {
            "age": float(rng.integers(10, 90)),
            "city": str(rng.choice(["Rome", "Bonn"])),
        }
        body = {"features": features, "groups": {"sex": "female" if number % 2 else "male", "band": number % 3}}
        answer = await client.post("/v1/decisions", json=body)
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
        if number % 4:
            reward = {"decision": answer.json()["decision"], "reward": float(rng.random())}
            assert (await client.post("/v1/rewards", json=reward)).status_code == 200
    return answers


async def checksum(client):
    return (await client.get("/ready")).json()["checksum"]


def test_values_are_taken_as_the_encoder_takes_them(tmp_path):
    config = saved_config(tmp_path)
    users = [
        USER,
        {"features": {}, "groups": {"sex": None}},
        {"features": {"age": None, "city": "a new city", "since": None}},
        {
            "features": {"age": 1000, "city": 3, "since": "2020-09-13T12:26:40Z", "speaks": "en"},
            "groups": {"sex": "other", "band": 9},
        },
        {},
    ]

    async def ask(client):
        return (await client.post("/v1/decisions/batch", json={"decisions": users})).json()["decisions"]

    recommender = Recommender.load(tmp_path / "policy.safetensors")
    expected = recommender.choose_many([row_of(user) for user in users])
    for answer, decision in zip(served(config, ask), expected, strict=True):
        assert_equal_decision(answer, decision)


@pytest.mark.parametrize(
    ("user", "pointer", "message"),
    [
        ({"features": {"age": "old"}}, "#/features/age", "valid"),
        ({"features": {"since": "yesterday"}}, "#/features/since", "since must be a date such as 2024-05-01"),
        ({"features": {"nickname": "x"}}, "#/features/nickname", "not permitted"),
        ({"groups": {"band": "old"}}, "#/groups/band", "valid integer"),
        ({"groups": {"sex": 1.5}}, "#/groups/sex", "valid"),
        ({"arms": ["6"]}, "#", "in the catalogue, got ['6']"),
    ],
)
def test_other_values_are_refused(tmp_path, user, pointer, message):
    async def ask(client):
        return (await client.post("/v1/decisions", json=user)).json()

    problem = served(saved_config(tmp_path), ask)
    assert problem["status"] == 422
    assert message in problem["detail"] + str(problem.get("errors", ""))
    assert pointer == "#" or pointer in [each["pointer"] for each in problem["errors"]]


def test_the_description_has_the_columns_of_the_recommender(tmp_path):
    async def ask(client):
        return (await client.get("/openapi.json")).json()["components"]["schemas"]

    schemas = served(saved_config(tmp_path), ask)
    features = schemas["UserFeatures"]["properties"]
    assert list(features) == ["age", "city", "since", "speaks"]
    assert "Known values: Oslo, Rome. Other values are accepted too." in str(features["city"])
    assert "Numbers outside 25 to 61 are clipped" in str(features["age"])
    assert list(schemas["ArmFeatures"]["properties"]) == ["genre", "hours", "language"]
    assert "required" not in schemas["UserFeatures"]


def test_arms_come_and_go(tmp_path):
    config = saved_config(tmp_path)

    async def change(client):
        listed = (await client.get("/v1/arms")).json()["arms"]
        assert listed == [{"arm": arm, "version": 1} for arm in ("7", "8", "9")]
        new = {"arm": "new", "features": {"genre": "drama", "hours": 3, "language": "fr"}}
        assert (await client.post("/v1/arms", json=new)).status_code == 200
        assert (await client.put("/v1/arms/8", json={"features": {"genre": "comedy"}})).status_code == 200
        assert (await client.delete("/v1/arms/7")).status_code == 200
        answer = (await client.post("/v1/decisions", json=USER | {"arms": ["new"]})).json()
        await client.post("/v1/rewards", json={"decision": answer["decision"], "reward": 1.0})
        assert answer["arm"] == "new"
        assert (await client.post("/v1/decisions", json=USER | {"arms": ["7"]})).status_code == 422
        return await checksum(client)

    async def look(client):
        listed = (await client.get("/v1/arms")).json()["arms"]
        assert [(arm["arm"], arm["version"]) for arm in listed] == [("8", 2), ("9", 1), ("new", 1)]
        return await checksum(client)

    assert served(config, change) == served(config, look)
    recommender = export_recommender(config, tmp_path / "out.safetensors")
    assert recommender.items == (8, 9, "new")
    # The library, given the same changes, has the same contexts.
    library = Recommender.load(tmp_path / "policy.safetensors")
    changed = pd.DataFrame(
        {"genre": ["comedy", "drama"], "hours": [None, 3.0], "language": [None, "fr"]}, index=[8, "new"]
    )
    library.add_items(changed)
    library.catalogue.retire(7)
    row = row_of(USER)
    ours, theirs = (each.catalogue.offer([row]) for each in (recommender, library))
    assert ours.arms == theirs.arms
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_a_replay_starts_from_the_stored_recommender(tmp_path):
    """Even if the file is gone, and although snapshots come and go."""
    config = saved_config(tmp_path, store={"snapshot_every": 5})

    async def work(client):
        await decide_and_reward(client)
        return await checksum(client)

    before = served(config, work)
    content = (tmp_path / "policy.safetensors").read_bytes()
    with open_store(config) as store, store.transaction() as connection:
        assert store.last_snapshot_seq() > 0
        assert store.read_start() == content
        connection.exec_driver_sql("DELETE FROM snapshots WHERE seq > 0")
    assert served(config, checksum) == before
    (tmp_path / "policy.safetensors").unlink()
    path = tmp_path / "service.toml"
    path.write_text(f'recommender = "policy.safetensors"\n[store]\nurl = "{config.store.url}"\n')
    assert served(load_config_or_demo(path), checksum) == before


def test_only_the_first_worker_goes_on_with_the_randomness_of_the_file(tmp_path):
    config = saved_config(tmp_path, trained(EpsilonGreedy(epsilon=1.0, random_state=0)))
    library = Recommender.load(tmp_path / "policy.safetensors").choose_many([row_of(USER)] * 30).picked
    engines = [opened(config), opened(config)]
    first, second = ([decide(each.recommender, **USER).picked[0] for _ in range(30)] for each in engines)
    assert first == [str(arm) for arm in library] != second
    for engine in engines:
        engine.store.close()


def test_a_log_of_another_file_is_refused(tmp_path):
    opened(saved_config(tmp_path)).store.close()
    message = r"holds a log that started from another recommender; restore its file, or set store\.url to another"
    with pytest.raises(ValueError, match=message):
        opened(saved_config(tmp_path, trained(FairLinUCB(gamma=1, random_state=1))))


def test_a_damaged_start_is_refused(tmp_path):
    config = saved_config(tmp_path)
    opened(config).store.close()
    with open_store(config) as store, store.transaction() as connection:
        connection.exec_driver_sql("UPDATE snapshots SET sha256 = 'x' WHERE seq = 0")
    (tmp_path / "policy.safetensors").unlink()
    path = tmp_path / "service.toml"
    path.write_text(f'recommender = "policy.safetensors"\n[store]\nurl = "{config.store.url}"\n')
    with pytest.raises(ValueError, match="the recommender that the log starts with is damaged"):
        load_config_or_demo(path)


def test_a_missing_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for load in (load_config_or_demo, lambda path: load_config(path).start):
        with pytest.raises(ValueError, match=r"none\.safetensors: no such file; `fairbandits fit` writes one"):
            load("none.safetensors")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"policy": "LinUCB"}, "policy must not be set together with recommender, whose file defines them"),
        (
            {"features": {}, "attributes": {}, "arm_features": {}, "matches": [], "catalogue": "x", "arms": []},
            "features, attributes, arm_features, matches, catalogue, arms must not be set together",
        ),
        ({"reward": {"low": 0, "window_days": 3}}, r"reward\.low must not be set together with recommender"),
    ],
)
def test_what_the_file_has_must_not_be_configured(tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        saved_config(tmp_path, **changed)


def test_the_rest_can_be_configured(tmp_path):
    config = saved_config(tmp_path, trained(LinUCB(reward_range=(0, 2))), reward={"window_days": 3}, title="Plays")
    assert (config.reward.low, config.reward.high, config.reward.window_days) == (0, 2, 3)
    assert config.title == "Plays"


def test_recommenders_that_a_service_cannot_start_from(tmp_path):
    path = tmp_path / "policy.safetensors"
    policy = FairLinUCB(random_state=0)
    policy.save(path)
    with pytest.raises(ValueError, match=r"policy\.safetensors: contains a policy without users and items"):
        load_config(path)
    path.write_text("text")
    with pytest.raises(ValueError, match=r"policy\.safetensors: not a policy file"):
        load_config(path)
    with pytest.raises(ValueError, match="whose state cannot be rebuilt from the log"):
        saved_config(tmp_path, trained(EqualRegretLinUCB(random_state=0)))
    scaler = ColumnTransformer([("age", StandardScaler(), ["age"])]).fit(USERS)
    with pytest.raises(
        ValueError, match="a service cannot load the custom transformer of users; save a recommender"
    ):
        saved_config(tmp_path, Recommender(FairLinUCB(), USERS, ITEMS, user_encoder=scaler))
    with pytest.raises(ValueError, match="item ids must be unique as text, got both a number and its text form"):
        saved_config(tmp_path, Recommender(FairLinUCB(), USERS, ITEMS.set_axis([1, "1", 2])))


def assert_same_decisions(recommender, engine):
    users = [USER, {"features": {}, "groups": {"sex": "male", "band": 1}}]
    for user in users:
        theirs = decide(engine.recommender, user["features"], user["groups"])
        ours = recommender.choose(row_of(user))
        assert theirs.picked == [str(ours.arm)]
        index = ours.index
        assert theirs.scores == [{part: getattr(ours.scores, part)[index].item() for part in theirs.scores[0]}]


def test_snapshots_and_exports_are_recommenders(tmp_path):
    config = saved_config(tmp_path)
    served(config, decide_and_reward)
    engine = opened(config)
    snapshot = engine.recommender.snapshot()()
    assert_same_decisions(Recommender.from_state(PolicyState.from_bytes(snapshot)), engine)
    export_recommender(config, tmp_path / "out.safetensors")
    loaded = Recommender.load(tmp_path / "out.safetensors")
    assert_same_decisions(loaded, engine)
    assert loaded.policy.checksum() == engine.recommender.policy.checksum()
    assert loaded.item_id is None
    assert "service" not in loaded.policy.metadata
    engine.store.close()
    # What was learned goes on, in the library or in another service.
    other = as_config(
        {"recommender": "out.safetensors", "store": {"url": f"sqlite:///{tmp_path}/other.db"}}, folder=tmp_path
    )
    assert_same_decisions(loaded, engine := opened(other))
    engine.store.close()


def test_an_exported_log_has_the_columns_of_the_recommender(tmp_path):
    config = saved_config(tmp_path)
    served(config, decide_and_reward)
    assert export(config, tmp_path / "log.parquet") == 20
    log = Log.open(tmp_path / "log.parquet")
    assert log.roles.contexts == ("age", "city", "since", "speaks")
    assert log.roles.groups == ("sex", "band")
    frame = pd.read_parquet(tmp_path / "log.parquet")
    assert set(frame["band"]) == {0, 1, 2}
    assert set(frame["since"]) == {pd.Timestamp("2021-03-01")}
    assert set(frame["arm"]) <= {"7", "8", "9"}


def rewarded(decided, number):
    return Rewarded(decided.id, 0.0, number / 60)


def test_groups_of_any_name_are_compared(tmp_path):
    config = saved_config(tmp_path, min_group=1)
    engine = opened(config)
    findings = Findings(engine.monitor.frozen(), config).to_dict()
    assert findings["comparisons"] == []
    assert findings["sentence"].startswith("No decision so far was for a user with a known group")
    for number in range(60):
        decided = decide(engine.recommender, USER["features"], {"sex": "fm"[number % 2], "band": number})
        write(engine, decided)
        write(engine, rewarded(decided, number))
    assert sum(attribute == "band" for attribute, _ in engine.monitor.groups) == MAX_OPEN_GROUPS
    sex, band = Findings(engine.monitor.frozen(), config).to_dict()["comparisons"]
    assert [(group["labels"], group["place"]) for group in sex["groups"]] == [(["f"], 0), (["m"], 1)]
    assert len(band["groups"]) == MAX_OPEN_GROUPS
    # A snapshot remembers them.
    content = engine.monitor.snapshot()()
    restored = Engine(load_saved(tmp_path, min_group=1)).monitor
    restored.restore(content)
    assert restored.groups == engine.monitor.groups
    np.testing.assert_array_equal(restored.by_arm, engine.monitor.by_arm)
    engine.store.close()


def test_intervals_are_shared_by_all_groups_that_may_come(tmp_path):
    config = saved_config(tmp_path)
    engine = opened(config)
    for number in range(60):
        decided = decide(engine.recommender, USER["features"], {"sex": "fm"[number % 2], "band": number % 2})
        write(engine, decided)
        write(engine, rewarded(decided, number))
    shown, _ = Findings(engine.monitor.frozen(), config).to_dict()["comparisons"]
    engine.store.close()
    export(config, tmp_path / "log.parquet")
    found = audit(tmp_path / "log.parquet", tolerance=0.05, sequential=True, min_rows=20)["sex"]
    audited = {group.labels[0]: group for group in found.groups}
    for group in shown["groups"]:
        of_audit = audited[group["labels"][0]]
        assert group["mean"] == pytest.approx(of_audit.mean, abs=1e-5)
        assert group["low"] < of_audit.low < of_audit.high < group["high"]
