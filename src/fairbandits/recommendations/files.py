"""The output, and the folder next to it that holds finished blocks until the output is complete."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fairbandits.cluster import Checkpoint
from fairbandits.storage import atomic_file, atomic_write, exclusive_file, remove_abandoned

_MANIFEST = "manifest.json"


def check_output(out: Path) -> None:
    """Raise ValueError unless a path can become a Parquet file."""
    if out.is_dir():
        raise ValueError(f"out must be a file, got the folder {out}")
    if out.suffix != ".parquet":
        raise ValueError(f"out must be a .parquet file, got {out}")
    if not out.parent.is_dir():
        raise ValueError(f"out must be in an existing folder, got {out}; create the folder first")


def write_tables(out: Path, schema: Any, tables: Iterable[Any]) -> None:
    """Write tables to a Parquet file, one row group each; the file either is complete or does not exist."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    with atomic_file(out) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        for table in tables:
            writer.write_table(table)


def unfinished_manifest(out: Path) -> dict[str, Any]:
    """Return the manifest of an interrupted run, which is empty if there is none."""
    try:
        manifest: dict[str, Any] = json.loads((_folder_of(out) / _MANIFEST).read_bytes())
    except FileNotFoundError:
        return {}
    return manifest


@contextmanager
def unfinished_blocks(
    out: Path, manifest: Mapping[str, Any], restarted: Callable[[list[str]], None]
) -> Iterator[Checkpoint]:
    """Yield the finished blocks of the same run, if it was interrupted before.

    Raises ValueError if another run is writing to the same output.

    Parameters
    ----------
    out : Path
        The output.
    manifest : mapping
        Everything on which the blocks depend, as JSON values. Blocks of a run with another manifest are removed.
    restarted : callable
        A function that is called with the entries of the manifest that have changed, if there are blocks to
        remove.
    """
    with _only_run(out):
        remove_abandoned(out)
        folder, before = _folder_of(out), unfinished_manifest(out)
        changed = [name for name in manifest if before.get(name) != manifest[name]]
        if before and changed:
            restarted(changed)
            shutil.rmtree(folder)
        folder.mkdir(exist_ok=True)
        atomic_write(folder / _MANIFEST, json.dumps(manifest, indent=2).encode())
        try:
            with Checkpoint(folder, json.dumps(manifest, sort_keys=True)) as checkpoint:
                yield checkpoint
        finally:
            if [path.name for path in folder.iterdir()] == [_MANIFEST]:
                shutil.rmtree(folder)


@contextmanager
def _only_run(out: Path) -> Iterator[None]:
    """Raise ValueError if another run is writing to an output; lock out other runs while the block runs."""
    with ExitStack() as held:
        try:
            held.enter_context(exclusive_file(out.with_name(f".{out.name}.lock")))
        except BlockingIOError:
            raise ValueError(
                f"out must not be written by another run, got {out}; wait until that run has ended, or name "
                "another file"
            ) from None
        yield


def _folder_of(out: Path) -> Path:
    return out.with_name(f".{out.name}.unfinished")
