"""Deletion of old content, which is replaced by a snapshot.

Entries up to a *base* are pruned. The state after the base is recomputed, starting from the previous base. A
replay from there must lead to the newest snapshot of the services, bit for bit. The state is saved as a snapshot
and read back. Only then are content and salts deleted, whereas digests are kept. From then on, replays start at
the base, whose snapshot is kept.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from fairbandits.service.config import Config
from fairbandits.service.lifecycle.replay import Step, catch_up, ignore_step, new_follower, replay, serialised
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.events import ContentPruned, Decided, Rewarded
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.log_facts import PrunedContent, StateChange, read_fact, write_fact
from fairbandits.service.log.snapshot_rows import insert_whole
from fairbandits.service.log.store import Store
from fairbandits.service.log.tables import events, snapshots
from fairbandits.service.state.monitor import Monitor
from fairbandits.service.state.recommender import ServedRecommender

_PIECE = 2000
_LEASE, _LEASE_SECONDS = "pruning", 3600.0
_MIN_PERIOD = 3600.0
# All columns of an entry except its content.
_LASTING = [column for column in events.columns if column.name not in ("body", "salt")]


def prune_period(retention: float) -> float:
    """Return the number of seconds between two prunings."""
    return max(_MIN_PERIOD, retention / 20)


def prune(store: Store, config: Config, now: float, step: Step = ignore_step) -> PrunedContent | None:
    """Delete the content of entries that are older than the configuration allows.

    A decision is kept as long as its reward. Several workers may call this; one of them does the work.

    Parameters
    ----------
    store : Store
        The store, which no other thread uses.
    config : Config
        The configuration.
    now : float
        The time, in seconds since 1970.
    step : callable
        A function that is called after every piece of work with the number of entries that were replayed. If it
        raises an error, the next call of `prune` continues the work.

    Returns
    -------
    PrunedContent or None
        All content that was ever pruned; None if there was nothing to do.

    Raises
    ------
    ValueError
        If the snapshot at the base does not lead to the state of the services. In that case, nothing is deleted.
    """
    retention = config.retention.seconds
    if retention is None or not _take_lease(store):
        return None
    try:
        return _prune(store, config, now, retention, step)
    except _OvertakenError:
        return None
    finally:
        _end_lease(store)


def _prune(store: Store, config: Config, now: float, retention: float, step: Step) -> PrunedContent | None:
    until = now - retention
    with store.connection() as connection:
        change, pruned = StateChange.read(connection), PrunedContent.read(connection)
        base = max(_last_before(connection, until, now, pruned.base), pruned.base)
        # An interrupted pruning continues, even if no other entry has become old since.
        is_done = not pruned.base or _is_finished(connection, pruned)
    if base == pruned.base and is_done:
        return None
    try:
        parts = _verified_base(store, change.served_config(config), base, step)
    except ValueError:
        with store.connection() as connection:
            _check_unchanged(connection, change, pruned)  # this fails if content was deleted during the replay
        raise
    with store.transaction() as connection:
        _check_unchanged(connection, change, pruned)
        connection.execute(delete(snapshots).where(snapshots.c.seq == base))
        insert_whole(connection, base, parts)
        pruned = replace(pruned, base=base, until=until)
        pruned.write(connection)
    _check_saved(store, pruned, parts)
    pruned = _delete_content(store, pruned, step)
    return _finish(store, pruned, now)


class _OvertakenError(Exception):
    """Another process has deleted content, or has changed the state, in the meantime."""


def _check_unchanged(connection: Connection, change: StateChange, pruned: PrunedContent) -> None:
    """Raise `_OvertakenError` if the new base is outdated by a new policy, a forgotten user or another pruning."""
    if StateChange.read(connection) != change:
        raise _OvertakenError
    _check_last(connection, pruned)


def _check_last(connection: Connection, pruned: PrunedContent) -> None:
    """Raise `_OvertakenError` if another worker has pruned, because the lease of a slow worker expires."""
    if PrunedContent.read(connection) != pruned:
        raise _OvertakenError


def _last_before(connection: Connection, until: float, now: float, start: int) -> int:
    """Return the last entry such that all entries from `start` to it are older than `until` or in the future."""
    is_newer = (events.c.time >= until) & (events.c.time <= now)
    query = select(events.c.seq).where(events.c.seq > start, is_newer).order_by(events.c.seq).limit(1)
    first = connection.execute(query).scalar()
    older = select(func.max(events.c.seq))
    return connection.execute(older if first is None else older.where(events.c.seq < first)).scalar() or 0


def _verified_base(store: Store, config: Config, base: int, step: Step) -> Mapping[str, bytes]:
    """Return the snapshot at an entry, from which a replay leads to the newest snapshot of the services."""
    folded = new_follower(config)
    replay(store, folded, snapshots_upto=base, upto=base, step=step)
    # The decisions shown on the page count as content.
    cast(Monitor, folded.folds["monitor"]).forget_recent()
    parts = serialised(folded)
    replayed, newest = new_follower(config), new_follower(config)
    if not replayed.restore(base, parts) or _checksum(replayed) != _checksum(folded):
        raise ValueError(f"the snapshot at entry {base} cannot be restored, so nothing was pruned")
    for seq, saved in store.read_snapshots():
        if seq > base and newest.restore(seq, saved):
            catch_up(store, replayed, upto=seq, step=step)
            if _checksum(replayed) != _checksum(newest):
                raise ValueError(
                    f"a replay from entry {base} must lead to the snapshot at entry {seq}, got a different state; "
                    "nothing was pruned; run `fairbandits verify`"
                )
            break
    return parts


def _checksum(follower: Follower) -> str:
    return cast(ServedRecommender, follower.folds["recommender"]).checksum()()


def _check_saved(store: Store, pruned: PrunedContent, parts: Mapping[str, bytes]) -> None:
    """Raise ValueError unless the snapshot can be read from the store as it was written."""
    base = pruned.base
    if (base, parts) not in [(seq, saved) for seq, saved in store.read_snapshots() if seq == base]:
        with store.connection() as connection:
            _check_last(connection, pruned)  # this fails if another worker has dropped the snapshot
        raise ValueError(
            f"the snapshot at entry {base} cannot be read, so nothing was pruned; check the disk for damage"
        )


def _delete_content(store: Store, pruned: PrunedContent, step: Step) -> PrunedContent:
    """Delete content up to the base, a few entries in each transaction; return the new counts."""
    later = events.alias()
    has_later_reward = (
        select(later.c.seq)
        .where(later.c.key == "r:" + func.substr(events.c.key, 3), later.c.seq > pruned.base)
        .correlate(events)
        .exists()
    )
    at = pruned.start
    while at < pruned.base:
        with store.transaction() as connection:
            _check_last(connection, pruned)
            piece = select(events.c.seq).where(events.c.seq > at, events.c.seq <= pruned.base)
            last = connection.execute(piece.order_by(events.c.seq).offset(_PIECE - 1).limit(1)).scalar()
            upto = pruned.base if last is None else last
            old = (events.c.seq > at) & (events.c.seq <= upto) & events.c.body.is_not(None)
            is_decision = (events.c.kind == Decided.KIND) & ~has_later_reward
            kinds = _rewrite(connection, old & (is_decision | (events.c.kind == Rewarded.KIND)))
            pruned = replace(
                pruned,
                decisions=pruned.decisions + kinds[Decided.KIND],
                rewards=pruned.rewards + kinds[Rewarded.KIND],
            )
            pruned.write(connection)
        at = upto
        step(0)
    return pruned


def _rewrite(connection: Connection, which: ColumnElement[bool]) -> Counter[str]:
    """Replace entries with entries that have no content; return the number of entries of each kind.

    An update would leave the free space within SQLite's pages, where later entries could not use it.
    """
    rows = connection.execute(select(*_LASTING).where(which).order_by(events.c.seq)).mappings().all()
    if rows:
        connection.execute(delete(events).where(which))
        connection.execute(insert(events), [dict(row) for row in rows])
    return Counter(row["kind"] for row in rows)


def _is_finished(connection: Connection, pruned: PrunedContent) -> bool:
    """Return whether the pruning up to the base has appended its entry, which is the last step."""
    key = _event(pruned, time=0.0).key
    return connection.execute(select(events.c.seq).where(events.c.key == key)).scalar() is not None


def _event(pruned: PrunedContent, time: float) -> ContentPruned:
    return ContentPruned(pruned.base, time, pruned.decisions, pruned.rewards)


def _finish(store: Store, pruned: PrunedContent, now: float) -> PrunedContent:
    """Append the entry of the pruning, and drop the snapshots before the base."""
    with store.transaction() as connection:
        _check_last(connection, pruned)
        pruned = replace(pruned, start=_last_without_content(connection, pruned))
        pruned.write(connection)
        connection.execute(delete(snapshots).where(snapshots.c.seq > 0, snapshots.c.seq < pruned.base))
    event = _event(pruned, now)
    append(store, [AppendEvents(events=[event], depends_on=[event.key])], pruned.base)
    return pruned


def _last_without_content(connection: Connection, pruned: PrunedContent) -> int:
    """Return the last entry, not after the base, up to which no decision or reward has content."""
    # Times are not conclusive: after a jump of the clock, the reward of an old decision may come after the base.
    can_be_pruned = (events.c.seq > pruned.start) & (events.c.seq <= pruned.base) & events.c.body.is_not(None)
    first = select(func.min(events.c.seq)).where(can_be_pruned, events.c.kind.in_([Decided.KIND, Rewarded.KIND]))
    held = connection.execute(first).scalar()
    return pruned.base if held is None else held - 1


def _take_lease(store: Store) -> bool:
    """Return whether no other worker is pruning."""
    now = time.time()
    with store.transaction() as connection:
        value = read_fact(connection, _LEASE)
        if value is not None and now < float(value) <= now + _LEASE_SECONDS:
            return False
        write_fact(connection, _LEASE, str(now + _LEASE_SECONDS))
        return True


def _end_lease(store: Store) -> None:
    with store.transaction() as connection:
        write_fact(connection, _LEASE, "0")
