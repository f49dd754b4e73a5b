"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the name of a file to write, which takes the place of another when it is done, and only then.

    So nobody ever sees half of it, whoever is killed or writes it meanwhile.
    """
    # Named here rather than by mkstemp, so that it gets the permissions that files get here.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    with whole_file(path) as temporary, temporary.open("xb") as file:
        file.write(content)
