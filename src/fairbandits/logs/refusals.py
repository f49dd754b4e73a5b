"""Sources that cannot be read correctly, and that are refused with advice on how to export them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from fairbandits.logs.errors import LogError

# `Path` turns s3://bucket into s3:/bucket.
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/{1,3}")
_COPY = {
    "s3": "aws s3 cp",
    "gs": "gcloud storage cp",
    "az": "az storage blob download --blob-url",
    "abfs": "azcopy copy",
    "https": "curl -O",
}
_ALIASES = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "abfss": "abfs",
    "wasb": "abfs",
    "wasbs": "abfs",
    "http": "https",
}


def scheme_of(source: str) -> str | None:
    """Return the scheme of an address, or None for a path."""
    found = _ADDRESS.match(source)
    # A single letter is a Windows drive.
    return found["scheme"].lower() if found and len(found["scheme"]) > 1 else None


def refuse_object_store(source: str) -> None:
    """Raise for addresses of object stores and web servers."""
    scheme = scheme_of(source) or ""
    known = _ALIASES.get(scheme, scheme)
    if known in _COPY:
        parts = urlsplit(re.sub(r":/+", "://", source, count=1))
        # User name, password and signature are kept out of messages.
        address = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        destination = "" if known == "https" else " ."
        raise LogError(
            f"{address}: files on object stores and web servers cannot be read directly; copy it first: "
            f"{_COPY[known]} {address}{destination}"
        )


def refuse_table_formats(path: Path) -> None:
    """Raise if a file or folder belongs to a Delta or Iceberg table, or if a folder contains one.

    The folder of such a table also contains files with rows that were deleted or replaced.
    """
    resolved = path.resolve()
    below = [*resolved.rglob("_delta_log"), *resolved.rglob("metadata")] if path.is_dir() else []
    for folder in (resolved, *resolved.parents, *(marker.parent for marker in below)):
        for name, scan, is_table in (
            ("Delta", "delta_scan", (folder / "_delta_log").is_dir()),
            ("Iceberg", "iceberg_scan", any((folder / "metadata").glob("*.metadata.json"))),
        ):
            if is_table:
                extension = name.lower()
                raise LogError(
                    f"{path}: part of a {name} table, whose files may contain deleted rows; export its "
                    f'current rows first: duckdb -c "INSTALL {extension}; LOAD {extension}; '
                    f"COPY (FROM {scan}('{folder}')) TO 'log.parquet'\""
                )
