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

# Handing work to another thread and waiting for it takes some 60 microseconds, in which one thread does about this
# many multiplications; with less than several times that to do, more threads only cost.
_PER_THREAD = 400_000

_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use no other threads: for work that is itself one of many pieces."""
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
        Takes `args`, the first arm and the one behind the last; returns a count, and the counts add up. It
        must let go of the interpreter, and no two arms may have anything in common that it writes to.
    args : tuple
        What the kernel takes first.
    n_arms : int
        How many arms there are.
    work : int
        About how many multiplications that is.
    """
    if work < 2 * _PER_THREAD or n_threads() < 2 or n_arms < 2 or _alone.get():
        return kernel(*args, 0, n_arms)
    n = min(n_threads(), work // _PER_THREAD, n_arms)
    edges = [n_arms * i // n for i in range(n + 1)]
    others = [_pool().submit(kernel, *args, lo, hi) for lo, hi in itertools.pairwise(edges[1:])]
    return kernel(*args, 0, edges[1]) + sum(other.result() for other in others)


@functools.cache
def n_threads() -> int:
    """How many threads a call may use: the cores that this process has, or what OMP_NUM_THREADS says."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(said), cores) if said.isdecimal() and int(said) else cores


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads(), thread_name_prefix="fairbandits")


# Threads do not live on in a forked process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
