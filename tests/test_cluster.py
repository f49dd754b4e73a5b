"""A Dask cluster of two worker processes on this machine, one of which is killed."""

import operator
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import distributed
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbandits import FairLinUCB, cluster
from fairbandits.logs import Log, LogError, fit
from fairbandits.simulate import Run, summarise_many
from fairbandits.worlds import LinearWorld
from tests.logs.test_fitting import assert_alike, make


@pytest.fixture(scope="module")
def two_workers():
    options = {"host": "127.0.0.1", "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options, processes=True) as workers:
        yield workers.scheduler_address


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(pa.Table.from_pandas(make(4000)), path, row_group_size=200)
    return path


@pytest.fixture(scope="module")
def expected(path):
    return fit(Log.open(path), FairLinUCB(gamma=2.0, random_state=0)).policy


def split(n):
    return [range(start, 1000, n) for start in range(n)]


def test_a_cluster_computes_the_same_as_this_process(two_workers):
    assert cluster.map_reduce(split, sum, operator.add) == 499500
    assert cluster.map_reduce(split, sum, operator.add, two_workers) == 499500


def test_neighbours_are_merged_in_order(two_workers):
    for n in (1, 2, 3, 7):
        with cluster.connect(two_workers) as client:
            parts = [str(i) for i in range(n)]
            assert cluster.map_reduce(lambda _, parts=parts: parts, str, operator.add, client) == "".join(parts)


def test_fit_on_two_workers(path, expected, two_workers):
    fitted = fit(Log.open(path), FairLinUCB(gamma=2.0, random_state=0), cluster=two_workers)
    assert fitted.learned + fitted.skipped == 4000
    assert_alike(fitted.policy, expected)


@dataclass(frozen=True)
class MarkedPart:
    """A part of a log that leaves a file for each process that reads it; the fifth and later wait for a kill."""

    part: Any
    marks: Path
    killed: Path

    def __getattr__(self, name):
        return (
            getattr(self.__dict__["part"], name)
            if "part" in self.__dict__
            else object.__getattribute__(self, name)
        )

    def batches(self, kinds, rows):
        if "reward" in kinds:
            (self.marks / f"{self.part.first_row}-{os.getpid()}").touch()
            if len(list(self.marks.iterdir())) >= 5:
                wait_until(self.killed.exists)
        return self.part.batches(kinds, rows)

    def pieces(self):
        return (replace(self, part=piece) for piece in self.part.pieces())


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_killed_worker_does_not_change_the_result(path, expected, two_workers, tmp_path):
    log = Log.open(path)
    marks, flag = tmp_path / "marks", tmp_path / "killed"
    marks.mkdir()
    marked = replace(log, parts=[MarkedPart(part, marks, flag) for part in log.parts])
    killed = []

    def kill():
        """Kill the worker that reads the fifth of twenty parts, while it waits there."""
        wait_until(lambda: len(list(marks.iterdir())) >= 5)
        newest = max(marks.iterdir(), key=lambda mark: mark.stat().st_mtime_ns)
        killed.append(int(newest.name.split("-")[1]))
        os.kill(killed[0], signal.SIGKILL)
        flag.touch()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    fitted = fit(marked, FairLinUCB(gamma=2.0, random_state=0), cluster=two_workers)
    killer.join(timeout=5)
    reads = [mark.name.split("-") for mark in marks.iterdir()]
    assert len(killed) == 1
    assert len({row for row, _ in reads}) == 20
    assert len(reads) > 20, "the part that the killed worker was reading is read again"
    assert {int(pid) for _, pid in reads} - set(killed)
    assert_alike(fitted.policy, expected)


def test_simulated_runs_are_distributed_by_joblib(two_workers, tmp_path):
    runs = [Run(FairLinUCB, LinearWorld, seed, world_params={"rounds": 40}) for seed in range(5)]
    here = summarise_many(runs, mean_reward)
    with cluster.connect(two_workers) as client:
        client.wait_for_workers(2, timeout=60)  # another test kills one, which Dask then restarts
    with cluster.parallel_on(two_workers):
        there = summarise_many(runs, mean_reward_and_process, jobs=-1, cache=tmp_path)
    assert [reward for reward, _ in there] == here
    assert os.getpid() not in {process for _, process in there}
    with cluster.parallel_on(None):
        assert summarise_many(runs, mean_reward, cache=tmp_path) == here


def mean_reward(trace):
    return float(trace.reward.mean())


def mean_reward_and_process(trace):
    return mean_reward(trace), os.getpid()


def test_errors_in_a_log_are_raised_from_the_cluster(tmp_path, two_workers):
    frame = make(500)
    frame.loc[321, "reward"] = 7.0
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "log.parquet", row_group_size=50)
    with pytest.raises(LogError, match=r"column 'reward', row 322: 7.0 came; the policy takes"):
        fit(Log.open(tmp_path / "log.parquet"), FairLinUCB(), cluster=two_workers)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "here"])
def test_an_address_without_a_scheduler_is_refused(monkeypatch, address):
    monkeypatch.setattr(cluster, "_TIMEOUT", 0.5)
    rule = "^cluster must be 'local' or the address of a running Dask scheduler"
    with pytest.raises(ValueError, match=rf"{rule}, .*got '{address}' \("):
        cluster.map_reduce(split, sum, operator.add, address)


def test_a_cluster_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr(cluster, "_TIMEOUT", 0.5)
    options = {"host": "127.0.0.1", "n_workers": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(**options) as empty,
        pytest.raises(ValueError, match=r"cluster must have at least one worker, got '.*' with none"),
    ):
        cluster.map_reduce(split, sum, operator.add, empty.scheduler_address)


def test_a_cluster_needs_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"a cluster needs Dask: pip install 'fairbandits\[dask\]'"):
        cluster.map_reduce(split, sum, operator.add, "local")
