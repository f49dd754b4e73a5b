"""Atomic file writes: a file is complete, or it is not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` when the block ends without an error.

    So no reader sees an incomplete file, even if the writer is killed or several processes write at once.
    """
    # Not mkstemp, which would make the file private to the user; this one gets the usual permissions.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
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


@contextmanager
def private_file(path: Path) -> Iterator[Path]:
    """Yield a path as `atomic_file` does, of an empty file that only its owner can read."""
    with atomic_file(path) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield temporary
