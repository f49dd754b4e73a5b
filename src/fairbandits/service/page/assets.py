"""The files of the page: ours, and plotly.js as the installed `plotly` package carries it."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_PLOTLY = "plotly.min.js"
_OURS = tuple(sorted(each.name for each in files(__package__).joinpath("static").iterdir()))

#: The names under which files are served.
NAMES = (*_OURS, _PLOTLY)


@dataclass(frozen=True)
class Asset:
    """A file as it is sent.

    Attributes
    ----------
    body, packed : bytes
        Its content, plain and packed by gzip.
    media_type : str
        What it is.
    tag : str
        Changes when the content does (ETag).
    """

    body: bytes
    packed: bytes
    media_type: str
    tag: str


def load(name: str) -> Asset:
    """Read a file; those that are not in `NAMES` are not found (KeyError)."""
    if name not in NAMES:
        raise KeyError(name)
    return _load(name)


@cache
def _load(name: str) -> Asset:
    body = files("plotly").joinpath("package_data", name).read_bytes() if name == _PLOTLY else _read(name)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Asset(body, gzip.compress(body, 6, mtime=0), _TYPES[PurePath(name).suffix], tag)


def _read(name: str) -> bytes:
    return files(__package__).joinpath("static", name).read_bytes()
