"""The entries of one user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from fairbandits.service.log.events import Decided, Rewarded, read_event, reward_key
from fairbandits.service.log.tables import events

_MAX_KEYS = 500


@dataclass(frozen=True, slots=True)
class UserEntries:
    """The decisions for a user and their rewards, as far as their content still exists.

    Attributes
    ----------
    decisions : dict of int to Decided
        The decisions, by entry number.
    rewards : dict of int to Rewarded
        The rewards of these decisions, by entry number.
    """

    decisions: dict[int, Decided]
    rewards: dict[int, Rewarded]

    @property
    def ids(self) -> set[str]:
        """The ids of the decisions."""
        return {decided.id for decided in self.decisions.values()}


def find_user_entries(connection: Connection, pseudonym: str) -> UserEntries:
    """Find the entries of a user. The whole log is searched, because pseudonyms have no index."""
    query = (
        select(events.c.seq, events.c.body)
        .where(events.c.kind == Decided.KIND, events.c.body.contains(f'"user":"{pseudonym}"', autoescape=True))
        .order_by(events.c.seq)
    )
    found = [(seq, read_event(Decided.KIND, body)) for seq, body in connection.execute(query)]
    # A feature could contain the text that was searched for.
    decisions = {seq: decided for seq, decided in found if decided.user == pseudonym}
    rewards = dict(_find_rewards(connection, decisions.values()))
    return UserEntries(decisions, rewards)


def _find_rewards(connection: Connection, decisions: Iterable[Decided]) -> Iterator[tuple[int, Rewarded]]:
    for keys in batches([reward_key(decided.id) for decided in decisions]):
        query = select(events.c.seq, events.c.body).where(events.c.key.in_(keys), events.c.body.is_not(None))
        for seq, body in connection.execute(query):
            yield seq, read_event(Rewarded.KIND, body)


def batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split keys into parts that each fit into one statement."""
    return (keys[at : at + _MAX_KEYS] for at in range(0, len(keys), _MAX_KEYS))
