"""The static files of the page, and plotly.js from the installed `plotly` package."""

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
_STATIC = tuple(sorted(each.name for each in files(__package__).joinpath("static").iterdir()))

#: The names under which files are served.
NAMES = (*_STATIC, _PLOTLY)


@dataclass(frozen=True)
class Asset:
    """A static file.

    Attributes
    ----------
    body, compressed : bytes
        The content, plain and compressed with gzip.
    media_type : str
        The media type.
    etag : str
        The entity tag, which changes with the content.
    """

    body: bytes
    compressed: bytes
    media_type: str
    etag: str


def load_asset(name: str) -> Asset:
    """Read a file; raise KeyError if its name is not in `NAMES`."""
    if name not in NAMES:
        raise KeyError(name)
    return _load(name)


@cache
def _load(name: str) -> Asset:
    body = files("plotly").joinpath("package_data", name).read_bytes() if name == _PLOTLY else _read(name)
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Asset(body, gzip.compress(body, 6, mtime=0), _TYPES[PurePath(name).suffix], etag)


def _read(name: str) -> bytes:
    return files(__package__).joinpath("static", name).read_bytes()
