"""The command `fairbandits`, in processes that start quickly.

A new interpreter takes longer to import the service than most tests take. So processes are forked from one that
has imported it, and has called its kernels once. Each has a folder, an environment, output and signals of its own.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

from fairbandits.__main__ import main

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.preloaded"])

# One thread for each process, because several run beside the tests, and a process with threads must not fork.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1"}


class Command:
    """A process of the command, with the methods of `subprocess.Popen` that tests use.

    Parameters
    ----------
    arguments : iterable
        The arguments, without the name of the command.
    folder : path
        The folder to run in.
    stdout, stderr : file
        The files to write to.
    """

    def __init__(self, arguments, folder, stdout, stderr):
        files = [Connection(os.dup(file.fileno()), readable=False) for file in (stdout, stderr)]
        environment = os.environ | _ENVIRONMENT
        self._process = _forks.Process(
            target=_run, args=([str(each) for each in arguments], str(folder), dict(environment), *files)
        )
        _start_forks()
        self._process.start()
        for file in files:
            file.close()

    @property
    def pid(self):
        return self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout):
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired("fairbandits", timeout)
        return self.poll()

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self._process.kill()


def run_command(*arguments, folder, timeout=120):
    """Run the command to its end; return its status and output, like `subprocess.run`."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        command = Command(arguments, folder, stdout, stderr)
        try:
            status = command.wait(timeout)
        finally:
            command.kill()
        written = []
        for file in (stdout, stderr):
            file.seek(0)
            written.append(file.read())
    return subprocess.CompletedProcess(arguments, status, *written)


def _start_forks():
    """Start the process that all are forked from, unless it runs: with one thread, and where it finds `tests`."""
    before = dict(os.environ)
    path = [str(Path(__file__).parents[1]), *filter(None, [before.get("PYTHONPATH")])]
    os.environ.update(_ENVIRONMENT, PYTHONPATH=os.pathsep.join(path))
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _run(arguments, folder, environment, stdout, stderr):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in enumerate((stdout, stderr), start=1):
        os.dup2(file.fileno(), number)
        file.close()
    sys.stdout.reconfigure(line_buffering=True)
    sys.argv = ["fairbandits", *arguments]
    sys.exit(main())
