"""Facts about the whole log that its entries imply, stored so that they are found without reading all entries."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, insert, select

from fairbandits.service.config import Config
from fairbandits.service.log.tables import facts

#: The schema of the log, under the name that 0.1.0 gave it.
SCHEMA = "meaning"
_CHANGE, _PRUNED = "state", "pruned"
_OTHER_START = "that started from another recommender"
_OTHER_SCHEMA = "with other features, columns or another reward range"


@dataclass(frozen=True, slots=True)
class StateChange:
    """The last entry that made the state another function of the log: a new policy, or a user who was forgotten.

    Attributes
    ----------
    seq : int
        The entry, 0 if there was none.
    version : int
        The number of times that the policy was changed.
    policy, previous : str or None
        The policy and the one before it, None if only the configuration ever named one.
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
        """Return a configuration with the policy of the log, if it names one."""
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
        The numbers of entries whose content was deleted.
    start : int
        An entry up to which no decision or reward has content.
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
    """Return the value of a fact, None if there is none."""
    return connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar()


def write_fact(connection: Connection, name: str, value: str) -> None:
    """Write a fact, within a transaction."""
    connection.execute(delete(facts).where(facts.c.name == name))
    connection.execute(insert(facts).values(name=name, value=value))


def check_schema(where: str, stored: str | None, schema: str) -> None:
    """Raise ValueError if a log that is stored somewhere has another schema."""
    if stored != schema:
        are_saved = all('"recommender": ' in (each or "") for each in (stored, schema))
        what, restore = (_OTHER_START, "restore its file") if are_saved else (_OTHER_SCHEMA, "restore them")
        raise ValueError(f"{where} holds a log {what}; {restore}, or set store.url to another store")
