"""Appending to the log: many requests, one transaction, each settled under the lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from fairbandits.service.http.problems import RefusedError
from fairbandits.service.log.events import Entry, Event
from fairbandits.service.log.store import LogLostError, Store, decision_of, find, insert_rows, last_seq, read
from fairbandits.service.log.tables import answers


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered.

    Attributes
    ----------
    status : int
        The status of HTTP.
    body : bytes
        The body, JSON.
    """

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of a request: events that are appended, and what is answered once they are on disk.

    An answer that is an error is not kept for requests that come again.
    """

    events: Sequence[Event]
    answer: Answer | RefusedError | None


def _nothing(_: Mapping[str, Any]) -> Settled:
    return Settled((), None)


@dataclass(slots=True)
class Write:
    """A request that wants to append to the log.

    Attributes
    ----------
    settle : callable
        Takes what was found under `wanted`, and says what is appended and answered.
    wanted : sequence of str
        The keys of events that it must see to settle.
    once : tuple of (str, str), optional
        The idempotency key, and the digest of the request.
    """

    settle: Callable[[Mapping[str, Any]], Settled] = _nothing
    wanted: Sequence[str] = ()
    once: tuple[str, str] | None = None
    answer: Answer | RefusedError | None = None


def append(store: Store, writes: Sequence[Write], known: int) -> list[Entry]:
    """Settle requests in their order and append what they want, all of it or nothing.

    Parameters
    ----------
    store : Store
        Where to.
    writes : sequence of Write
        The requests; each has its `answer` afterwards.
    known : int
        The last entry that the caller has read.

    Returns
    -------
    list of Entry
        All entries after `known`: those of others, then these.

    Raises
    ------
    StoreDownError
        Where the database fails; nothing is appended then, or all is, which reading will show.
    LogLostError
        Where the log has become shorter than `known`.
    """
    with store.transaction() as connection:
        last = last_seq(connection)
        if last < known:
            raise LogLostError(f"the log ends at entry {last}, but {known} entries were read; was it put back?")
        entries = read(connection, known, last, last - known) if last > known else []
        found = find(connection, [key for write in writes for key in write.wanted])
        given = _answers(connection, [write.once[0] for write in writes if write.once])
        rows: list[tuple[Any, ...]] = []
        kept: list[tuple[Any, ...]] = []
        now = time.time()
        for write in writes:
            if write.once and write.once[0] in given:
                write.answer = _again(write.once, given)
                continue
            # Each sees what it asked for, and not what the others of its batch did.
            settled = write.settle({key: found[key] for key in write.wanted if key in found})
            write.answer = settled.answer
            for event in settled.events:
                last += 1
                rows.append((last, now, event.KIND, event.key, event.to_json()))
                entries.append(Entry(last, event, decision_of(event, found)))
                found[event.key] = event
            if write.once and isinstance(settled.answer, Answer):
                key, digest = write.once
                given[key] = (digest, settled.answer)
                kept.append((key, now, digest, settled.answer.status, settled.answer.body))
        insert_rows(connection, "events", store.mark, rows)
        insert_rows(connection, "answers", store.mark, kept)
    return entries


def _answers(connection: Connection, keys: Sequence[str]) -> dict[str, tuple[str, Answer]]:
    if not keys:
        return {}
    query = select(answers).where(answers.c.key.in_(keys))
    return {row.key: (row.digest, Answer(row.status, bytes(row.body))) for row in connection.execute(query)}


def _again(once: tuple[str, str], given: Mapping[str, tuple[str, Answer]]) -> Answer | RefusedError:
    digest, answer = given[once[0]]
    if digest == once[1]:
        return answer
    return RefusedError(
        422,
        "Idempotency key used before",
        "this Idempotency-Key came before with another request; a new request needs a new key",
    )
