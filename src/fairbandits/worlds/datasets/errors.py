"""Errors about datasets."""

from __future__ import annotations

#: The remedy for a file that is not the published one.
REMEDY = "Replace the file with the original, or delete it to download it again."


class DataError(ValueError):
    """Raised for a damaged dataset; the message names the file, the problem and the remedy."""


class DataMissingError(DataError):
    """Raised for a dataset that is not available; the message lists every attempt to find it."""
