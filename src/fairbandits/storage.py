"""Atomic file writes, after which a file is complete or absent, and files that one process locks at a time."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# Seconds after which a temporary file that has not changed counts as abandoned, whichever process wrote it.
_ABANDONED_SECONDS = 86400.0
# The errors of file systems without locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` when the block ends without an error.

    So no reader sees an incomplete file, even if the writer is killed or several processes write at once.
    """
    # Not mkstemp, which would make the file private to the user; this one gets the usual permissions.
    temporary = path.with_name(f".{path.name}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with atomic_file(path) as temporary, temporary.open("xb") as file:
        file.write(content)


def remove_abandoned(path: Path) -> None:
    """Remove the temporary files that killed processes have left beside a path."""
    temporary = re.compile(rf"\.{re.escape(path.name)}\.([0-9a-f]{{8}})-(\d+)-[0-9a-f]{{8}}")
    for each in path.parent.iterdir():
        match = temporary.fullmatch(each.name)
        if match is None:
            continue
        with suppress(FileNotFoundError):  # its writer has just finished
            is_old = time.time() - each.stat().st_mtime > _ABANDONED_SECONDS
            if is_old or (match[1] == _machine() and not _is_running(int(match[2]))):
                each.unlink()


def _machine() -> str:
    """Return a name for this machine, from which the processes of other machines cannot be seen."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True


@contextmanager
def private_file(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file that only its owner can read; otherwise like `atomic_file`."""
    with atomic_file(path) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield temporary


@contextmanager
def exclusive_file(path: Path) -> Iterator[None]:
    """Hold the lock of a file while the block runs; raise BlockingIOError if another process holds it.

    The file is removed afterwards. A process that is killed loses its lock and leaves the file. Nothing is locked
    on Windows and on file systems without locks.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> with exclusive_file(path), exclusive_file(path):  # doctest: +IGNORE_EXCEPTION_DETAIL
    ...     pass
    Traceback (most recent call last):
        ...
    BlockingIOError: Resource temporarily unavailable
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = _open_locked(path)
    try:
        yield
    finally:
        # Remove the file while it is locked: afterwards, the path may belong to another process.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _open_locked(path: Path) -> int:
    """Create or open a file, and lock it; return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            _lock(descriptor)
            # The process that had the lock may have removed the file since it was opened here.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
