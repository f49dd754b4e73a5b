"""A joblib backend on Dask that raises an error where joblib's own backend would wait forever.

joblib's backend is not notified of tasks whose workers died, nor of a cluster that is gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from typing import Any

from joblib._dask import DaskDistributedBackend

from fairbandits.cluster import watch
from fairbandits.cluster.watch import ClusterWatch, task_error


class WatchedDaskBackend(DaskDistributedBackend):  # type: ignore[misc]  # joblib has no types
    """Runs joblib's batches on a Dask cluster, and passes on every failure.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """

    def __init__(self, client: Any) -> None:
        super().__init__(client=client)
        self._pending: set[Future[Any]] = set()
        self._watch = ClusterWatch(client)

    def look(self) -> OSError | None:
        """Check the cluster; if it is gone, end the pending batches with the error, and return the error."""
        failure = self._watch.failure()
        if failure is not None:
            for future in list(self._pending):
                with suppress(InvalidStateError):  # it has just ended
                    future.set_exception(failure)
        return failure

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return the number of threads of the cluster; raise if it is gone."""
        while (failure := self.look()) is None:
            if self._watch.n_threads:
                return self._watch.n_threads
            time.sleep(watch.INTERVAL)
        raise failure

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Future[Any]:
        """Submit a batch. If it fails, the callback is passed the exception, unlike with joblib's own backend."""
        # A separate future is needed, because joblib sets the result of its own future even if another thread has
        # already set it.
        future: Future[Any] = Future()

        def settle(ended: Future[Any]) -> None:
            with suppress(InvalidStateError):  # the cluster was found to be gone
                error = ended.exception()
                if error is None:
                    future.set_result(ended.result())
                else:
                    future.set_exception(error)

        def done(future: Future[Any]) -> None:
            self._pending.discard(future)
            if callback is not None:
                error = future.exception()
                callback(future.result() if error is None else _Failure(error))

        self._pending.add(future)
        future.add_done_callback(done)
        super().submit(func, lambda result: None).add_done_callback(settle)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return the results of a batch, or raise its exception."""
        if isinstance(out, CancelledError):
            raise self._watch.scheduler_lost()
        if isinstance(out, _Failure):
            raise task_error(out.error)
        return super().retrieve_result_callback(out)


class _Failure:
    """The exception of a batch."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@contextmanager
def watched_backend(client: Any) -> Iterator[WatchedDaskBackend]:
    """Yield a backend whose cluster is watched while the block runs."""
    backend = WatchedDaskBackend(client)
    stop = threading.Event()

    def keep_looking() -> None:
        while not stop.wait(watch.INTERVAL) and backend.look() is None:
            pass

    thread = threading.Thread(target=keep_looking, name="fairbandits-cluster", daemon=True)
    thread.start()
    try:
        yield backend
    finally:
        stop.set()
        thread.join()
