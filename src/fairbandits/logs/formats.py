"""File formats of logs, recognised by the suffix of the file name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairbandits.logs.errors import LogError

PARQUET, CSV, TSV, JSON_LINES, ARROW = "Parquet", "CSV", "TSV", "JSON lines", "Arrow"
_FORMATS = {
    "parquet": PARQUET,
    "pq": PARQUET,
    "csv": CSV,
    "tsv": TSV,
    "jsonl": JSON_LINES,
    "ndjson": JSON_LINES,
    "feather": ARROW,
    "arrow": ARROW,
}
_COMPRESSIONS = {"gz": "gzip", "zst": "zstd"}
_COMPRESSED = (CSV, TSV, JSON_LINES)
#: The suffixes, for messages.
SUFFIXES = ".csv, .tsv, .jsonl (also .gz or .zst), .parquet, .feather or .arrow"


@dataclass(frozen=True)
class DataFile:
    """A file of a log.

    Attributes
    ----------
    path : Path
        The path of the file.
    name : str
        The name used in messages.
    format : str
        The format.
    compression : str or None
        The compression of a text file.
    """

    path: Path
    name: str
    format: str
    compression: str | None = None


def data_file(path: Path, suffix: str | None = None, name: str | None = None) -> DataFile | None:
    """Return a file with its format, or None if its name has no known suffix.

    Parameters
    ----------
    path : Path
        The file.
    suffix : str, optional
        The suffix to use instead of that of the file name, such as "csv.gz".
    name : str, optional
        The name used in messages; by default the path.
    """
    parts = (path.name if suffix is None else f".{suffix.lstrip('.')}").lower().split(".")[1:]
    compression = _COMPRESSIONS.get(parts[-1]) if len(parts) > 1 else None
    found = _FORMATS.get(parts[-2 if compression else -1]) if parts else None
    if found is None or (compression and found not in _COMPRESSED):
        return None
    return DataFile(path, str(path) if name is None else name, found, compression)


def check_suffix(suffix: str) -> None:
    """Raise if a suffix, given as the parameter `format`, does not denote a format."""
    if data_file(Path(), suffix) is None:
        raise LogError(f"format must be a suffix such as csv, tsv, jsonl.gz or parquet, got {suffix!r}")
