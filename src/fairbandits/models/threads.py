"""Use several cores for one call, where that pays."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

# Handing work to another thread and waiting for it takes about 60 microseconds, in which one thread does about
# 400,000 multiplications. A thread is used only for several times that amount of work, because estimates of work
# are rough and a thread must be worth its cost.
_PER_THREAD = 2_000_000
#: With less work than this, in multiplications, a call uses one thread.
LEAST_WORK = 2 * _PER_THREAD
# The sum of two numbers in new memory takes as long as this many multiplications.
_WORK_PER_SUM = 30

# Chunks of arms are whole blocks of eight, each of which is scored at once. Users are scored in chunks of this
# size, so that the matrices of an arm are in the cache for all but the first user.
_ARMS_AT_A_TIME, USERS_AT_A_TIME = 8, 64
# More chunks balance better, because the last chunk has to be waited for. But each chunk costs a call, and should
# take far longer than the call itself.
_CHUNKS_PER_THREAD, _MOST_CHUNKS_PER_THREAD, _PER_CHUNK = 4, 16, 1_000_000

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
    """Call a kernel for all arms, or for chunks of them in several threads.

    Parameters
    ----------
    kernel : callable
        Takes `args`, the first arm and the one after the last; returns a count, and the counts are added up. It
        must release the GIL, and must not write anything that two arms share.
    args : tuple
        The kernel's first arguments.
    n_arms : int
        The number of arms.
    work : int
        The approximate number of multiplications that this takes.
    """
    return in_chunks(functools.partial(kernel, *args), n_arms, _ARMS_AT_A_TIME, work)


def over_users(
    kernel: Callable[..., int],
    contexts: Callable[[int, int], Any],
    args: tuple[Any, ...],
    out: tuple[Any, ...],
    n_arms: int,
    work: int,
) -> int:
    """Call a kernel for all users and arms, or for chunks in several threads: chunks of users if there are many.

    Parameters
    ----------
    kernel : callable
        Takes contexts, `args`, `out`, the first arm and the one after the last, as in `over_arms`.
    contexts : callable
        Returns the contexts of the users from the first to below the last.
    args : tuple
        Arguments that all users share.
    out : tuple of arrays
        The arrays that the kernel fills, with a row per user.
    n_arms : int
        The number of arms.
    work : int
        The approximate number of multiplications that this takes.
    """
    n_users = len(out[0])
    if n_users < 2 * USERS_AT_A_TIME:
        return over_arms(kernel, (contexts(0, n_users), *args, *out), n_arms, work)

    def part(first: int, end: int) -> int:
        return kernel(contexts(first, end), *args, *(array[first:end] for array in out), 0, n_arms)

    return in_chunks(part, n_users, USERS_AT_A_TIME, work)


def sum_of(a: Any, b: Any) -> Any:
    """Return a + b, in several threads if both are large matrices."""
    if not type(a) is type(b) is np.ndarray or a.shape != b.shape or a.dtype != b.dtype:
        return a + b
    if a.size * _WORK_PER_SUM < LEAST_WORK:
        return a + b
    out = np.empty_like(a)

    def part(first: int, end: int) -> int:
        np.add(a[first:end], b[first:end], out=out[first:end])
        return 0

    in_chunks(part, len(a), 1, a.size * _WORK_PER_SUM)
    return out


def in_chunks(part: Callable[[int, int], int], n: int, step: int, work: int) -> int:
    """Call a function for all of n items at once, or for chunks that several threads take one after the other.

    So a thread that begins later, or whose items take longer, takes fewer chunks. Chunks are multiples of `step`.
    """
    threads = 1 if work < LEAST_WORK or _alone.get() else min(n_threads(), work // _PER_THREAD, -(-n // step))
    if threads < 2:
        return part(0, n)
    chunks = min(max(_CHUNKS_PER_THREAD * threads, work // _PER_CHUNK), _MOST_CHUNKS_PER_THREAD * threads)
    size = step * -(-n // (step * chunks))
    left = deque(range(0, n, size))

    def run() -> int:
        total = 0
        while True:
            try:
                first = left.popleft()
            except IndexError:  # no chunk is left
                return total
            total += part(first, min(first + size, n))

    others = [_pool().submit(run) for _ in range(threads - 1)]
    total = run()
    # A thread that has not begun yet finds nothing to do.
    return total + sum(other.result() for other in others if not other.cancel())


@functools.cache
def n_threads() -> int:
    """Return the number of threads that a call may use: the cores of this process, or OMP_NUM_THREADS.

    The cores are those of its affinity, and no more than its container's quota of processor time.
    """
    from joblib import cpu_count  # noqa: PLC0415 - comes with scikit-learn, and takes long to import

    said, cores = os.environ.get("OMP_NUM_THREADS", ""), int(cpu_count())
    return min(int(said), cores) if said.isdecimal() and int(said) else cores


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads(), thread_name_prefix="fairbandits")


# Threads do not survive in a forked process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
