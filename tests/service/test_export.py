"""Exported logs, and the commands of the service."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from pyarrow import csv, parquet

from fairbandits import Recommender
from fairbandits.extras import install_hint
from fairbandits.logs import Log
from fairbandits.service import export as exporting
from fairbandits.service.config import load_config
from fairbandits.service.engine import Engine
from fairbandits.service.export import export, export_recommender
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.events import Rewarded
from fairbandits.service.log.store import open_store
from fairbandits.service.state.decider import decide
from fairbandits.storage import atomic_file
from tests.commands import run_command
from tests.service.conftest import write_config
from tests.service.small import PLAIN, USER, small_config

NULLS = csv.ConvertOptions(strings_can_be_null=True)


@pytest.fixture
def engine(tmp_path):
    """An engine whose log can be filled by hand."""
    engine = Engine(small_config(store={"url": f"sqlite:///{tmp_path}/log.db"}))
    engine._open()
    yield engine
    engine.store.close()


def write(engine, *events):
    append(engine.store, [AppendEvents(events=events)], engine.follower.seq)
    engine.follower.apply(engine.store.read(engine.follower.seq))


def fill(engine, n, **how):
    """Write n decisions, of which every other one has a reward."""
    rng = np.random.default_rng(0)
    for number in range(n):
        groups = {"gender": str(rng.choice(["female", "male"])), "region": None}
        decided = decide(engine.recommender, USER["features"], groups, **how)
        write(engine, decided)
        if number % 2:
            write(engine, Rewarded(decided.id, 0.0, float(rng.random())))


def test_an_audit_can_read_an_exported_log(engine, tmp_path):
    fill(engine, 40)
    path = tmp_path / "log.parquet"
    assert export(engine.config, path) == 40
    log = Log.open(path)
    assert set(log.guessed) <= {"user"}, "the file says itself which column is what"
    assert log.roles.groups == ("gender", "region")
    assert (log.roles.propensity, log.roles.time) == ("propensity", "time")
    assert (log.roles.decision, log.roles.position) == ("decision", "place")
    assert log.roles.contexts == ("user_age", "user_language")
    [chunk] = log.chunks(contexts=True)
    assert np.isnan(chunk.reward).sum() == 20
    assert (chunk.propensity > 0).all()
    for standing in engine.recommender.policy.groups.summaries("gender"):
        mine = chunk.group["gender"].codes == chunk.group["gender"].labels.index(standing.group)
        assert np.nanmean(chunk.reward[mine]) == pytest.approx(standing.mean)
    assert (chunk.group["region"].codes == -1).all()


@pytest.mark.parametrize("attribute", ["reward", "place", "time", "user", "user_age"])
def test_an_attribute_named_as_another_column(tmp_path, attribute):
    how = {"matches": [], "arms": [{"arm": "chess", "features": {"hours": 1}}]}
    store = {"url": f"sqlite:///{tmp_path}/log.db"}
    engine = Engine(small_config(attributes={attribute: ["north", "south"]}, store=store, **how))
    engine._open()
    decided = decide(engine.recommender, USER["features"], {attribute: "south"})
    write(engine, decided, Rewarded(decided.id, 0.0, 0.25))
    engine.store.close()
    assert export(engine.config, tmp_path / "log.parquet") == 1
    log = Log.open(tmp_path / "log.parquet")
    assert log.roles.groups == (f"group_{attribute}",)
    [chunk] = log.chunks(contexts=True)
    assert chunk.reward == [0.25]
    column = chunk.group[f"group_{attribute}"]
    assert [column.labels[code] for code in column.codes] == ["south"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_users_are_exported_under_their_pseudonyms(engine, tmp_path, ending):
    users = ["ab" * 16, None, "cd" * 16, "ab" * 16]
    for user in users:
        write(engine, replace(decide(engine.recommender, USER["features"], USER["groups"]), user=user))
    slate = replace(decide(engine.recommender, USER["features"], USER["groups"], k=2), user="ef" * 16)
    write(engine, slate)
    path = tmp_path / f"log.{ending}"
    assert export(engine.config, path) == 6
    table = csv.read_csv(path, convert_options=NULLS) if ending == "csv" else parquet.read_table(path)
    assert table["user"].to_pylist() == [*users, "ef" * 16, "ef" * 16]


def test_csv_export(engine, tmp_path):
    fill(engine, 4)
    assert export(engine.config, tmp_path / "log.csv") == 4
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 5


def test_slates_have_a_row_for_each_arm(engine, tmp_path):
    slate = decide(engine.recommender, USER["features"], USER["groups"], k=3)
    write(engine, slate, Rewarded(slate.id, 0.0, [0.5, None, 1.0]))
    path = tmp_path / "log.parquet"
    assert export(engine.config, path) == 3
    log = Log.open(path)
    assert log.roles.propensity is None
    [chunk] = log.chunks()
    np.testing.assert_array_equal(chunk.reward, [0.5, np.nan, 1.0])
    assert [chunk.arm.labels[code] for code in chunk.arm.codes] == slate.picked


def test_a_log_without_decisions(engine, tmp_path):
    with pytest.raises(ValueError, match="the log has no decisions yet, so there is nothing to export"):
        export(engine.config, tmp_path / "log.parquet")
    assert not (tmp_path / "log.parquet").exists()


def test_more_decisions_than_are_read_at_once(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("fairbandits.service.export._ROWS", 7)
    fill(engine, 20)
    assert export(engine.config, tmp_path / "log.parquet") == 20


def test_entries_that_are_written_during_an_export_are_left_out(engine, tmp_path, monkeypatch):
    """A slate that is logged while a log without slates is exported must not pass for a single arm."""
    fill(engine, 4)

    def look_and_write(*given):
        found = looked(*given)
        fill(engine, 1, k=3)
        return found

    looked = exporting._has_propensities
    monkeypatch.setattr(exporting, "_has_propensities", look_and_write)
    assert export(engine.config, tmp_path / "log.parquet") == 4
    assert Log.open(tmp_path / "log.parquet").roles.propensity == "propensity"


def run(folder, *arguments):
    return run_command(*arguments, folder=folder)


def test_from_a_server_to_an_audit(serving, students):
    server = serving()
    with server.client() as client:
        named = [students.request(number) | {"user": students.user_id(number % 100)} for number in range(300)]
        batch = {"decisions": named}
        decided = client.post("/v1/decisions/batch", json=batch).json()["decisions"]
        rewards = [
            {"decision": one["decision"], "reward": students.reward(number, one["arm"])}
            for number, one in enumerate(decided)
        ]
        client.post("/v1/rewards", json=rewards)
        text = client.get("/metrics").text
    exported = run(server.folder, "export", "log.parquet", "config.toml")
    assert exported.stdout == "log.parquet: 300 row(s)\n", exported.stderr
    users = parquet.read_table(server.folder / "log.parquet")["user"].to_pylist()
    assert users == users[:100] * 3
    assert len(set(users)) == 100
    audited = run(server.folder, "audit", "log.parquet", "--out", "audit")
    assert audited.returncode == 0, audited.stderr
    for line in text.splitlines():
        if line.startswith("fairbandits_group_mean_reward{"):
            mean = float(line.split()[-1])
            # A sentence whose interval has a small bound has another digit.
            assert f"{mean:.3f}" in audited.stdout or f"{mean:.4f}" in audited.stdout


def test_the_example_can_be_printed_and_served(tmp_path):
    printed = run(tmp_path, "serve", "--example")
    assert printed.returncode == 0
    (tmp_path / "config.toml").write_text(printed.stdout)
    assert load_config(tmp_path / "config.toml").title == "Courses"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "none.toml"], "none.toml: cannot be read"),
        (["serve", "--workers", "0"], "workers"),
        (["serve", "--port", "65536"], "port"),
        (["export", "log.txt"], "a log must be a .csv or .parquet file"),
    ],
)
def test_invalid_commands_are_reported_in_one_line(tmp_path, arguments, message):
    ended = run(tmp_path, *arguments)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_nothing_is_exported_from_an_empty_folder(tmp_path):
    for file in ("log.csv", "log.parquet", "policy.safetensors"):
        ended = run(tmp_path, "export", file)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.startswith(
            "error: sqlite:///fairbandits.db holds no log; create one with `fairbandits serve`"
        )
        assert len(ended.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_empty_log_has_no_recommender(tmp_path):
    config = small_config(store={"url": f"sqlite:///{tmp_path}/log.db"})
    with open_store(config):
        pass
    with pytest.raises(ValueError, match="the log is empty, so there is nothing to export"):
        export_recommender(config, tmp_path / "out.safetensors")


def test_the_recommender_of_a_service_goes_on_in_the_library(engine, tmp_path):
    fill(engine, 30)
    export_recommender(engine.config, tmp_path / "out.safetensors")
    recommender = Recommender.load(tmp_path / "out.safetensors")
    assert recommender.policy.checksum() == engine.recommender.policy.checksum()
    decided = decide(engine.recommender, USER["features"], USER["groups"])
    decision = recommender.choose(USER["features"] | USER["groups"])
    assert decided.picked == [decision.arm]
    assert decided.scores[0]["total"] == decision.score
    recommender.learn(decision, 0.5)
    assert recommender.policy.rounds_learned == 16


def test_an_unusable_store_is_reported_in_one_line(tmp_path):
    (tmp_path / "text.db").write_text("no database")
    write_config(tmp_path, store={"url": "sqlite:///text.db"})
    commands = (
        ["export", "log.csv", "config.toml"],
        ["keys", "list", "--config", "config.toml"],
        ["serve", "config.toml"],
    )
    for command in commands:
        ended = run(tmp_path, *command)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr == "error: the store cannot be used: DatabaseError: file is not a database\n"


def test_a_port_in_use_is_reported_in_one_line(serving, tmp_path):
    server = serving(**PLAIN)
    write_config(tmp_path, **PLAIN)
    ended = run(tmp_path, "serve", "config.toml", "--port", server.url.rsplit(":", 1)[1])
    assert ended.returncode == 2
    assert "in use" in ended.stderr


def test_without_the_extra_the_command_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['uvicorn'] = None; from fairbandits.cli import main; sys.exit(main(['serve']))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert f"the service needs uvicorn; {install_hint('service')}" in ended.stderr


# -- exports that are killed -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log.parquet", "learned.safetensors"])
def test_files_of_a_killed_export_are_removed_by_the_next_one(engine, tmp_path, name):
    """The first export is killed while it writes; others, of a running process or of another path, are kept."""
    fill(engine, 5)
    config = write_config(tmp_path, **PLAIN, store={"url": engine.config.store.url})
    path = tmp_path / name
    killed = (
        "import os, signal, sys; from pathlib import Path; from fairbandits.storage import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as file:\n"
        "    file.write_bytes(b'half'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for target in (path, tmp_path / f"other-{name}"):
        subprocess.run([sys.executable, "-c", killed, str(target)], check=False)
    with atomic_file(path) as running:
        running.write_bytes(b"another export")
        left = {each.name for each in tmp_path.iterdir() if each.name.startswith(".")}
        assert len(left) == 3
        done = run(tmp_path, "export", str(path), str(config))
        assert done.returncode == 0, done.stderr
        kept = {each.name for each in tmp_path.iterdir() if each.name.startswith(".")}
        assert len(kept) == 2
        assert running.name in kept
        assert not any(each.startswith(f".{name}.") for each in kept - {running.name})
