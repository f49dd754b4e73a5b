"""The files of an SQLite database, which somebody may replace or remove while they are open.

SQLite continues to write to the files that it has opened, whatever their names refer to by then. Data written to
such files is lost when the process ends, so nothing may be acknowledged any longer.
"""

from __future__ import annotations

import os
from pathlib import Path

from fairbandits.service.log.errors import StoreReplacedError

# The suffixes of the database, of its write-ahead log and of the index of that log.
_SUFFIXES = ("", "-wal", "-shm")

_FileId = tuple[int, int]


class SqliteFiles:
    """The files of a database, and their identities at the time it was opened.

    Parameters
    ----------
    database : str
        The path of the database.
    """

    def __init__(self, database: str) -> None:
        # The path is absolute, because a relative path would follow a working folder that is renamed.
        self._path = Path(database).absolute()
        self._opened: dict[Path, _FileId | None] = {}

    def create(self) -> None:
        """Create the database and its folder if they are missing. SQLite gives the other files the same mode."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def remember(self) -> None:
        """Remember the files that a connection has opened."""
        self.check_database()
        self._opened = {path: _file_id(path) for path in map(self._named, _SUFFIXES)}

    def check_database(self) -> None:
        """Raise `StoreReplacedError` if a connection would be opened to a different or to a new database."""
        if self._path in self._opened and _file_id(self._path) != self._opened[self._path]:
            raise self._replaced(self._path)

    def check(self) -> None:
        """Raise `StoreReplacedError` unless the files are still those that were opened."""
        for path, opened in self._opened.items():
            if _file_id(path) != opened:
                raise self._replaced(path)

    def _named(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    @staticmethod
    def _replaced(path: Path) -> StoreReplacedError:
        return StoreReplacedError(
            f"{path} was replaced or removed while the service was using it; put the file back, or restart the "
            "service to continue with the file that is there now"
        )


def _file_id(path: Path) -> _FileId | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
