"""A real cluster of two worker processes, on this machine, one of which dies."""

import operator
import os
import signal
import sys
import threading
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
from tests.polling import wait_until


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(pa.Table.from_pandas(make(4000)), path, row_group_size=200)
    return path


@pytest.fixture(scope="module")
def expected(path):
    return fit(Log.open(path), FairLinUCB(gamma=2.0, random_state=0)).policy


def cut(n):
    return [range(start, 1000, n) for start in range(n)]


def test_parts_here_are_parts_there(two_workers):
    assert cluster.map_reduce(cut, sum, operator.add) == 499500
    assert cluster.map_reduce(cut, sum, operator.add, two_workers) == 499500


def test_neighbours_are_merged_in_order(two_workers):
    for n in (1, 2, 3, 7):
        with cluster.connect(two_workers) as client:
            parts = [str(i) for i in range(n)]
            assert cluster.map_reduce(lambda _, parts=parts: parts, str, operator.add, client) == "".join(parts)


def test_a_stream_of_parts_is_read_as_it_is_needed(two_workers):
    read = []

    def parts():
        for number in range(60):
            read.append(number)
            yield range(number)

    finished = {}
    for index, state in cluster.map_stream(parts(), sum, two_workers):
        finished[index] = state
        # Four for each of the two workers, and the one that has just been finished.
        assert len(read) <= len(finished) + 8
    assert finished == {number: sum(range(number)) for number in range(60)}


@dataclass(frozen=True)
class KilledOnce:
    """Computes sums; the process that first computes one of ten numbers is killed."""

    mark: Path

    def __call__(self, part):
        if len(part) == 10 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sum(part)


@pytest.mark.slow
def test_a_stream_survives_the_death_of_a_worker(two_workers, tmp_path):
    parts = [range(number) for number in range(30)]
    finished = dict(cluster.map_stream(iter(parts), KilledOnce(tmp_path / "mark"), two_workers))
    assert (tmp_path / "mark").exists()
    assert finished == {number: sum(part) for number, part in enumerate(parts)}
    with distributed.Client(two_workers) as client:  # the next test expects both workers
        client.wait_for_workers(2, timeout=60)


def test_local_starts_a_cluster_of_its_own():
    with cluster.connect(cluster.LOCAL) as client:
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
        assert cluster.map_reduce(lambda _: [range(3), range(4)], sum, operator.add, client) == 9
    assert client.status == "closed"


def test_fit_on_two_workers(path, expected, two_workers):
    fitted = fit(Log.open(path), FairLinUCB(gamma=2.0, random_state=0), cluster=two_workers)
    assert fitted.learned + fitted.skipped == 4000
    assert_alike(fitted.policy, expected)


@dataclass(frozen=True)
class BlockingFragment:
    """A fragment that marks who reads it; from the fifth mark on, reading blocks until a worker was killed."""

    fragment: Any
    marks: Path

    def __getattr__(self, name):
        return (
            getattr(self.__dict__["fragment"], name)
            if "fragment" in self.__dict__
            else object.__getattribute__(self, name)
        )

    def batches(self, kinds, rows):
        if "reward" in kinds:
            (self.marks / f"{self.fragment.first_row}-{os.getpid()}").touch()
            if len(list(self.marks.iterdir())) >= 5:
                wait_until((self.marks.parent / "killed").exists, seconds=60)
        return self.fragment.batches(kinds, rows)

    def split(self):
        return (replace(self, fragment=small) for small in self.fragment.split())


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(path, expected, two_workers, tmp_path):
    log = Log.open(path)
    folder = tmp_path / "marks"
    folder.mkdir()
    blocking = replace(log, fragments=[BlockingFragment(fragment, folder) for fragment in log.fragments])
    killed = []

    def marks():
        return sorted(folder.iterdir(), key=lambda mark: mark.stat().st_mtime_ns)

    def kill():
        """Kill the worker that reads the fifth of twenty fragments, while it does."""
        wait_until(lambda: len(marks()) >= 5, seconds=60)
        killed.append(int(marks()[-1].name.split("-")[1]))
        os.kill(killed[0], signal.SIGKILL)
        (tmp_path / "killed").touch()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    fitted = fit(blocking, FairLinUCB(gamma=2.0, random_state=0), cluster=two_workers)
    killer.join(timeout=5)
    read = [mark.name.split("-") for mark in marks()]
    assert len(killed) == 1
    assert len({row for row, _ in read}) == 20
    assert len(read) > 20, "the fragments of the dead worker were read again"
    assert {int(pid) for _, pid in read} - set(killed)
    assert_alike(fitted.policy, expected)
    with distributed.Client(two_workers) as client:  # the next test expects both workers
        client.wait_for_workers(2, timeout=60)


def test_seeds_go_through_joblib(two_workers, tmp_path):
    runs = [Run(FairLinUCB, LinearWorld, seed, world_params={"rounds": 40}) for seed in range(5)]
    here = summarise_many(runs, mean_reward)
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


def test_an_invalid_log_raises_the_same_error_on_a_cluster(tmp_path, two_workers):
    frame = make(500)
    frame.loc[321, "reward"] = 7.0
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "log.parquet", row_group_size=50)
    with pytest.raises(LogError, match=r"column 'reward', row 322: reward must be between 0 and 1 .*, got 7.0"):
        fit(Log.open(tmp_path / "log.parquet"), FairLinUCB(), cluster=two_workers)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "here"])
def test_nobody_answers(monkeypatch, address):
    monkeypatch.setattr("fairbandits.cluster.connection._TIMEOUT", 0.5)
    with pytest.raises(ValueError, match=f"running Dask scheduler, .*, got '{address}'"):
        cluster.map_reduce(cut, sum, operator.add, address)


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr("fairbandits.cluster.connection._TIMEOUT", 0.5)
    how = {"host": "127.0.0.1", "n_workers": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(**how) as nobody,
        pytest.raises(ValueError, match="cluster must have at least one worker"),
    ):
        cluster.map_reduce(cut, sum, operator.add, nobody.scheduler_address)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"a cluster needs Dask; .* pip install 'fairbandits\[dask\]'"):
        cluster.map_reduce(cut, sum, operator.add, "local")
