"""Failures: a full disk, a database that is gone, a worker that is killed."""

import re
import resource
import signal
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from fairbandits.service.config import load_config
from fairbandits.service.log.digests import content_digest
from fairbandits.service.log.store import open_store
from tests.commands import run_command
from tests.polling import DEADLINE, wait_until
from tests.service.clients import Client, Replay
from tests.service.conftest import Server, write_config
from tests.service.small import PLAIN

pytestmark = pytest.mark.slow


def decide(url, students, number=0, key=None):
    headers = {} if key is None else {"Idempotency-Key": key}
    return httpx.post(f"{url}/v1/decisions", json=students.request(number), headers=headers, timeout=30)


def applied(url):
    text = httpx.get(f"{url}/metrics", timeout=30).text
    return int(float(re.search(r"^fairbandits_log_seq (\S+)$", text, re.M)[1]))


def ready(url):
    answer = httpx.get(f"{url}/ready", timeout=30)
    return answer.json() if answer.status_code == 200 else None


def agreed(urls, seq):
    """Wait until all servers have applied an entry; return their checksums."""
    states = [wait_until(lambda url=url: (found := ready(url)) and found["seq"] >= seq and found) for url in urls]
    assert {state["seq"] for state in states} == {seq}
    return {state["checksum"] for state in states}


def reward_all(url, decisions):
    with httpx.Client(base_url=url, timeout=30) as client:
        for decision in decisions:
            answer = client.post("/v1/rewards", json={"decision": decision, "reward": 0.5})
            assert answer.status_code == 200, answer.text


def refused_for_now(answer):
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    return int(answer.headers["Retry-After"]) >= 1


def acknowledge_more(clients, n=20):
    """Wait until every client has that many more decisions and rewards acknowledged."""
    goals = [(client, len(client.decided) + n, len(client.rewarded) + n) for client in clients]
    wait_until(lambda: all(len(c.decided) >= d and len(c.rewarded) >= r for c, d, r in goals))


