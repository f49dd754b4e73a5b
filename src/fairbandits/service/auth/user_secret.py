"""The secret that turns user ids into pseudonyms: a file that only the service can read."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

# The number of bytes in a SHA-256 hash. An HMAC with a shorter key is easier to guess.
_MIN_BYTES = 32


def read_user_secret(path: Path) -> bytes:
    """Return all bytes of the file; raise ValueError if it cannot be read, is too short or is open to others."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            secret = file.read()
    except OSError as error:
        raise ValueError(
            f"users.secret_file must be a file that can be read, got {path} ({error.strerror}); create it with "
            f"`(umask 077; head -c {_MIN_BYTES} /dev/urandom > FILE)`"
        ) from None
    if mode & stat.S_IRWXO:
        raise ValueError(
            f"users.secret_file must not be accessible to other users, got {path} with mode {mode:04o}; "
            "make it private with `chmod 600 FILE`"
        )
    if len(secret) < _MIN_BYTES:
        raise ValueError(
            f"users.secret_file must have at least {_MIN_BYTES} bytes, got {path} with {len(secret)}; create it "
            f"with `(umask 077; head -c {_MIN_BYTES} /dev/urandom > FILE)`"
        )
    return secret


def create_user_secret(path: Path) -> None:
    """Create a random secret that only this user of the machine can read, unless the file already exists."""
    with (
        suppress(FileExistsError),
        os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
    ):
        file.write(secrets.token_bytes(_MIN_BYTES))
