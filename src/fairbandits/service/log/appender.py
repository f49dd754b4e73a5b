"""Appending to the log: many requests in one transaction, while the events on which they depend cannot change.

SQLite is locked until the commit. PostgreSQL need not be locked, because events never change and their keys are
unique. If two writers append the same key, one of them fails; it settles its requests again and finds the other's
event.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection

from fairbandits.service.log.errors import KeyTakenError, StoreDownError
from fairbandits.service.log.events import Entry, Event, Rewarded, decision_key
from fairbandits.service.log.insertion import NewEvent, StoredReply, insert_entries
from fairbandits.service.log.reading import decision_of, find, find_rows, read
from fairbandits.service.log.requests import IdempotencyKey, LogRequest, Outcome, Refusal, RefusalReason
from fairbandits.service.log.store import Store

# The number of attempts to append a batch while other writers append some of its keys. Each attempt finds the
# events that were appended before it.
_MAX_ATTEMPTS = 20
# The number of seconds between two reads of entries appended by other writers, because many small reads would take
# more time than one large read.
_READ_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Settlement:
    """The events to append for a request, and its outcome once they are on disk."""

    events: Sequence[Event]
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRequest(LogRequest):
    """A request to append events.

    Attributes
    ----------
    depends_on : sequence of str
        The keys of the events that the request must see in order to be settled.
    """

    depends_on: Sequence[str] = ()

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Decide which events are appended, given the events of `depends_on` that exist.

        If `found` changes before the commit, nothing is appended, and the appender calls this method again.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendEvents(AppendRequest):
    """A request to append events, unless one of `depends_on` exists.

    Attributes
    ----------
    events : sequence of Event
        The events.
    reply : bytes
        The reply, once they are on disk.
    """

    events: Sequence[Event]
    reply: bytes = b""

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Append the events, or none of them."""
        if found:
            return Settlement((), Refusal(RefusalReason.CONFLICT, "the log has changed in the meantime"))
        return Settlement(self.events, self.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRequest(AppendRequest):
    """A request that is refused unless the reply to the same request is stored under its idempotency key.

    Attributes
    ----------
    refusal : Refusal
        The refusal.
    """

    refusal: Refusal

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Refuse the request."""
        return Settlement((), self.refusal)


class Appended(NamedTuple):
    """The result of appending.

    Attributes
    ----------
    entries : list of Entry
        The settled entries after the last one that the caller had read. On PostgreSQL, the new entries may be
        missing until all transactions that other writers began earlier have ended.
    outcomes : list of Outcome
        The outcome of each request.
    has_written : bool
        Whether anything was written; requests that repeat earlier ones only read the log.
    """

    entries: list[Entry]
    outcomes: list[Outcome]
    has_written: bool


class _Plan(NamedTuple):
    """The result of settling a batch of requests: events, both plain and as stored, replies and outcomes."""

    events: list[Event]
    new: list[NewEvent]
    replies: list[StoredReply]
    outcomes: list[Outcome]


def append(store: Store, requests: Sequence[AppendRequest], known: int) -> Appended:
    """Settle requests in order and append their events, all of them or none.

    Parameters
    ----------
    store : Store
        The store of the log.
    requests : sequence of AppendRequest
        The requests.
    known : int
        The last entry that the caller has read.

    Raises
    ------
    StoreDownError
        If the database fails. In that case either nothing is appended or everything is; reading the log shows
        which.
    LogLostError
        If the log ends before `known`.
    """
    for _ in range(_MAX_ATTEMPTS):
        with suppress(KeyTakenError):  # taken by another writer, whose events the next attempt finds
            outcomes, is_next, has_written = _append_once(store, requests, known)
            break
    else:
        raise StoreDownError("the keys of the events are already in use")
    return Appended(_new_entries(store, known, is_next), outcomes, has_written)


def _new_entries(store: Store, known: int, is_next: bool) -> list[Entry]:
    """Return the settled entries after a given one; none if other writers' entries were read only a moment ago."""
    own = store.own_entries(known)
    if is_next:
        return [*own.values()]
    if time.monotonic() - store.read_at < _READ_SECONDS:
        return []
    with suppress(StoreDownError), store.connection() as connection:  # appended entries are acknowledged anyway
        store.read_at = time.monotonic()
        return read(connection, known, own=own)
    return []


def _append_once(store: Store, requests: Sequence[AppendRequest], known: int) -> tuple[list[Outcome], bool, bool]:
    """Append events.

    Return the outcomes, whether all new entries are the ones that were appended here, and whether anything was
    written.
    """
    now = time.time()
    with store.appending() as connection:
        found = find(connection, [key for request in requests for key in request.depends_on])
        replies = _stored_replies(connection, [each.idempotency.key for each in requests if each.idempotency])
        plan = _settle(requests, found, replies)
        if not plan.events and not plan.replies:
            return plan.outcomes, False, False
        # A request need not depend on the decisions of its rewards, but these are needed to apply the rewards.
        keys = [decision_key(event.decision) for event in plan.events if isinstance(event, Rewarded)]
        found |= find(connection, [key for key in keys if key not in found])
        inserted = insert_entries(connection, store.head, known, now, plan.new, plan.replies)
    base, is_next, head = inserted
    n = head.n - len(plan.events)
    store.keep_own(
        head,
        [
            Entry(base + place, event, decision_of(event, found), head.writer, n + place)
            for place, event in enumerate(plan.events, 1)
        ],
    )
    return plan.outcomes, is_next, True


def _settle(
    requests: Sequence[AppendRequest], found: dict[str, Any], replies: dict[str, tuple[str, bytes]]
) -> _Plan:
    plan = _Plan([], [], [], [])
    for request in requests:
        idempotency = request.idempotency
        if idempotency is not None and idempotency.key in replies:
            plan.outcomes.append(_repeated(idempotency, replies))
            continue
        # A request sees only the events on which it depends, and no other events of its batch.
        settlement = request.settle({key: found[key] for key in request.depends_on if key in found})
        plan.outcomes.append(settlement.outcome)
        for event in settlement.events:
            key = event.key
            plan.events.append(event)
            plan.new.append(NewEvent(event.KIND, key, event.to_json()))
            found[key] = event
        if idempotency is not None and isinstance(settlement.outcome, bytes):
            replies[idempotency.key] = (idempotency.digest, settlement.outcome)
            plan.replies.append(StoredReply(idempotency.key, idempotency.digest, settlement.outcome))
    return plan


def _stored_replies(connection: Connection, keys: Sequence[str]) -> dict[str, tuple[str, bytes]]:
    rows = find_rows(connection, "key, digest, body FROM answers", keys)
    return {key: (digest, bytes(body)) for key, digest, body in rows}


def _repeated(idempotency: IdempotencyKey, replies: Mapping[str, tuple[str, bytes]]) -> Outcome:
    digest, reply = replies[idempotency.key]
    if digest == idempotency.digest:
        return reply
    detail = "this idempotency key was used before with another request; a new request needs a new key"
    return Refusal(RefusalReason.IDEMPOTENCY_KEY_REUSED, detail)