def test_a_full_disk(serving, students, tmp_path):
    """The kernel limits the size of files for the process, so its writes fail as on a full disk."""
    server = serving(store={"url": f"sqlite:///{tmp_path}/log.db"})
    acknowledged = [decide(server.url, students, number).json()["decision"] for number in range(20)]
    reward_all(server.url, acknowledged[:10])
    before = applied(server.url)
    unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (100, unlimited[1]))
    answers = [decide(server.url, students, number, key=f"full-{number}") for number in range(5)]
    assert all(refused_for_now(answer) for answer in answers)
    assert refused_for_now(httpx.get(f"{server.url}/ready", timeout=30))
    assert httpx.get(f"{server.url}/health", timeout=30).status_code == 200
    assert applied(server.url) == before, "the state is not ahead of the log"
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
    answers = [decide(server.url, students, number, key=f"full-{number}") for number in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5
    reward_all(server.url, acknowledged[10:])
    assert wait_until(lambda: ready(server.url))
    replay = Replay(load_config(server.arguments[0]))
    replay.follow()
    assert replay.recommender.seq == before + 15
    assert agreed([server.url], before + 15) == {replay.checksum()}
    replay.close()
    assert "the store is available again" in server.said()


def test_requests_that_write_nothing_do_not_hide_a_log_that_cannot_be_written(serving, students, postgres):
    """A reward that the log has already is acknowledged, although another client keeps the tables locked."""
    url = postgres.new_database()
    server = serving(store={"url": url, "timeout_seconds": 0.5})
    decision = decide(server.url, students).json()["decision"]
    reward_all(server.url, [decision])

    statuses = []

    def repeats_and_is_ready():
        # Refused only if it had to wait for a trial whether the store is back.
        answer = httpx.post(f"{server.url}/v1/rewards", json={"decision": decision, "reward": 0.5}, timeout=30)
        statuses.append(answer.status_code)
        return ready(server.url)

    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE events, facts IN EXCLUSIVE MODE")
        wait_until(lambda: not repeats_and_is_ready(), seconds=10)
        statuses.clear()
        assert not any(repeats_and_is_ready() for _ in range(100))
        assert {*statuses} <= {200, 503}
        assert statuses.count(200) > 10
        connection.rollback()
    wait_until(repeats_and_is_ready, seconds=10)
    assert server.said().count("the store is available again") == 1


def test_a_database_that_is_gone_and_comes_back(serving, students, postgres):
    server = serving(store={"url": postgres.new_database()})
    acknowledged = [decide(server.url, students, number).json()["decision"] for number in range(10)]
    before = applied(server.url)
    postgres.stop()
    try:
        assert refused_for_now(decide(server.url, students, key="gone"))
        assert refused_for_now(httpx.get(f"{server.url}/ready", timeout=30))
        assert httpx.get(f"{server.url}/health", timeout=30).status_code == 200
        assert refused_for_now(httpx.delete(f"{server.url}/v1/arms/m00", timeout=30))
        assert applied(server.url) == before
    finally:
        postgres.start()
    wait_until(lambda: ready(server.url))
    assert decide(server.url, students, key="gone").status_code == 200
    reward_all(server.url, acknowledged)
    replay = Replay(load_config(server.arguments[0]))
    replay.follow()
    assert len(replay.decided) + len(replay.rewarded) == 21
    assert agreed([server.url], replay.recommender.seq) == {replay.checksum()}
    replay.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_servers_on_one_log_of_which_one_is_killed(serving, students, tmp_path, request, kind):
    url = f"sqlite:///{tmp_path}/log.db"
    if kind == "postgres":
        url = request.getfixturevalue("postgres").new_database()
    store = {"url": url, "snapshot_every": 100}
    one, two = serving(store=store), serving(store=store)
    replay = Replay(load_config(one.arguments[0]))
    clients = [Client(number, students, seed=number) for number in range(4)]
    for client, server in zip(clients, (one, two, one, two), strict=True):
        client.follow(server.url)
    acknowledge_more(clients)
    one.kill()
    for client in clients[::2]:
        client.join()
        client.follow(two.url)  # requests without a response are sent again to the other server
    acknowledge_more(clients)
    one.start().wait()
    third = Client(4, students, seed=4)
    clients.append(third)
    third.follow(one.url)
    acknowledge_more(clients)
    for client in clients:
        client.stop()
    replay.check(clients)
    assert agreed([one.url, two.url], replay.recommender.seq) == {replay.checksum()}
    assert min(len(client.rewarded) for client in clients) > 0
    replay.close()


def test_rewards_of_decisions_of_another_server(serving, students, postgres):
    store = {"url": postgres.new_database()}
    one, two = serving(store=store), serving(store=store)
    decisions = [decide(one.url, students, number).json()["decision"] for number in range(20)]
    reward_all(two.url, decisions)
    again = httpx.post(f"{one.url}/v1/rewards", json={"decision": decisions[0], "reward": 0.5}, timeout=30)
    assert again.status_code == 200
    other = httpx.post(f"{one.url}/v1/rewards", json={"decision": decisions[0], "reward": 0.25}, timeout=30)
    assert other.status_code == 409
    replay = Replay(load_config(one.arguments[0]))
    replay.follow()
    assert (len(replay.decided), len(replay.rewarded)) == (20, 20)
    assert agreed([one.url, two.url], replay.recommender.seq) == {replay.checksum()}
    # Both add an arm of the same name at the same time, and one of them is first.
    arm = {"arm": "x", "features": demo_features(one), "matches": {}}
    with ThreadPoolExecutor(2) as threads:
        added = list(threads.map(lambda s: httpx.post(f"{s.url}/v1/arms", json=arm, timeout=30), (one, two)))
    assert sorted(answer.status_code for answer in added) == [200, 409]
    replay.follow()
    assert agreed([one.url, two.url], replay.recommender.seq) == {replay.checksum()}
    replay.close()


def demo_features(server):
    return httpx.get(f"{server.url}/v1/arms?limit=1", timeout=30).json()["arms"][0]["features"]


def test_several_workers_of_one_command(serving, students, postgres):
    server = serving("--workers", "2", store={"url": postgres.new_database()})
    clients = [Client(number, students, seed=number) for number in range(4)]
    for client in clients:
        client.follow(server.url)
    acknowledge_more(clients)
    for client in clients:
        client.stop()
    replay = Replay(load_config(server.arguments[0]))
    replay.check(clients)
    # Each request may reach either worker.
    seen = [agreed([server.url], replay.recommender.seq) for _ in range(6)]
    assert seen == [{replay.checksum()}] * 6
    replay.close()


def test_workers_serve_the_configuration_of_the_command(tmp_path, monkeypatch, request):
    """Not that of the environment variable, which is for servers that start their own workers."""
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("FAIRBANDITS_CONFIG", str(write_config(other, **PLAIN)))
    server = Server(tmp_path, "--workers", "2")
    request.addfinalizer(server.stop)
    server.start().wait()
    assert httpx.get(f"{server.url}/openapi.json", timeout=30).json()["info"]["title"] == "Videos for students"


def test_a_damaged_snapshot_is_skipped_with_a_warning(serving, students, tmp_path):
    store = {"url": f"sqlite:///{tmp_path}/log.db", "snapshot_every": 30}
    server = serving(store=store)
    reward_all(server.url, [decide(server.url, students, number).json()["decision"] for number in range(20)])
    server.stop()
    replay = Replay(load_config(server.arguments[0]))
    replay.follow()
    assert replay.store.last_snapshot_seq() == replay.recommender.seq, "one was written when it stopped"
    with replay.store.transaction() as connection:
        connection.exec_driver_sql("UPDATE snapshots SET body = substr(body, 2)")
    replay.close()
    server.start().wait()
    assert agreed([server.url], replay.recommender.seq) == {replay.checksum()}
    assert server.said().count("is damaged; reading more of the log instead") == 2


def test_a_server_that_is_interrupted_exits_cleanly(serving):
    server = serving()
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(DEADLINE) == 0
    assert server.said() == ""


def test_an_entry_of_an_unknown_kind(serving, students, tmp_path):
    """As a later release may write to the same log: it is reported once, and no more decisions are made."""
    server = serving(store={"url": f"sqlite:///{tmp_path}/log.db"})
    assert decide(server.url, students).status_code == 200
    replay = Replay(load_config(server.arguments[0]))
    digest = content_digest(b"", "dreamt", "x:1", 0.0, b"{}")
    with replay.store.transaction() as connection:
        connection.exec_driver_sql(
            "INSERT INTO events VALUES (102, 0, 'dreamt', 'x:1', '{}', 'later', 1, x'', ?, x'')", (digest,)
        )
    replay.close()
    wait_until(lambda: httpx.get(f"{server.url}/ready", timeout=30).status_code == 503)
    assert decide(server.url, students).status_code == 500
    assert refused_for_now(httpx.get(f"{server.url}/health", timeout=30))
    assert server.said().count("the log could not be followed: KeyError") == 1


def test_another_policy_on_the_same_log(serving, students, tmp_path):
    """The state follows from the log for any policy, so a change of parameters needs no new log."""
    store = {"url": f"sqlite:///{tmp_path}/log.db"}
    server = serving(store=store)
    reward_all(server.url, [decide(server.url, students, number).json()["decision"] for number in range(10)])
    server.stop()
    other = serving(store=store, policy="EvenLinUCB(tolerance=0.1, model=shared)")
    replay = Replay(load_config(other.arguments[0]))
    replay.follow()
    assert agreed([other.url], 120) == {replay.checksum()}
    assert "cannot be used" in other.said()
    replay.close()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("UPDATE facts SET value = 'something else'", "holds a log with different features"),
        ("UPDATE alembic_version SET version_num = '9999'", "written by a later release of fairbandits"),
        ("DROP TABLE keys", "the store cannot be used: OperationalError: no such table: keys"),
    ],
)
def test_a_server_that_cannot_start_reports_the_reason(tmp_path, spoil, message, workers):
    path = write_config(tmp_path, store={"url": f"sqlite:///{tmp_path}/log.db"})
    with open_store(load_config(path)) as store, store.transaction() as connection:
        connection.exec_driver_sql(spoil)
    ended = run_command("serve", path, "--port", "0", "--workers", workers, folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
