"""`fairbandits serve --demo`: simulated students visit, and the page is live at once."""

import stat
import subprocess
import sys

import pytest

from fairbandits.service.demo import demo_config, load_config_or_demo, prepare_config_or_demo
from fairbandits.service.http.messages import make_pseudonymiser
from fairbandits.service.log.store import open_store
from tests.polling import wait_until
from tests.service.conftest import Server


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo, with students."""
    server = Server(tmp_path_factory.mktemp("demo"), "--demo").start().wait()
    yield server
    server.stop()


def test_the_page_of_the_demo_is_live_at_once(demo, open_page):
    page = open_page(demo)
    assert page.locator("h1").inner_text() == "Videos for students"
    page.wait_for_selector("#gains .main-svg")
    page.wait_for_selector("#recent tbody tr")
    before = page.locator("#counts").inner_text()
    page.wait_for_function("before => document.getElementById('counts').textContent !== before", arg=before)
    assert page.locator("#gains .legendtext").all_text_contents()[1:] == ["Female", "Male"]


def test_students_visit_and_most_send_rewards(demo):
    with demo.client() as client:
        found = wait_until(lambda: (view := client.get("/v1/fairness").json())["decisions"] >= 600 and view)
    assert 0.5 * found["decisions"] < found["rewards"] < found["decisions"]
    groups = found["comparisons"][0]["groups"]
    assert {group["labels"][0] for group in groups} == {"Female", "Male"}
    assert all(group["missing"] > 0 for group in groups)


def test_students_have_stable_pseudonyms(demo, students):
    with demo.client() as client:
        wait_until(lambda: client.get("/v1/fairness").json()["decisions"] >= 100)
    secret = demo.folder / "fairbandits.secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    pseudonymise = make_pseudonymiser(secret.read_bytes())
    features = {pseudonymise(students.user_id(n)): students.request(n)["features"] for n in range(len(students))}
    with open_store(demo_config(store={"url": f"sqlite:///{demo.folder}/fairbandits.db"})) as store:
        decided = [entry.event for entry in store.read(0) if entry.event.KIND == "decided"]
    assert all(event.features == features[event.user] for event in decided)
    for path in demo.folder.iterdir():
        assert b"student-" not in path.read_bytes()


def test_the_secret_of_the_demo_is_created_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_config_or_demo(None).users.secret_file.name == "fairbandits.secret"
    assert not any(tmp_path.iterdir()), "commands that only read a configuration create nothing"
    prepare_config_or_demo(None)
    secret = (tmp_path / "fairbandits.secret").read_bytes()
    prepare_config_or_demo("")
    assert (tmp_path / "fairbandits.secret").read_bytes() == secret
    assert len(secret) == 32


def test_students_continue_if_their_decisions_are_rewarded_by_others(demo):
    with demo.client() as client:
        waiting = wait_until(
            lambda: [
                each["decision"] for each in client.get("/v1/fairness").json()["recent"] if each["reward"] is None
            ]
        )
        rewards = [{"decision": decision, "reward": 0.5} for decision in waiting]
        taken = client.post("/v1/rewards", json=rewards).json()["rewards"]
        assert any("problem" not in each for each in taken)
        rewards = client.get("/v1/fairness").json()["rewards"]
        wait_until(lambda: client.get("/v1/fairness").json()["rewards"] >= rewards + 200, demo.said, seconds=30)
    assert "the store is down" not in demo.said()


def test_students_visit_the_demo_only(tmp_path):
    (tmp_path / "own.toml").write_text("")
    command = [sys.executable, "-m", "fairbandits", "serve", "own.toml", "--demo"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "--demo must be used without a configuration" in ended.stderr
