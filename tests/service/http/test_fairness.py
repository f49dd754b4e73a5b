"""`/v1/fairness` and `/v1/stream` of real servers."""

import json
import re
import threading
import time

import pytest
from pydantic import TypeAdapter

from fairbandits.audit import audit
from fairbandits.audit.report.serialisation import comparison_to_dict
from fairbandits.service.export import export
from fairbandits.service.http.fairness_schema import FairnessResponse
from tests.service.page.traffic import send
from tests.service.small import PLAIN, small_config

_ANSWER = TypeAdapter(FairnessResponse)
_FAIR, _UNFAIR = {"female": 0.5, "male": 0.5}, {"female": 0.1, "male": 0.9}


@pytest.fixture(scope="module")
def server(serving_module):
    return serving_module(**PLAIN)


def events(client):
    """Yield the events of a stream as they arrive."""
    with client.stream("GET", "/v1/stream") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert "no-store" in answer.headers["cache-control"]
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if name == "data":
                yield json.loads(value)


def untimed(view):
    return {name: value for name, value in view.items() if name != "time"}


def test_the_findings_are_current(client):
    before = client.get("/v1/fairness").json()
    send(client, 60, _FAIR)
    after = client.get("/v1/fairness").raise_for_status().json()
    _ANSWER.validate_python(after, strict=True)
    assert after["decisions"] == before["decisions"] + 60
    assert after["rewards"] == before["rewards"] + 60
    # The log has not grown, so nothing is computed.
    assert client.get("/v1/fairness").json()["time"] == after["time"]


def test_a_stream_sends_the_findings_at_most_once_a_second(server, client):
    def keep_sending():
        with server.client() as other:
            while not over.is_set():
                send(other, 20, _FAIR)

    over = threading.Event()
    sending = threading.Thread(target=keep_sending)
    sending.start()
    try:
        came = []
        for view in events(client):
            came.append((time.monotonic(), view["seq"]))
            if len(came) == 4:
                break
    finally:
        over.set()
        sending.join()
    seqs = [seq for _, seq in came]
    assert seqs == sorted(set(seqs))
    assert came[-1][0] - came[0][0] > 3 * 0.9


def test_an_alert_is_the_same_everywhere(client):
    send(client, 1000, _UNFAIR)
    found = client.get("/v1/fairness").json()
    metrics = client.get("/metrics").text
    assert found["status"] == "unfair"
    assert next(events(client))["sentence"] == found["sentence"]
    assert 'fairbandits_alert{attribute="gender"} 1.0' in metrics
    assert 'fairbandits_alert{attribute="region"} 0.0' in metrics
    low = found["comparisons"][0]["gap"]["low"]
    [line] = [
        line for line in metrics.splitlines() if line.startswith('fairbandits_gap{attribute="gender",bound="low"}')
    ]
    assert float(line.split()[-1]) == pytest.approx(low, rel=1e-5)


def approx(expected):
    """Compare with the page, whose numbers are rounded."""
    if isinstance(expected, dict):
        return {name: approx(value) for name, value in expected.items()}
    return pytest.approx(expected, abs=1e-5) if isinstance(expected, float) else expected


def without_times(sentence):
    return re.sub(r"\d\d:\d\d:\d\d", "", sentence)


def test_an_audit_of_the_exported_log_finds_the_same(server, client, tmp_path):
    send(client, 100, {"female": 0.4, "male": None})
    shown = client.get("/v1/fairness").json()["comparisons"]
    config = small_config(store={"url": f"sqlite:///{server.folder}/fairbandits.db"})
    export(config, tmp_path / "log.parquet")
    audited = audit(tmp_path / "log.parquet", tolerance=0.05, sequential=True, min_rows=20)
    for comparison in shown:
        result = audited[comparison["attributes"][0]]
        found = comparison_to_dict(result, audited.sentences)
        assert comparison["conclusion"] == found["conclusion"]
        # Blocks of time may begin a second apart.
        assert without_times(comparison["sentence"]) == without_times(found["sentence"])
        assert comparison["missing"] == approx(found["missing"])
        assert comparison["gap"] == approx(found["gap"])
        expected = {group["labels"][0]: group for group in found["groups"]}
        for group in comparison["groups"]:
            audited_group = expected[group["labels"][0]]
            for key in ("rewards", "missing", "mean", "low", "high", "missing_share"):
                assert group[key] == approx(audited_group[key]), key
        shown_arms, found_arms = (each["decomposition"]["arms"] for each in (comparison, found))
        assert [arm["arm"] for arm in shown_arms] == [arm["arm"] for arm in found_arms]
        for arm, audited_arm in zip(shown_arms, found_arms, strict=True):
            assert arm["total"] == approx(audited_arm["total"]["value"])
            assert arm["within_arm_effect"] == approx(audited_arm["within_arm_effect"])


def test_workers_on_one_log_agree(serving, tmp_path):
    store = {"url": f"sqlite:///{tmp_path}/shared.db"}
    one, other = serving(**PLAIN, store=store), serving(**PLAIN, store=store)
    with one.client() as writing, other.client() as reading:
        stream = events(reading)
        assert next(stream)["decisions"] == 0
        send(writing, 100, _FAIR)
        assert next(view for view in stream if view["rewards"] == 100)
        assert untimed(reading.get("/v1/fairness").json()) == untimed(writing.get("/v1/fairness").json())


def test_the_findings_survive_a_restart_and_streams_do_not_delay_it(serving):
    server = serving(**PLAIN)
    with server.client() as client:
        send(client, 100, _FAIR)
        before = client.get("/v1/fairness").json()
        stream = events(client)
        next(stream)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 10
        assert list(stream) == []
    with server.start().wait().client() as client:
        assert untimed(client.get("/v1/fairness").json()) == untimed(before)


def test_the_files_of_the_page(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    drawn = client.get("/static/plotly.min.js")
    assert drawn.headers["content-encoding"] == "gzip"
    assert drawn.headers["content-type"].startswith("text/javascript")
    assert "plotly.js v" in drawn.text[:200]
    again = client.get("/static/plotly.min.js", headers={"If-None-Match": drawn.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = client.get("/static/main.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text.startswith("//")


@pytest.mark.parametrize("name", ["nothing.js", "..%2Froutes.py", "%2Fetc%2Fpasswd", "index.html%00.js"])
def test_no_other_file_is_served(client, name):
    assert client.get(f"/static/{name}").status_code == 404
