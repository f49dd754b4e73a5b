"""Metrics of several workers: durations add up, what follows from the log does not."""

import re

from tests.polling import wait_until
from tests.service.small import PLAIN, USER

N_REQUESTS = 40


def value(text, name):
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
    return None if found is None else float(found[1])


def test_requests_of_all_workers_are_counted_by_each(serving):
    server = serving("--workers", "2", **PLAIN)
    # A new connection each time, so that both workers are asked.
    for _ in range(N_REQUESTS):
        with server.client() as client:
            assert client.post("/v1/decisions", json=USER).status_code == 200

    def metrics():
        with server.client() as client:
            return client.get("/metrics").text

    counted = 'fairbandits_request_seconds_count{route="/v1/decisions",status="200"}'
    # Whichever worker answers.
    for _ in range(10):
        wait_until(lambda: value(metrics(), counted) == N_REQUESTS, metrics)
        wait_until(lambda: value(metrics(), "fairbandits_decisions_total") == N_REQUESTS, metrics)
    assert value(metrics(), "fairbandits_arms") == 3


def test_one_worker_counts_for_itself(serving):
    server = serving(**PLAIN)
    with server.client() as client:
        client.post("/v1/decisions", json=USER)
        counted = 'fairbandits_request_seconds_count{route="/v1/decisions",status="200"}'
        assert value(client.get("/metrics").text, counted) == 1
