"""Execution of passes over a log: in one go or part by part, on a cluster, with a progress bar, resumable."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from fairbandits.cluster import Checkpoint, Cluster, connect, resumable_map_reduce
from fairbandits.logs.log import Log

State = TypeVar("State")

# The number of parts of a log: enough for the cores of a cluster, but no part is too small to be worth a task.
_MAX_PARTS, _ROWS_PER_PART = 32, 100_000


@dataclass(frozen=True)
class LogPasses:
    """Runs passes over a log; each pass computes sums that can be merged.

    Attributes
    ----------
    log : Log
        The log.
    cluster : str, distributed.Client or None
        The cluster on which the passes run; None for this process.
    checkpoint : Checkpoint or None
        The checkpoint in which the sums of finished parts are stored.
    progress : bool
        Whether to show progress bars, in a terminal or a notebook.
    """

    log: Log
    cluster: Cluster = None
    checkpoint: Checkpoint | None = None
    progress: bool = False

    def run(self, step: str, compute: Callable[[Log], State], merge: Callable[[State, State], State]) -> State:
        """Run a pass.

        Parameters
        ----------
        step : str
            The name of the pass in progress bars and in the checkpoint.
        compute : callable
            A function that computes the sums of a part of the log; row numbers are those in the whole log.
        merge : callable
            A function that merges the sums of two consecutive parts; it may modify the first and return it.
        """
        if not self._is_split:
            return compute(self.log)
        return resumable_map_reduce(
            self._parts, compute, merge, self.cluster, self.checkpoint, step, self.progress
        )

    def in_order(self) -> LogPasses:
        """Return passes over the whole log from the first row to the last, for sums that depend on the order."""
        return LogPasses(self.log)

    @property
    def _is_split(self) -> bool:
        return self.cluster is not None or self.checkpoint is not None or self.progress

    @cached_property
    def _parts(self) -> list[Log]:
        return self.log.split(_n_parts(self.log, self.cluster))


class _Sums(Protocol):
    def merge(self, later: Self) -> None: ...


Sums = TypeVar("Sums", bound=_Sums)


def merged(sums: Sums, later: Sums) -> Sums:
    """Add the sums of a later part to those of an earlier part, and return the result."""
    sums.merge(later)
    return sums


@contextmanager
def open_passes(
    log: Log, cluster: Cluster, folder: str | Path | None, progress: bool, inputs: Any
) -> Iterator[LogPasses]:
    """Connect to a cluster and open a checkpoint, if they are given.

    Parameters
    ----------
    log : Log
        The log.
    cluster : str, distributed.Client or None
        The cluster on which the passes run.
    folder : path or None
        The folder for the sums of finished parts.
    progress : bool
        Whether to show progress bars, in a terminal or a notebook.
    inputs : object
        Everything else on which the sums depend; it must be picklable.
    """
    checkpoint = None
    if folder is not None:
        checkpoint = Checkpoint(Path(folder), _fingerprint(log, cluster, inputs))
    with connect(cluster) as client, checkpoint or nullcontext():
        yield LogPasses(log, client, checkpoint, progress)


def _n_parts(log: Log, cluster: Cluster) -> int:
    if cluster is not None:
        return _MAX_PARTS
    rows = [fragment.n_rows for fragment in log.fragments]
    # Splitting a CSV file would require reading it once more, to count its rows.
    known = sum(n for n in rows if n is not None)
    return 1 if None in rows else max(1, min(_MAX_PARTS, known // _ROWS_PER_PART))


def _fingerprint(log: Log, cluster: Cluster, inputs: Any) -> str:
    from fairbandits import __version__  # noqa: PLC0415 - the package imports this module

    digest = hashlib.sha256(pickle.dumps((inputs, replace(log, fragments=[]))))
    for fragment in log.fragments:
        path = Path(getattr(fragment, "path", ""))
        # Its size and modification time identify a file without reading it.
        status = path.stat() if path.is_file() else None
        digest.update(repr((str(path), status and (status.st_size, status.st_mtime_ns))).encode())
        if status is None:
            digest.update(pickle.dumps(fragment))
    return f"{__version__} {_n_parts(log, cluster)} {digest.hexdigest()}"
