"""States of finished parts, stored in files, so that interrupted work resumes where it stopped."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fairbandits.storage import atomic_file


class Checkpoint:
    """The states of the finished parts of some work, in a private folder.

    As a context manager, it removes the files when the block ends without an error. After an error or an
    interrupt, they remain, and the same work resumes from them.

    Parameters
    ----------
    folder : Path
        The folder. It may contain other files.
    fingerprint : str
        A text that identifies the work: its input, its settings and the version of the code. Work with a different
        fingerprint does not see these states.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "unfinished"
    >>> with Checkpoint(folder, "the sum of log.parquet") as checkpoint:
    ...     checkpoint.store("pass 1", 0, 55)
    ...     checkpoint.has("pass 1", 0), checkpoint.has("pass 1", 1), checkpoint.load("pass 1", 0)
    (True, False, 55)
    >>> folder.exists()
    False
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._parent = folder
        self._folder = folder / hashlib.sha256(fingerprint.encode()).hexdigest()[:16]

    def __enter__(self) -> Self:
        self._parent.mkdir(parents=True, exist_ok=True)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        _check_private(self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            shutil.rmtree(self._folder)
        # Folders with files are kept: the files may be states to resume from, or belong to something else.
        for folder in (self._folder, self._parent):
            with suppress(OSError):
                folder.rmdir()

    def has(self, step: str, part: int) -> bool:
        """Whether the state of a part is stored."""
        return self._path(step, part).is_file()

    def store(self, step: str, part: int, state: Any) -> None:
        """Store the state of a part of a step; the file either is complete or does not exist."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        path = self._path(step, part)
        with atomic_file(path) as temporary, os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            pickle.dump(state, file, protocol=pickle.HIGHEST_PROTOCOL)

    def load(self, step: str, part: int) -> Any:
        """Return the state of a part."""
        path = self._path(step, part)
        # A pickle can run arbitrary code, so it must be the user's own. These files are temporary, and nobody else
        # can write to them or to their folder.
        _check_private(path)
        return pickle.loads(path.read_bytes())  # noqa: S301 - see above

    def _path(self, step: str, part: int) -> Path:
        return self._folder / f"{step}-{part}.pickle"


def _check_private(path: Path) -> None:
    """Raise an error if another user owns a file or folder, or can write to it."""
    status = path.lstat()
    if not hasattr(os, "getuid"):
        return  # on Windows, a user's folders are private
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(
            f"{path}: files of an interrupted run must belong to you and be writable by you alone, got owner "
            f"{status.st_uid} and mode {status.st_mode & 0o777:o}; remove them, or choose another folder"
        )
