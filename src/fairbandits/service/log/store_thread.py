"""The thread that uses a store, and the deadline after which callers no longer wait for it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from fairbandits.service.log.errors import StoreDownError
from fairbandits.service.log.store import Store

# The number of seconds between two checks of a store that keeps its callers waiting.
_LOOK_SECONDS = 0.25

_Call = tuple["Future[Any]", tuple[Callable[..., Any], ...]]


class StoreThread:
    """A thread in which one store is used.

    If the database hangs, this thread may hang forever in the operating system. Its callers continue nevertheless,
    and the process can still exit, because the thread is a daemon.

    Parameters
    ----------
    store : Store
        The store. Its `timeout` is the number of seconds after which callers give up; None to wait forever.
    name : str
        The name of the thread.
    """

    def __init__(self, store: Store, name: str = "store") -> None:
        self._store = store
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._overdue: Future[Any] | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        while True:
            future, (first, *others) = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = first()
                for function in others:
                    result = function(result)
                future.set_result(result)
            except BaseException as error:
                future.set_exception(error)

    async def call(self, *functions: Callable[..., Any]) -> Any:
        """Call functions in the thread, each with the result of the previous one; return the result of the last.

        Raises
        ------
        StoreDownError
            If the database does not answer in time. The call may still succeed later.
        """
        if self._overdue is not None and not self._overdue.done():
            raise StoreDownError(self._no_answer())
        future: Future[Any] = Future()
        self._calls.put((future, functions))
        result = asyncio.wrap_future(future)
        # The deadline applies to the database, not to the call, because making decisions may take arbitrarily
        # long.
        waited = 0.0
        while not (await asyncio.wait([result], timeout=_LOOK_SECONDS))[0]:
            # The time taken by earlier calls in the queue also counts.
            waited += min(self._store.busy_seconds, _LOOK_SECONDS)
            if self._store.timeout is not None and waited > self._store.timeout:
                if not future.cancel():
                    self._overdue = future
                result.cancel()
                raise StoreDownError(self._no_answer())
        return result.result()

    def _no_answer(self) -> str:
        return f"no answer within {self._store.timeout:g} s (store.timeout_seconds)"
