"""The scenarios: each attacks a server for a while, and says what must hold meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.service.log.test_hung_database import locked_tables, no_server, stopped_backends, stopped_server
from tests.torture import faults, floods

#: Seconds of a stall of `/health` that are too many.
STALL = 1.0
_KINDS = ("SQLite", "PostgreSQL")


@dataclass(frozen=True)
class Scenario:
    """An attack.

    Attributes
    ----------
    name : str
        Its name in the table.
    attack : callable
        A context manager of the target, PostgreSQL and the number of seconds that the attack takes.
    kinds : tuple of str
        The databases that it is for.
    workers : tuple of int
        The numbers of workers that it is for.
    stops_writing : bool
        Whether the log cannot be written meanwhile, so that readiness must be false.
    fewest : float, optional
        If requests are the attack: the number of decisions and rewards in a second that are acknowledged
        nevertheless. The server stays ready meanwhile.
    kills : bool
        Whether servers are killed, so that clients and watchers lose their connections.
    """

    name: str
    attack: Callable[..., Any]
    kinds: tuple[str, ...] = _KINDS
    workers: tuple[int, ...] = (1, 2)
    stops_writing: bool = False
    kills: bool = False
    fewest: float | None = None


_SQLITE, _POSTGRES = _KINDS[:1], _KINDS[1:]
SCENARIOS = (
    Scenario("server killed", faults.server_killed, kills=True),
    Scenario("worker killed", faults.worker_killed, workers=(2,), kills=True),
    Scenario("database hung: locked", faults.from_fault(locked_tables), _POSTGRES, stops_writing=True),
    Scenario("database hung: stopped", faults.from_fault(stopped_server), _POSTGRES, stops_writing=True),
    Scenario("connections hung", faults.from_fault(stopped_backends), _POSTGRES),
    Scenario("database gone", faults.from_fault(no_server), _POSTGRES, stops_writing=True),
    Scenario("database killed", faults.database_killed, _POSTGRES, stops_writing=True),
    Scenario("database restarted", faults.database_restarted, _POSTGRES),
    Scenario("database read-only", faults.database_read_only, _POSTGRES, stops_writing=True),
    Scenario("file locked", faults.file_locked, _SQLITE, stops_writing=True),
    Scenario("disk full", faults.disk_full, _SQLITE, stops_writing=True),
    Scenario("file replaced", faults.file_replaced, _SQLITE, stops_writing=True),
    Scenario("file removed", faults.file_removed, _SQLITE, stops_writing=True),
    Scenario("half-sent requests", floods.half_requests, fewest=20),
    Scenario("wrong keys", floods.wrong_keys, fewest=20),
    Scenario("logins", floods.logins, fewest=20),
    Scenario("readers of findings", floods.readers, fewest=20),
    # Each of the largest requests takes about half a second, and between two of them every client has its turn.
    Scenario("large costs", floods.large_costs, fewest=2),
    Scenario("lists of rewards", floods.reward_lists, fewest=2),
)
