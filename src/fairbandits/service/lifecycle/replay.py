"""Replay of the log, alongside the services that use it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from fairbandits.service.config import Config
from fairbandits.service.log.events import Decided, Entry
from fairbandits.service.log.follower import Fold, Follower
from fairbandits.service.log.store import Store
from fairbandits.service.state.monitor import Monitor
from fairbandits.service.state.recommender import ServedRecommender

# The number of entries that are read and applied at a time.
_PIECE = 500

#: A function that is called after every piece with the number of its entries.
Step = Callable[[int], None]


def make_folds(config: Config) -> dict[str, Fold]:
    """Create the entire state of a service, as it is before the first entry."""
    return {"recommender": ServedRecommender(config), "monitor": Monitor(config)}


def new_follower(config: Config) -> Follower:
    """Return a follower with the entire state of a service, as it is before the first entry."""
    return Follower(lambda: make_folds(config), config.store.snapshot_every)


def ignore_step(_: int) -> None:
    """Ignore the progress."""


def replay(
    store: Store,
    follower: Follower,
    *,
    snapshots_upto: int | None = None,
    upto: int | None = None,
    without: Collection[str] = (),
    step: Step = ignore_step,
) -> None:
    """Restore the newest usable snapshot, and apply the settled entries after it.

    Parameters
    ----------
    store : Store
        The store of the log.
    follower : Follower
        The folds, as they are before the first entry.
    snapshots_upto : int, optional
        The last entry whose snapshot may be used.
    upto : int, optional
        The last entry to apply.
    without : collection of str
        The ids of decisions. These decisions and their rewards are applied as if their content had been deleted.
    step : callable
        A function that is called after every piece with the number of its entries.
    """
    follower.restore_newest(store, snapshots_upto)
    catch_up(store, follower, upto=upto, without=without, step=step)


def catch_up(
    store: Store,
    follower: Follower,
    *,
    upto: int | None = None,
    without: Collection[str] = (),
    step: Step = ignore_step,
) -> None:
    """Apply the settled entries after the last one that was applied; see `replay`."""
    while entries := store.read(follower.seq, upto, _PIECE):
        follower.apply(_without(entries, without))
        step(len(entries))


def _without(entries: Sequence[Entry], skipped: Collection[str]) -> Sequence[Entry]:
    if not skipped:
        return entries
    return [replace(each, event=None, decided=None) if _decision_of(each) in skipped else each for each in entries]


def _decision_of(entry: Entry) -> str | None:
    """Return the id of the decision that an entry records or rewards; None for any other entry."""
    decided = entry.decided or entry.event
    return decided.id if isinstance(decided, Decided) else None


def serialised(follower: Follower) -> Mapping[str, bytes]:
    """Return the snapshot of a follower."""
    return follower.snapshot()[1]()
