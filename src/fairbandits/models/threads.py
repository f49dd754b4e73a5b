"""Several cores for one call, where it pays."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Handing work to another thread and waiting for it takes some 60 microseconds, in which one thread does about
# 400,000 multiplications. A thread is used only for several times that: estimates of work are rough, and a thread
# must pay.
_PER_THREAD = 2_000_000
#: With less work than this, in multiplications, a call uses one thread.
LEAST_WORK = 2 * _PER_THREAD

_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use no other threads within the block: for work that is itself one of many parallel tasks."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def over_arms(kernel: Callable[..., int], args: tuple[Any, ...], n_arms: int, work: int) -> int:
    """Call a kernel for all arms, or for a share of them in each of several threads.

    Parameters
    ----------
    kernel : callable
        Takes `args`, the first arm and the one after the last; returns a count, and the counts add up. It must
        release the GIL, and must not write anything that two arms share.
    args : tuple
        The kernel's first arguments.
    n_arms : int
        Number of arms.
    work : int
        About how many multiplications that takes.
    """
    if work < LEAST_WORK or n_threads() < 2 or n_arms < 2 or _alone.get():
        return kernel(*args, 0, n_arms)
    n = min(n_threads(), work // _PER_THREAD, n_arms)
    edges = [n_arms * i // n for i in range(n + 1)]
    others = [_pool().submit(kernel, *args, lo, hi) for lo, hi in itertools.pairwise(edges[1:])]
    return kernel(*args, 0, edges[1]) + sum(other.result() for other in others)


@functools.cache
def n_threads() -> int:
    """Return how many threads a call may use: the cores of this process, or OMP_NUM_THREADS."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(said), cores) if said.isdecimal() and int(said) else cores


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads(), thread_name_prefix="fairbandits")


# Threads do not live on in a forked process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
