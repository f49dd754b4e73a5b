"""Entries that change how the state follows from the log, together with the state to which they lead."""

from __future__ import annotations

import time
from dataclasses import replace

from sqlalchemy import Connection

from fairbandits.service.lifecycle.replay import serialised
from fairbandits.service.log.events import Event
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.insertion import NewEvent, insert_entries
from fairbandits.service.log.log_facts import StateChange
from fairbandits.service.log.snapshot_rows import insert_whole
from fairbandits.service.log.store import Store


def append_change(
    store: Store, connection: Connection, event: Event, follower: Follower, change: StateChange
) -> int:
    """Append the entry of a change, and save the state to which it leads as a snapshot.

    Parameters
    ----------
    store : Store
        The store.
    connection : Connection
        The connection of the store, within a transaction, so that services see either all of the change or
        nothing.
    event : Event
        The event.
    follower : Follower
        The new state, after the last settled entry.
    change : StateChange
        The fact to store, except for its `seq`.

    Returns
    -------
    int
        The number of the entry.
    """
    new = NewEvent(event.KIND, event.key, event.to_json())
    inserted = insert_entries(connection, store.head, follower.seq, time.time(), [new], [])
    store.keep_own(inserted.head, [])
    replace(change, seq=inserted.base + 1).write(connection)
    if follower.seq:
        insert_whole(connection, follower.seq, serialised(follower))
    return inserted.base + 1
