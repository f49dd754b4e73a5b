"""Forgetting a user: erasure of the content of the user's entries, and of everything that was learned from it.

A replay without these entries runs alongside the services. Then one transaction deletes the content of the
entries, as well as the replies and snapshots that contain it, saves the state of the replay, and appends an entry.
Services that read this entry load the new state.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from fairbandits.service.config import Config
from fairbandits.service.lifecycle.replay import Step, ignore_step, new_follower, replay
from fairbandits.service.lifecycle.state_change import append_change
from fairbandits.service.lifecycle.user_entries import UserEntries, batches, find_user_entries
from fairbandits.service.log.events import Rewarded, UserForgotten, decision_key, reward_key
from fairbandits.service.log.log_facts import PrunedContent, StateChange
from fairbandits.service.log.store import Store, open_store
from fairbandits.service.log.tables import answers, events, snapshots

_ID = re.compile(rb"[0-9a-f]{32}")
_ROWS = 1000
# The number of seconds to wait for transactions that began before the content was deleted.
_SETTLE_SECONDS = 30.0
_POLL_SECONDS = 0.01
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A user who was forgotten.

    Attributes
    ----------
    decisions, rewards, replies : int
        The numbers of decisions and rewards whose content was deleted, and of deleted replies.
    pruned : PrunedContent
        The content that was deleted earlier because of its age. It is unknown which of it belonged to this user,
        so its effect on the learned state remains.
    """

    decisions: int
    rewards: int
    replies: int
    pruned: PrunedContent


def forget_user(config: Config, pseudonym: str, step: Step = ignore_step) -> Forgotten:
    """Delete the content of a user's entries, and remove what was learned from them, while services keep running.

    Parameters
    ----------
    config : Config
        The configuration of the service.
    pseudonym : str
        The pseudonym of the user.
    step : callable
        A function that is called with the numbers of entries that were replayed.
    """
    with open_store(config, must_exist=True) as store:
        with store.connection() as connection:
            change, pruned = StateChange.read(connection), PrunedContent.read(connection)
            found = find_user_entries(connection, pseudonym)
        forgotten = Forgotten(0, 0, 0, pruned)
        if found.decisions:
            forgotten = _forget(store, change.served_config(config), found, change, pruned, step)
        # This is done even if there was nothing to forget, because an earlier run may have ended before this
        # point.
        _delete_late_rewards(store)
        _clean_up(store, pseudonym)
        return forgotten


def _forget(
    store: Store, served: Config, found: UserEntries, change: StateChange, pruned: PrunedContent, step: Step
) -> Forgotten:
    follower = new_follower(served)
    first = min(found.decisions)
    # The base of a pruned log comes before the rewards of all decisions that still have content.
    before = max(first - 1, pruned.base)
    # Rewards that arrive during the replay are also left out, because their content is deleted with the rest.
    replay(store, follower, snapshots_upto=before, without=found.ids, step=step)
    with store.transaction() as connection:
        if StateChange.read(connection) != change or PrunedContent.read(connection) != pruned:
            raise ValueError("the log was changed while it was replayed; run the command again")
        decisions = _delete_content(connection, [decision_key(each) for each in found.ids])
        rewards = _delete_content(connection, [reward_key(each) for each in found.ids])
        replies = _delete_replies(connection, found.ids, first)
        connection.execute(delete(snapshots).where(snapshots.c.seq > before))
        event = UserForgotten(secrets.token_hex(8), time.time(), decisions, rewards)
        append_change(store, connection, event, follower, change)
    return Forgotten(decisions, rewards, replies, pruned)


def export_user(config: Config, pseudonym: str) -> dict[str, Any]:
    """Return everything that the log contains about a user, as plain values."""
    with open_store(config, must_exist=True) as store, store.connection() as connection:
        found, pruned = find_user_entries(connection, pseudonym), PrunedContent.read(connection)
    rewards = {rewarded.decision: rewarded for rewarded in found.rewards.values()}
    decisions = [
        {**json.loads(decided.to_json()), "rewarded": _plain(rewards.get(decided.id))}
        for decided in found.decisions.values()
    ]
    return {"user": pseudonym, "decisions": decisions, "pruned_until": pruned.until or None}


def _plain(rewarded: Any) -> dict[str, Any] | None:
    return None if rewarded is None else {"time": rewarded.time, "reward": rewarded.reward}


def _delete_content(connection: Connection, keys: Sequence[str]) -> int:
    """Delete the content of entries; return the number of entries that had any."""
    n = 0
    for batch in batches(keys):
        held = events.c.key.in_(batch) & events.c.body.is_not(None)
        n += connection.execute(update(events).where(held).values(body=None, salt=None)).rowcount
    return n


def _delete_replies(connection: Connection, ids: set[str], first: int) -> int:
    """Delete the stored replies that name any of the decisions; return their number."""
    since = connection.execute(select(events.c.time).where(events.c.seq == first)).scalar_one()
    query = select(answers.c.key, answers.c.body).where(answers.c.time >= since)
    rows = connection.execute(query.execution_options(yield_per=_ROWS))
    keys = [key for key, body in rows if any(each.decode() in ids for each in _ID.findall(bytes(body)))]
    for batch in batches(keys):
        connection.execute(delete(answers).where(answers.c.key.in_(batch)))
    return len(keys)


def _delete_late_rewards(store: Store) -> None:
    """Delete the content of rewards that were on their way to PostgreSQL while their decisions were deleted."""
    last, deadline = store.last_seq(), time.monotonic() + _SETTLE_SECONDS
    while last and not store.read(last - 1, last) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    # The search is not part of the transaction, because it takes longer than writers may wait. This is safe, since
    # a decision never gets its content back.
    with store.connection() as connection:
        late = _rewards_without_decision(connection)
    if late:
        with store.transaction() as connection:
            _delete_content(connection, late)


def _rewards_without_decision(connection: Connection) -> Sequence[str]:
    """Return the keys of the rewards whose decisions no longer have content."""
    decided = events.alias()
    is_of = decided.c.key == decision_key("") + func.substr(events.c.key, len(reward_key("")) + 1)
    query = select(events.c.key).join(decided, is_of)
    held = (events.c.kind == Rewarded.KIND) & events.c.body.is_not(None)
    return connection.execute(query.where(held, decided.c.body.is_(None))).scalars().all()


def _clean_up(store: Store, pseudonym: str) -> None:
    """Remove the remains of deleted rows from the database, as far as this is possible while services use it."""
    with store.connection() as connection:
        if not store.is_sqlite:
            connection.exec_driver_sql("VACUUM events, answers, snapshots")
            return
        _truncate_wal(connection)
        # Deleted content is overwritten with zeros, but earlier releases did not do this.
        if _file_contains(Path(store.engine.url.database or ""), pseudonym.encode()):
            connection.exec_driver_sql("VACUUM")
            _truncate_wal(connection)


def _truncate_wal(connection: Connection) -> None:
    """Transfer SQLite's write-ahead log into the database file, and empty the log."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]:
        if time.monotonic() > deadline:
            raise ValueError(
                "the write-ahead log of the store must be emptied, but another process is reading it; "
                "run the command again"
            )
        time.sleep(_POLL_SECONDS)


def _file_contains(path: Path, content: bytes) -> bool:
    with path.open("rb") as file:
        kept = b""
        while block := file.read(_BLOCK):
            if content in kept + block:
                return True
            kept = block[-len(content) :]
    return False
