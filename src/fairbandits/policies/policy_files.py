"""Policies as files: arrays in safetensors, the rest as JSON in its header. Never a pickle."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.storage import atomic_write

FORMAT = "fairbandits-policy"
VERSION = 3


class PolicyFileError(ValueError):
    """A file that cannot be read as a policy, and why."""


@dataclass(frozen=True, eq=False)
class State:
    """All of a policy at one moment: it can be written by another thread while the policy goes on.

    Attributes
    ----------
    header : dict
        What is no array, as plain values.
    arrays : dict of arrays
        The arrays, by name.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def checksum(self) -> str:
        """Give a fingerprint of what has been learned, as `Policy.checksum` does."""
        kept = {name: self.header[name] for name in ("kind", "arms", "groups", "rounds_learned")}
        learned = {name: array for name, array in self.arrays.items() if not name.startswith("ledger.")}
        return checksum(json.dumps(kept, sort_keys=True), learned)

    def to_bytes(self) -> bytes:
        """Give it as the content of a file."""
        from safetensors.numpy import save  # noqa: PLC0415  (needed only here, and slow to import)

        # Not ascontiguousarray, which would turn a scalar array into a vector.
        arrays = {name: np.array(array, order="C") for name, array in self.arrays.items()}
        text = json.dumps(self.header, sort_keys=True)
        metadata = {"format": FORMAT, "version": str(VERSION), "header": text, "sha256": checksum(text, arrays)}
        return save(arrays, metadata)

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "the state") -> State:
        """Read what `to_bytes` gave; refuse what is damaged, foreign or of another version."""
        from safetensors import SafetensorError  # noqa: PLC0415
        from safetensors.numpy import load  # noqa: PLC0415

        try:
            arrays = load(content)
            length = int.from_bytes(content[:8], "little")
            metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
        except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise PolicyFileError(
                f"{name}: not a policy file, or cut short or damaged ({error}); save it again"
            ) from None
        if metadata.get("format") != FORMAT:
            raise PolicyFileError(
                f"{name}: a safetensors file, but not one that a fairbandits policy was saved to"
            )
        if metadata.get("version") != str(VERSION):
            raise PolicyFileError(
                f"{name}: written in format version {metadata.get('version')!r}; this fairbandits reads version "
                f"{VERSION}. Load it with the fairbandits that saved it"
            )
        text = metadata.get("header", "")
        if metadata.get("sha256") != checksum(text, arrays):
            raise PolicyFileError(
                f"{name}: its checksum does not fit its content: the file is damaged; restore it from a copy"
            )
        return cls(json.loads(text), arrays)


def write(path: str | os.PathLike[str], state: State) -> None:
    """Write a policy's file whole or not at all."""
    target = Path(path)
    if not target.parent.is_dir():
        raise PolicyFileError(f"{path}: its folder does not exist; make it first")
    atomic_write(target, state.to_bytes())


def read(path: str | os.PathLike[str]) -> State:
    """Read a policy's file."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise PolicyFileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise PolicyFileError(f"{path}: not a policy file that can be read ({error.strerror})") from None
    return State.from_bytes(content, str(path))


def checksum(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    """Give a fingerprint of a text and named arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
