"""Following the log: all state in memory is a fold over its entries, in order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from fairbandits.service.log.events import STATE_CHANGES, Entry
from fairbandits.service.log.store import Store

_log = logging.getLogger(__name__)

# The number of seconds for which a start waits for entries that are in the log but not yet settled, and the number
# between two checks of them.
_SETTLE_SECONDS = 10.0
_SETTLE_POLL_SECONDS = 0.01


class Fold(Protocol):
    """A part of the state that follows from the log."""

    def apply(self, entry: Entry) -> None:
        """Update the state with the next entry."""

    def snapshot(self) -> Callable[[], bytes]:
        """Copy the state; return a function that serialises the copy, to be called in another thread."""

    def restore(self, content: bytes) -> None:
        """Replace the state with a serialised one; raise ValueError, and change nothing, if it is damaged."""


class Follower:
    """The folds of a log, and the entry that they have reached.

    Parameters
    ----------
    make : callable
        A function that creates the folds, by name, in their state before the first entry.
    snapshot_every : int
        The number of entries after which a snapshot is due.

    Attributes
    ----------
    folds : mapping of str to Fold
        The folds.
    seq : int
        The last entry that was applied.
    applied : int
        The number of entries that were applied.
    snapshot_seq : int
        The entry of the last snapshot.
    snapshot_due : asyncio.Event
        Set when entries are applied while a snapshot is due.
    change_seq : int
        The last entry that changed the meaning of earlier entries (`log_facts.StateChange`) and that the folds
        reflect.
    rebuild_due : asyncio.Event
        Set when a later such entry is applied. The folds must then be replaced with folds that reflect it.
    """

    def __init__(self, make: Callable[[], Mapping[str, Fold]], snapshot_every: int) -> None:
        self._make = make
        self._snapshot_every = snapshot_every
        self.folds = make()
        self.seq = 0
        self.snapshot_seq = 0
        self.applied = 0
        self._snapshot_applied = 0
        # The number of entries of each writer that have been applied here.
        self._chains: dict[str, int] = {}
        self._is_from_start = True
        self.snapshot_due = asyncio.Event()
        self.change_seq = 0
        self.rebuild_due = asyncio.Event()
        self._recorded: list[Entry] | None = None

    def apply(self, entries: Iterable[Entry]) -> None:
        """Apply the next entries."""
        for entry in entries:
            self._check(entry)
            for fold in self.folds.values():
                fold.apply(entry)
            self.seq = entry.seq
            self.applied += 1
            if isinstance(entry.event, STATE_CHANGES) and entry.seq > self.change_seq:
                self.rebuild_due.set()
            if self._recorded is not None:
                self._recorded.append(entry)
        if self.is_snapshot_due:
            self.snapshot_due.set()

    def _check(self, entry: Entry) -> None:
        """Raise ValueError if an entry before this one is missing."""
        if entry.seq <= self.seq:
            raise ValueError(f"the next entry of the log must come after {self.seq}, got {entry.seq}")
        if entry.n:
            # After a snapshot has been restored, it is unknown how many entries of a writer it contains.
            before = self._chains.get(entry.writer, 0 if self._is_from_start else entry.n - 1)
            if entry.n != before + 1:
                raise ValueError(
                    f"entry {entry.seq} of the log must be number {before + 1} of its writer, got {entry.n}; "
                    "entries are missing: run `fairbandits verify`"
                )
            self._chains[entry.writer] = entry.n

    @property
    def is_snapshot_due(self) -> bool:
        """Whether enough entries have been applied since the last snapshot."""
        return self.applied - self._snapshot_applied >= self._snapshot_every

    def note_snapshot(self, seq: int, applied: int) -> None:
        """Record that a snapshot was saved, and the value of `applied` at its entry."""
        self.snapshot_seq, self._snapshot_applied = seq, applied

    def start(self, store: Store) -> None:
        """Restore the newest usable snapshot, and apply the rest of the log."""
        self.restore_newest(store)
        last, deadline = store.last_seq(), time.monotonic() + _SETTLE_SECONDS
        while self.seq < last:
            if entries := store.read(self.seq):
                self.apply(entries)
            elif time.monotonic() > deadline:
                _log.warning(
                    "the log is followed from entry %d; a transaction holds back entry %d", self.seq, last
                )
                return
            else:
                time.sleep(_SETTLE_POLL_SECONDS)

    def restore_newest(self, store: Store, upto: int | None = None) -> None:
        """Restore the newest usable snapshot up to an entry; raise ValueError if one is needed but missing."""
        for seq, parts in store.read_snapshots():
            if (upto is None or seq <= upto) and self.restore(seq, parts):
                return
        if base := store.read_pruned().base:
            raise ValueError(
                f"the log was pruned up to entry {base}, and the snapshot there cannot be used; change the policy "
                "or the groups with `fairbandits replace`, or restore a backup"
            )

    def restore(self, seq: int, parts: Mapping[str, bytes]) -> bool:
        """Restore the snapshot at an entry; return False, and log the reason, if it cannot be used."""
        folds = self._make()
        try:
            for name, fold in folds.items():
                fold.restore(parts[name])
        except (KeyError, ValueError) as error:
            _log.warning(
                "the snapshot at entry %d cannot be used (%s); reading more of the log instead", seq, error
            )
            return False
        self.folds, self.seq, self.snapshot_seq = folds, seq, seq
        self._is_from_start = False
        return True

    def begin_with(self, make: Callable[[], Mapping[str, Fold]], change_seq: int) -> None:
        """Start with other folds, which reflect a change of the state, before anything is applied."""
        self._make, self.folds, self.change_seq = make, make(), change_seq

    @contextmanager
    def recording(self) -> Iterator[list[Entry]]:
        """Provide a list that receives every entry that is applied while the block runs."""
        self._recorded = []
        try:
            yield self._recorded
        finally:
            self._recorded = None

    def take_over(self, other: Follower) -> None:
        """Replace the folds with those of another follower that has reached the same entry."""
        if other.seq != self.seq:
            raise ValueError(f"the other follower must be at entry {self.seq}, got {other.seq}")
        self._make, self.folds, self.change_seq = other._make, other.folds, other.change_seq

    def snapshot(self) -> tuple[int, Callable[[], dict[str, bytes]]]:
        """Copy all folds; return their entry, and a function with which another thread serialises the copies."""
        copies = {name: fold.snapshot() for name, fold in self.folds.items()}
        return self.seq, lambda: {name: serialise() for name, serialise in copies.items()}
