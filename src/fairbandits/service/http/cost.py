"""The cost of requests, and limits on the cost of each client's waiting requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairbandits.service.http.problems import too_costly, too_much_waiting
from fairbandits.service.log.requests import LogRequest, Outcome
from fairbandits.service.log.writer import Writer

# The unit of cost is the scoring of one arm (25 ns, as measured). In this unit, these are the costs of an arm on
# offer for each additional position of a slate; of choosing, sending and storing one arm; and of a column of its
# context.
_ORDERED = 0.1
_CHOSEN, _COLUMN = 1000, 8
#: The cost that one token of the rate limit pays for, which is about as much as the rest of a request.
COST_OF_TOKEN = 10_000
# However many clients are waiting, each may have at least this share of the limit waiting.
_LEAST_SHARE = 0.1


def request_cost(users: Sequence[Mapping[str, Any]], n_arms: int, width: int) -> int:
    """Return the cost of deciding for users, in arms scored.

    Parameters
    ----------
    users : sequence of mapping
        The users, in the form of `DecisionRequest`.
    n_arms : int
        The number of arms in the catalogue.
    width : int
        The number of columns of a context, which is stored with every chosen arm.
    """
    cost, of_arm = 0.0, arm_cost(width)
    for user in users:
        offered = user.get("arms")
        k = user.get("k", 1)
        cost += (n_arms if offered is None else len(offered)) * (1.0 + _ORDERED * k) + k * of_arm
    return int(cost)


def arm_cost(width: int) -> int:
    """Return the cost of choosing, storing or learning one arm whose context has `width` columns."""
    return _CHOSEN + _COLUMN * width


class WaitingWork:
    """The cost of decisions and rewards waiting to be written, by client, so that no client holds up the others.

    Parameters
    ----------
    limit : int
        The maximum cost of one request (limits.cost). Clients with waiting requests share it evenly.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[str, int] = {}

    def add(self, client: str, cost: int) -> None:
        """Add a request; raise a problem if it costs too much, or if the client has too much waiting."""
        if cost > self._limit:
            raise too_costly(cost, self._limit)
        waiting = self._waiting.get(client, 0)
        # One request is accepted in any case, so that any request that is not too costly can be sent at some time.
        if waiting and waiting + cost > self._limit * max(1.0 / len(self._waiting), _LEAST_SHARE):
            raise too_much_waiting(self._limit)
        self._waiting[client] = waiting + cost

    async def write(self, writer: Writer, asked: LogRequest, cost: int, state: dict[str, Any]) -> Outcome:
        """Submit a request to the writer, unless it costs too much; the gate finds its tokens in `state`."""
        self.add(asked.client, cost)
        state["tokens"] = cost // COST_OF_TOKEN
        try:
            return await writer.write(asked)
        finally:
            self.remove(asked.client, cost)

    def remove(self, client: str, cost: int) -> None:
        """Remove a request that was answered."""
        left = self._waiting[client] - cost
        if left:
            self._waiting[client] = left
        else:
            del self._waiting[client]
