"""Locks for objects that threads share."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


class SharedLock(RLock):  # type: ignore[misc]  # final to type checkers, not to Python
    """A reentrant lock whose copies and pickles are new locks.

    Objects that share a lock share the new one after they have been copied or pickled together.

    Examples
    --------
    >>> import copy
    >>> lock = SharedLock()
    >>> one, two = copy.deepcopy([lock, lock])
    >>> one is two, one is lock
    (True, False)
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedLock, ()


@contextmanager
def hold(*locks: SharedLock) -> Iterator[None]:
    """Hold several locks; always taken in the same order, so that two threads cannot wait for each other."""
    with ExitStack() as held:
        for lock in sorted(locks, key=id):
            held.enter_context(lock)
        yield
