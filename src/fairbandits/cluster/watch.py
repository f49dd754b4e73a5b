"""Detection of clusters that can no longer finish their work, instead of waiting for them silently.

If a cluster has no workers, Dask keeps its tasks until a worker joins, which may never happen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from itertools import islice
from typing import Any

# The number of seconds between two checks of the cluster.
INTERVAL = 1.0
# The number of seconds for which a cluster may be without workers. Restarting a worker after a crash takes a few.
GRACE = 5.0


class ClusterWatch:
    """Watches the cluster of a client.

    Parameters
    ----------
    client : distributed.Client
        The client.

    Attributes
    ----------
    n_threads : int
        The number of threads that the workers had when the scheduler last answered.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.n_threads = 0
        self._empty_since: float | None = None

    def failure(self) -> OSError | None:
        """Return the reason why work on the cluster cannot be finished, or None if it can."""
        if self._client.status != "running":
            return self.scheduler_lost()
        try:
            threads = self._client.sync(self._client.scheduler.ncores, callback_timeout=INTERVAL)
        except TimeoutError:
            return None  # the scheduler may just be busy
        except OSError:
            return self.scheduler_lost()
        now = time.monotonic()
        self.n_threads = sum(threads.values())
        if self.n_threads:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
        elif now - self._empty_since >= GRACE:
            return OSError(
                f"all workers of the cluster {self._address} are gone, and none has come back for {GRACE:g} s; "
                "start workers and repeat the command"
            )
        return None

    def scheduler_lost(self) -> OSError:
        """Return the error that reports the loss of the connection to the scheduler, and of all tasks with it."""
        return OSError(
            f"the connection to the scheduler of the cluster {self._address} was lost; check that it is "
            "running, and repeat the command"
        )

    @property
    def _address(self) -> str:
        return str(self._client.scheduler.address)


def gather(client: Any, futures: Iterable[Any], at_once: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the index and the result of each task, in order of completion.

    Raises the error of a task that fails, and OSError if the cluster can no longer finish the tasks.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    futures : iterable of distributed.Future
        The tasks; may be an iterator that submits each task on demand.
    at_once : int, optional
        The largest number of unfinished tasks to request from the iterator; by default, all are requested.
    """
    watch = ClusterWatch(client)
    numbered = enumerate(futures)
    del futures  # so that the cluster can release results that have been fetched
    pending: dict[Future[Any], int] = {}
    while True:
        # Fetching a large result must not be interrupted by checks of the cluster, so it continues in the client's
        # thread.
        free = None if at_once is None else at_once - len(pending)
        pending |= {_fetch(client, future): index for index, future in islice(numbered, free)}
        if not pending:
            return
        done = wait(pending, timeout=INTERVAL, return_when=FIRST_COMPLETED).done
        failure = None if done else watch.failure()
        if failure is not None:
            raise failure
        for result in done:
            try:
                yield pending.pop(result), result.result()
            except CancelledError:
                raise watch.scheduler_lost() from None
            except Exception as error:
                raise task_error(error) from error.__cause__


def _fetch(client: Any, future: Any) -> Future[Any]:
    return asyncio.run_coroutine_threadsafe(client.gather(future, asynchronous=True), client.loop.asyncio_loop)


def task_error(error: BaseException) -> BaseException:
    """Return the error to raise for a task's error: an OSError if its workers died, otherwise the same error."""
    from distributed import KilledWorker  # noqa: PLC0415 - an extra

    if not isinstance(error, KilledWorker):
        return error
    return OSError(f"workers of the cluster died repeatedly in the same task ({error}); they may need more memory")
