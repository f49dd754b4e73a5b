"""Appending to the log: many requests in one transaction, each settled while the log is locked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from fairbandits.service.log.errors import LogLostError
from fairbandits.service.log.events import Entry, Event
from fairbandits.service.log.requests import IdempotencyKey, LogRequest, Outcome, Refusal, RefusalReason
from fairbandits.service.log.store import Store, decision_of, find, insert_rows, last_seq, read
from fairbandits.service.log.tables import answers

# Only replies of accepted requests are stored, so the column `status` has one value in every row.
_STATUS = 200


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
        The keys of the events that the request must see to be settled.
    """

    depends_on: Sequence[str] = ()

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Decide which events are appended, given the events of `depends_on` that exist.

        The appender calls this while it holds the lock of the log, so `found` cannot change before the commit.
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
            return Settlement((), Refusal(RefusalReason.CONFLICT, "the log has changed meanwhile"))
        return Settlement(self.events, self.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRequest(AppendRequest):
    """A request that is refused, unless the reply to the same request is stored under its idempotency key.

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
    """Result of appending.

    Attributes
    ----------
    entries : list of Entry
        The entries after the last one that the caller had read: those of other writers first, then the new ones.
    outcomes : list of Outcome
        The outcome of each request.
    """

    entries: list[Entry]
    outcomes: list[Outcome]


def append(store: Store, requests: Sequence[AppendRequest], known: int) -> Appended:
    """Settle requests in their order and append their events, all of them or none.

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
        If the database fails. Either nothing is appended then or everything is; reading the log tells which.
    LogLostError
        If the log ends before `known`.
    """
    with store.transaction() as connection:
        last = last_seq(connection)
        if last < known:
            raise LogLostError(
                f"the log ends at entry {last}, but {known} entries were read; was an older copy restored?"
            )
        entries = read(connection, known, last, last - known) if last > known else []
        found = find(connection, [key for request in requests for key in request.depends_on])
        replies = _stored_replies(connection, [each.idempotency.key for each in requests if each.idempotency])
        outcomes: list[Outcome] = []
        event_rows: list[tuple[Any, ...]] = []
        reply_rows: list[tuple[Any, ...]] = []
        now = time.time()
        for request in requests:
            idempotency = request.idempotency
            if idempotency is not None and idempotency.key in replies:
                outcomes.append(_repeated(idempotency, replies))
                continue
            # A request sees the events it depends on, and no others of its batch.
            settlement = request.settle({key: found[key] for key in request.depends_on if key in found})
            outcomes.append(settlement.outcome)
            for event in settlement.events:
                last += 1
                key = event.key
                event_rows.append((last, now, event.KIND, key, event.to_json()))
                entries.append(Entry(last, event, decision_of(event, found)))
                found[key] = event
            if idempotency is not None and isinstance(settlement.outcome, bytes):
                replies[idempotency.key] = (idempotency.digest, settlement.outcome)
                reply_rows.append((idempotency.key, now, idempotency.digest, _STATUS, settlement.outcome))
        insert_rows(connection, "events", store.placeholder, event_rows)
        insert_rows(connection, "answers", store.placeholder, reply_rows)
    return Appended(entries, outcomes)


def _stored_replies(connection: Connection, keys: Sequence[str]) -> dict[str, tuple[str, bytes]]:
    if not keys:
        return {}
    query = select(answers.c.key, answers.c.digest, answers.c.body).where(answers.c.key.in_(keys))
    return {key: (digest, bytes(body)) for key, digest, body in connection.execute(query)}


def _repeated(idempotency: IdempotencyKey, replies: Mapping[str, tuple[str, bytes]]) -> Outcome:
    digest, reply = replies[idempotency.key]
    if digest == idempotency.digest:
        return reply
    detail = "this idempotency key was used before with another request; a new request needs a new key"
    return Refusal(RefusalReason.IDEMPOTENCY_KEY_REUSED, detail)
