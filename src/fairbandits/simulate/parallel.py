"""Call functions in parallel processes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from fairbandits.extras import install_hint
from fairbandits.models.threads import one_thread
from fairbandits.progress import with_progress

Result = TypeVar("Result")


def run_all(
    tasks: Sequence[Callable[[], Result]], *, jobs: int, progress: bool = False, done: int = 0
) -> list[Result]:
    """Call functions in parallel processes, and return their results in order.

    Parameters
    ----------
    tasks : sequence of callables
        The functions, which must be picklable.
    jobs, progress
        As in `simulate_many`.
    done : int
        The number of tasks that were already finished, for the progress bar.
    """
    total = done + len(tasks)
    if isinstance(jobs, bool) or not isinstance(jobs, int) or (jobs < 1 and jobs != -1):
        raise ValueError(f"jobs must be an integer of at least 1, or -1 for one per core, got {jobs!r}")
    if jobs == 1:
        return list(with_progress((task() for task in tasks), total, progress, "runs", done))
    try:
        from joblib import Parallel, delayed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"jobs={jobs} needs joblib; {install_hint('cli')}") from None
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    found = parallel(delayed(_run_in_worker)(task, os.getpid()) for task in tasks)
    return list(with_progress(found, total, progress, "runs", done))


@contextmanager
def without_threads() -> Iterator[None]:
    """Compute on one thread: the number of threads can change a sum's last digit, and other runs need cores."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - slow to import

    with threadpool_limits(limits=1), one_thread():
        yield


def _run_in_worker(task: Callable[[], Result], parent: int) -> Result:
    # Ctrl-C reaches all processes of the terminal: workers ignore it, and the parent stops them. Workers of a
    # cluster run this in a thread, where a signal handler cannot be set and is not needed.
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return task()
