"""Verification of a service: its log, its snapshots, and whether the state follows from the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from fairbandits.policies.persistence import PolicyState
from fairbandits.service.config import Config
from fairbandits.service.lifecycle.replay import catch_up, new_follower
from fairbandits.service.log.errors import LogDamagedError
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.integrity import CheckedLog, check_log, check_snapshots
from fairbandits.service.log.store import Store, open_store
from fairbandits.service.state.monitor import Monitor
from fairbandits.service.state.recommender import ServedRecommender


@dataclass(frozen=True)
class Verification:
    """The result of a verification.

    Attributes
    ----------
    log : CheckedLog
        The log that was checked.
    snapshots : list of int
        The entries of the snapshots, newest first.
    replayed : tuple of int or None
        The first and the last entry of the replay that led from one state to that of a snapshot; None if there is
        no snapshot, or none that fits the configuration.
    """

    log: CheckedLog
    snapshots: list[int]
    replayed: tuple[int, int] | None


def verify(config: Config) -> Verification:
    """Verify the store of a service, whether or not it is running.

    Raises
    ------
    ValueError
        If anything is damaged; the message names the first finding.
    """
    with open_store(config, must_exist=True) as store:
        with store.connection() as connection:
            log = check_log(connection)
            snapshots = check_snapshots(connection, log.last)
        served = store.read_change().served_config(config)
        return Verification(log, snapshots, _verify_state(served, store, log))


def _verify_state(config: Config, store: Store, log: CheckedLog) -> tuple[int, int] | None:
    """Replay the log up to the newest snapshot, and compare the two states."""
    usable = []
    for seq, parts in store.read_snapshots():
        follower = new_follower(config)
        if follower.restore(seq, parts):
            usable.append(follower)
    if not usable:
        return None
    # If some content was deleted, only the states between two snapshots can be recomputed.
    start = usable[-1] if log.deleted else new_follower(config)
    newest, first = usable[0], start.seq
    if start is newest:
        return None
    catch_up(store, start, upto=newest.seq)
    if start.seq < newest.seq:
        raise LogDamagedError(f"the log has no entry {newest.seq}, although there is a snapshot at that entry")
    if _state(start) != _state(newest):
        raise LogDamagedError(
            f"the snapshot at entry {newest.seq} differs from the state that a replay from entry {first} produces"
        )
    return first, newest.seq


def _state(follower: Follower) -> tuple[Any, ...]:
    """Return the part of the state that must be equal in two followers at the same entry."""
    recommender = cast(ServedRecommender, follower.folds["recommender"])
    monitor = cast(Monitor, follower.folds["monitor"]).frozen()
    monitor.forget_recent()  # the snapshot at the base of a pruned log has no recent decisions
    # The bytes are not compared, because two files may have the same content in a different order.
    sums = PolicyState.from_bytes(monitor.snapshot()())
    arrays = {name: (array.shape, array.tobytes()) for name, array in sums.arrays.items()}
    return recommender.checksum()(), sums.header, arrays
