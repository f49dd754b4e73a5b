"""Clusters that are killed during a command: it ends with one line."""

import operator
import os
import signal
import threading
import time

import pytest
from joblib import Parallel, delayed

from fairbandits import cluster
from fairbandits.cli.app import main
from fairbandits.cluster import watch
from tests.cluster.processes import dask_processes
from tests.logs.test_fitting import make

pytestmark = pytest.mark.slow

GRACE = 1.0


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(watch, "INTERVAL", 0.2)
    monkeypatch.setattr(watch, "GRACE", GRACE)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "dask"
    folder.mkdir()
    return folder


@pytest.fixture
def stopped(folder):
    """A cluster of two workers that are connected, but do nothing, so that work on it has no end."""
    with dask_processes(folder) as dask:
        for _ in range(2):
            dask.add_worker("--no-nanny")
        for worker in dask.workers:
            worker.send_signal(signal.SIGSTOP)
        yield dask


class Background:
    """A function that runs in a thread; a test of it does not hang when the function does."""

    def __init__(self, function, *arguments):
        self._outcome = []
        self._thread = threading.Thread(target=self._run, args=(function, arguments), daemon=True)
        self._thread.start()

    def _run(self, function, arguments):
        try:
            self._outcome.append(function(*arguments))
        except Exception as error:
            self._outcome.append(error)

    def outcome(self, seconds):
        self._thread.join(seconds)
        assert self._outcome, f"still waiting after {seconds} s"
        return self._outcome[0]


COMMANDS = [
    ["evaluate", "log.parquet", "--policy", "LinUCB"],
    ["fit", "log.parquet"],
    ["audit", "log.parquet"],
    ["compare", "--quick", "--worlds", "3:7", "--policies", "LinUCB"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=operator.itemgetter(0))
def test_all_workers_are_killed(stopped, command, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    make(500).to_parquet("log.parquet", row_group_size=50)
    running = Background(main, [*command, "--out", "out", "--cluster", stopped.address])
    stopped.wait_for_tasks()
    stopped.workers[0].kill()
    stopped.workers[1].kill()
    start = time.monotonic()
    assert running.outcome(seconds=30) == 2
    assert time.monotonic() - start < GRACE + 10
    error = capfd.readouterr().err
    assert error.startswith(
        f"error: all workers of the cluster {stopped.address} are gone, and none has come back"
    )
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS, ids=operator.itemgetter(0))
def test_the_scheduler_is_killed(stopped, command, tmp_path, monkeypatch, capfd, caplog):
    monkeypatch.chdir(tmp_path)
    make(500).to_parquet("log.parquet", row_group_size=50)
    running = Background(main, [*command, "--out", "out", "--cluster", stopped.address])
    stopped.wait_for_tasks()
    stopped.scheduler.kill()
    start = time.monotonic()
    assert running.outcome(seconds=30) == 2
    assert time.monotonic() - start < 10
    error = capfd.readouterr().err
    assert error.startswith("error: the connection to the scheduler of the cluster")
    assert error.count("\n") == 1
    assert not caplog.records, "Dask logs the lost connection with a traceback"


def die_once(mark):
    """Kill the worker, unless it has been done before."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 1


@pytest.mark.slow
def test_a_worker_that_a_nanny_restarts_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr(watch, "GRACE", 60.0)
    with dask_processes(folder) as dask:
        dask.add_worker("--nanny")
        parts = [folder / "first", folder / "second"]
        running = Background(cluster.map_reduce, lambda _: parts, die_once, operator.add, dask.address)
        assert running.outcome(seconds=60) == 2


def map_on(address, parts):
    return cluster.map_reduce(lambda _: parts, die_once, operator.add, address)


def joblib_on(address, parts):
    with cluster.parallel_on(address):
        return sum(Parallel(n_jobs=-1)(delayed(die_once)(part) for part in parts))


@pytest.mark.slow
@pytest.mark.parametrize("work", [map_on, joblib_on])
def test_a_task_that_kills_its_workers(folder, work):
    with dask_processes(folder, allowed_failures=0) as dask:
        dask.add_worker("--no-nanny")
        dask.add_worker("--no-nanny")
        error = Background(work, dask.address, [folder / "mark"]).outcome(seconds=60)
        assert isinstance(error, OSError)
        assert str(error).startswith("workers of the cluster died repeatedly in the same task (")
        assert work(dask.address, [folder / "mark"]) == 1, "one worker is left, and goes on"


@pytest.mark.slow
def test_joblib_goes_on_with_the_workers_that_are_left(folder):
    with dask_processes(folder) as dask:
        dask.add_worker("--no-nanny")
        dask.add_worker("--no-nanny")
        running = Background(joblib_on, dask.address, [folder / "mark", *[folder] * 5])
        assert running.outcome(seconds=60) == 6


def test_joblib_finds_the_cluster_gone_before_it_starts(stopped):
    def work():
        with cluster.parallel_on(stopped.address):
            stopped.scheduler.kill()
            stopped.scheduler.wait()
            return Parallel(n_jobs=-1)(delayed(abs)(-1) for _ in range(3))

    error = Background(work).outcome(seconds=30)
    assert str(error).startswith("the connection to the scheduler of the cluster tcp://")
