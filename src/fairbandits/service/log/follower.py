"""Following the log: everything in memory is what follows from its entries, in their order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from fairbandits.service.log import Store
from fairbandits.service.log.events import Entry

_log = logging.getLogger(__name__)


class Fold(Protocol):
    """Something that follows from the log."""

    def apply(self, entry: Entry) -> None:
        """Take the next entry."""

    def snapshot(self) -> Callable[[], bytes]:
        """Take a copy, of which another thread can make what `restore` takes."""

    def restore(self, content: bytes) -> None:
        """Take the state from what `snapshot` gave; where that is damaged, a ValueError and no change."""


class Follower:
    """Applies the log to all that follows from it.

    Parameters
    ----------
    make : callable
        Makes the folds, by name, as they are before the first entry.

    Attributes
    ----------
    folds : mapping of str to Fold
        What follows from the log.
    seq : int
        The last entry that was applied.
    """

    def __init__(self, make: Callable[[], Mapping[str, Fold]]) -> None:
        self._make = make
        self.folds = make()
        self.seq = 0

    def apply(self, entries: Iterable[Entry]) -> None:
        """Apply the next entries."""
        for entry in entries:
            if entry.seq != self.seq + 1:
                raise ValueError(f"entry {entry.seq} of the log came after {self.seq}: one is missing")
            for fold in self.folds.values():
                fold.apply(entry)
            self.seq = entry.seq

    def start(self, store: Store) -> int:
        """Take the last snapshot that can be used, and the tail of the log behind it; say where that began."""
        for seq, parts in store.read_snapshots(_log.warning):
            if self._restore(seq, parts):
                break
        began = self.seq
        while entries := store.read(self.seq):
            self.apply(entries)
        return began

    def _restore(self, seq: int, parts: Mapping[str, bytes]) -> bool:
        folds = self._make()
        try:
            for name, fold in folds.items():
                fold.restore(parts[name])
        except (KeyError, ValueError) as error:
            _log.warning("the snapshot at %d cannot be used (%s); reading more of the log instead", seq, error)
            return False
        self.folds, self.seq = folds, seq
        return True

    def snapshot(self) -> tuple[int, Callable[[], dict[str, bytes]]]:
        """Take a copy of all folds, of which another thread can make the parts of a snapshot."""
        made = {name: fold.snapshot() for name, fold in self.folds.items()}
        return self.seq, lambda: {name: write() for name, write in made.items()}
