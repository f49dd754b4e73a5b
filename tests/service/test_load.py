"""The load test of the service on tiny sizes."""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmarks

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import load

    yield load
    for name in ("load", "load_client", "load_servers", "snapshots"):
        sys.modules.pop(name, None)


def test_all_kinds_of_requests_are_measured(load, tmp_path):
    measured = load.measure(
        tmp_path, arms=100, url=f"sqlite:///{tmp_path}/log.db", turns=1, seconds=0.2, connections=4
    )
    assert list(measured) == ["client alone", "uvicorn, empty", "empty", "decisions", "rewards", "mixed"]
    for line in measured.values():
        [turn] = line.turns
        assert turn.rate > 0
        assert 0 < turn.percentile(50) <= turn.percentile(99) < 10
        assert set(turn.statuses) == {b"200"}
    table = load.table(measured)
    assert "of empty" in table
    assert len(table.splitlines()) == 7


def test_the_cost_of_snapshots_is_measured(load, tmp_path):
    import snapshots

    with load.new_store(tmp_path, "SQLite") as new_url:
        without, beside = snapshots.measure(tmp_path, 100, (new_url(), new_url()), turns=1, seconds=0.3)
    assert min(*without, *beside) > 0


def test_refused_requests_are_an_error(load, tmp_path):
    from load_client import Same, post

    with (
        load.running(load.empty(tmp_path)) as (server,),
        pytest.raises(RuntimeError, match="requests were refused"),
    ):
        load.Measurement().add(server, Same([post("/nothing", b"{}", "")]), 2, 0.1)
