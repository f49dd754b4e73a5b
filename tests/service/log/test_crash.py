"""Nothing is lost: servers that are killed at random moments, and their log afterwards."""

import random
import sys
import time

import httpx
import pytest

from fairbandits.service.config import load_config
from tests.polling import wait_until
from tests.service.clients import Client, Replay
from tests.service.conftest import Server, new_secret, write_config

KILLS = 20
CLIENTS = 4


@pytest.mark.slow
def test_kills_at_random_moments(store_url, tmp_path, students, capsys):
    store = {"url": store_url, "snapshot_every": 150}
    path = write_config(tmp_path, store=store, users=new_secret(tmp_path))
    replay = Replay(load_config(path))
    when = random.Random(20)
    clients = [Client(number, students, seed=number) for number in range(CLIENTS)]
    server = Server(tmp_path, str(path))
    try:
        for _ in range(KILLS):
            server.start().wait()
            if replay.recommender.seq:
                ready = httpx.get(f"{server.url}/ready", timeout=30).json()
                # The state that it starts with is bitwise identical to a replay of the log.
                replay.follow()
                assert (ready["seq"], ready["checksum"]) == (replay.recommender.seq, replay.checksum())
            for client in clients:
                client.follow(server.url)
            more = sum(client.acknowledged for client in clients) + when.randrange(5, 150)
            wait_until(lambda: sum(client.acknowledged for client in clients) >= more, interval=0.001)  # noqa: B023
            time.sleep(when.uniform(0.0, 0.02))  # a random moment is the point
            server.kill()
            for client in clients:
                client.join()
            replay.check(clients)
        # Once more, to answer the requests without a response and to stop in the regular way.
        server.start().wait()
        for client in clients:
            client.follow(server.url)
        more = sum(client.acknowledged for client in clients) + 100
        wait_until(lambda: sum(client.acknowledged for client in clients) >= more)
        server.stop()
        for client in clients:
            client.join()
        replay.check(clients)
        whole = Replay(replay.config)
        whole.follow()
        assert whole.checksum() == replay.checksum()
        server.start().wait()
        ready = httpx.get(f"{server.url}/ready", timeout=30).json()
        assert (ready["seq"], ready["checksum"]) == (whole.recommender.seq, whole.checksum())
        whole.close()
    finally:
        server.stop()
        replay.close()
    acknowledged = sum(len(client.decided) for client in clients), sum(len(client.rewarded) for client in clients)
    repeated = sum(client.repeated for client in clients)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{KILLS} kills: {acknowledged[0]} decisions, {acknowledged[1]} rewards acknowledged and found; "
            f"{len(replay.decided)} and {len(replay.rewarded)} in the log; {repeated} requests sent again\n"
        )
    assert min(acknowledged) > 20 * KILLS
    assert repeated >= KILLS // 2, "kills came while requests were under way"
    assert replay.store.last_snapshot_seq() > 0
    replay.close()
