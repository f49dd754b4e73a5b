"""Facts about the whole log that follow from its entries, stored so that the entries need not be read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, insert, select

from fairbandits.service.config import Config
from fairbandits.service.log.tables import facts

#: The schema of the log, under the name that version 0.1.0 gave it.
SCHEMA = "meaning"
_CHANGE, _PRUNED = "state", "pruned"
_OTHER_START = "that started from another recommender"
_OTHER_SCHEMA = "with different features, columns or reward range"


@dataclass(frozen=True, slots=True)
class StateChange:
    """The last entry that changed how the state follows from the log: a new policy, or the erasure of a user.

    Attributes
    ----------
    seq : int
        The number of the entry, 0 if there was none.
    version : int
        The number of times that the policy was changed.
    policy, previous : str or None
        The current policy and the previous one; None if a policy was only ever specified by the configuration.
    """

    seq: int = 0
    version: int = 0
    policy: str | None = None
    previous: str | None = None

    @classmethod
    def read(cls, connection: Connection) -> StateChange:
        """Read the fact."""
        value = read_fact(connection, _CHANGE)
        return cls() if value is None else cls(**json.loads(value))

    def write(self, connection: Connection) -> None:
        """Write the fact."""
        write_fact(connection, _CHANGE, json.dumps(asdict(self)))

    def served_config(self, config: Config) -> Config:
        """Return a configuration with the policy of the log, if the log names one."""
        return config if self.policy is None else config.with_policy(self.policy)


@dataclass(frozen=True, slots=True)
class PrunedContent:
    """The content that was deleted because of its age.

    Attributes
    ----------
    base : int
        The entry of the snapshot from which replays start; 0 if nothing was deleted.
    until : float
        The time before which content was deleted, in seconds since 1970.
    decisions, rewards : int
        The numbers of decisions and of rewards whose content was deleted.
    start : int
        The number of an entry up to which no decision or reward has content.
    """

    base: int = 0
    until: float = 0.0
    decisions: int = 0
    rewards: int = 0
    start: int = 0

    @classmethod
    def read(cls, connection: Connection) -> PrunedContent:
        """Read the fact."""
        value = read_fact(connection, _PRUNED)
        return cls() if value is None else cls(**json.loads(value))

    def write(self, connection: Connection) -> None:
        """Write the fact."""
        write_fact(connection, _PRUNED, json.dumps(asdict(self)))


def read_fact(connection: Connection, name: str) -> str | None:
    """Return the value of a fact, or None if the fact is not stored."""
    return connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar()


def write_fact(connection: Connection, name: str, value: str) -> None:
    """Write a fact, within a transaction."""
    connection.execute(delete(facts).where(facts.c.name == name))
    connection.execute(insert(facts).values(name=name, value=value))


def check_schema(where: str, stored: str | None, schema: str) -> None:
    """Raise ValueError if a log, stored at the given place, has a different schema."""
    if stored != schema:
        are_saved = all('"recommender": ' in (each or "") for each in (stored, schema))
        what, restore = (_OTHER_START, "restore its file") if are_saved else (_OTHER_SCHEMA, "restore them")
        raise ValueError(f"{where} holds a log {what}; {restore}, or set store.url to another store")
