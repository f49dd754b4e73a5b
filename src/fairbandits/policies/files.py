"""Policies as files: arrays in safetensors, the rest as JSON in its header. Never a pickle."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.storage import write_whole

FORMAT = "fairbandits-policy"
VERSION = 2


class FileError(ValueError):
    """A file that cannot be read as a policy, and why."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a policy's file whole or not at all."""
    from safetensors.numpy import save  # noqa: PLC0415  (needed only here, and slow to import)

    # Not ascontiguousarray, which would turn a scalar array into a vector.
    arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
    text = json.dumps(header, sort_keys=True)
    metadata = {"format": FORMAT, "version": str(VERSION), "header": text, "sha256": checksum(text, arrays)}
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError(f"{path}: its folder does not exist; make it first")
    write_whole(target, save(arrays, metadata))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a policy's file; refuse what is damaged, foreign or of another version."""
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415

    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file") from None
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise FileError(f"{path}: not a policy file, or cut short or damaged ({error}); save it again") from None
    if metadata.get("format") != FORMAT:
        raise FileError(f"{path}: a safetensors file, but not one that a fairbandits policy was saved to")
    if metadata.get("version") != str(VERSION):
        raise FileError(
            f"{path}: written in format version {metadata.get('version')!r}; this fairbandits reads version "
            f"{VERSION}. Load it with the fairbandits that saved it"
        )
    text = metadata.get("header", "")
    if metadata.get("sha256") != checksum(text, arrays):
        raise FileError(
            f"{path}: its checksum does not fit its content: the file is damaged; restore it from a copy"
        )
    header: dict[str, Any] = json.loads(text)
    return header, arrays


def checksum(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    """Give a fingerprint of a text and named arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
