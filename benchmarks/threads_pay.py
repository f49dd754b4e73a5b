"""Whether threads pay: one thread, two threads, and two processes with one thread each, in one run.

    python benchmarks/threads_pay.py

Three processes stay alive and are asked in turn, nine times: the first alone, the one with two threads alone, the
first and another one at the same time. Prints the medians for W3 (10,000 users at once) and for W2 with arms that
have matrices. Two threads should reach 85% of what two processes reach, and never less than 95% of one thread; the
exit status is 1 otherwise. On a machine that is busy with other things the result says nothing.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, cast

from guard import write_workloads
from threads import thread_variables

FIGURES = ("W3 users", "W2 grown")
REPETITIONS, SECONDS = 9, 0.5
LEAST_OF_PROCESSES, LEAST_OF_ONE_THREAD = 0.85, 0.95


class Worker:
    """A process that measures a figure whenever it is asked to."""

    def __init__(self, folder: Path, figure: str, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(folder), figure],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | thread_variables(threads),
        )
        self._input = cast(IO[str], self._process.stdin)
        self._output = cast(IO[str], self._process.stdout)
        self.rate()  # when it answers, it has trained its policy and compiled its kernels

    def ask(self) -> None:
        """Begin a measurement."""
        print("go", file=self._input, flush=True)

    def answer(self) -> float:
        """Wait for the result: calls per second."""
        return float(self._output.readline())

    def rate(self) -> float:
        """Measure once."""
        self.ask()
        return self.answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(folder: Path, figure: str) -> bool:
    """Measure a figure in the three ways, print the medians, and return whether threads pay."""
    one, other, threaded = (Worker(folder, figure, threads) for threads in (1, 1, 2))
    alone, threads, processes = [], [], []
    for _ in range(REPETITIONS):
        alone.append(one.rate())
        threads.append(threaded.rate())
        one.ask()
        other.ask()
        processes.append(one.answer() + other.answer())
    for worker in (one, other, threaded):
        worker.close()
    of_processes = statistics.median(t / p for t, p in zip(threads, processes, strict=True))
    of_one = statistics.median(t / a for t, a in zip(threads, alone, strict=True))
    print(
        f"{figure}: one thread {statistics.median(alone):,.0f}/s, "
        f"two threads {statistics.median(threads):,.0f}/s, "
        f"two processes {statistics.median(processes):,.0f}/s: two threads reach {of_processes:.2f} of two "
        f"processes, {of_one:.2f} of one thread",
        flush=True,
    )
    return of_processes >= LEAST_OF_PROCESSES and of_one >= LEAST_OF_ONE_THREAD


def work(folder: Path, figure: str) -> None:
    """Answer each line of the standard input with a rate."""
    from guard_worker import Figures  # noqa: PLC0415 - the parent does not need it
    from timing import seconds_per_call  # noqa: PLC0415

    make, per_call = Figures(folder).works[figure]
    unit = make()
    unit()
    for _ in sys.stdin:
        print(per_call / seconds_per_call(unit, SECONDS), flush=True)


def main() -> int:
    """Compare both figures; or, as a worker, measure one."""
    if len(sys.argv) > 1:
        work(Path(sys.argv[1]), sys.argv[2])
        return 0
    with tempfile.TemporaryDirectory() as name:
        write_workloads(Path(name))
        pays = [compare(Path(name), figure) for figure in FIGURES]
    return 0 if all(pays) else 1


if __name__ == "__main__":
    sys.exit(main())
