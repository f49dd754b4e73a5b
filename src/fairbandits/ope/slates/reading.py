"""Slates with their probabilities, read from a log."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbandits.categorical import Categorical
from fairbandits.logs.byte_kernels import Keys
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.errors import Location, LogError
from fairbandits.logs.id_keys import UNKNOWN
from fairbandits.logs.log import Log
from fairbandits.logs.roles import Roles, resolve_roles
from fairbandits.ope.array_validation import Floats, Ints
from fairbandits.ope.group_index import GroupIndex
from fairbandits.ope.slates.slate_log import SlateLog

#: The format in which error messages refer to a slate.
SLATE_NUMBER = "slates are numbered by their first row in the log"


@dataclass(frozen=True, eq=False)
class LoggedSlates:
    """The slates of a log whose rewards are all known.

    Attributes
    ----------
    log : SlateLog
        The slates and their rewards, in the order of their first rows.
    probabilities : dict
        The probability columns by name, with one entry per row of the SlateLog, in the order before sorting.
    index : GroupIndex
        The groups.
    groups : array of int, shape (n_slates, 1 + attributes)
        The numbers of the groups of each slate.
    user : array of uint64 or None
        The key of the user of each slate, 0 if it is unknown.
    rows_read, slates_read : int
        The number of rows and slates of the log.
    all_groups : array of int, shape (slates_read, 1 + attributes)
        The groups of all slates, including slates without a reward at some position.
    """

    log: SlateLog
    probabilities: dict[str, Floats]
    index: GroupIndex
    groups: Ints
    user: Keys | None
    rows_read: int
    slates_read: int
    all_groups: Ints

    def members(self, group: int) -> NDArray[np.bool_]:
        """Return a mask of the slates of a group."""
        return np.asarray((self.groups == group).any(axis=1))


def read_slates(
    log: Log,
    propensities: Collection[str],
    probabilities: Collection[str],
    reward_range: tuple[float, float],
    position_weight: ArrayLike | None,
) -> LoggedSlates:
    """Read slates into memory, using 8 bytes per row and column, and several times as much while sorting.

    Parameters
    ----------
    log : Log
        The log.
    propensities, probabilities : collections of str
        The columns of the logging policy and of the other policies.
    reward_range : tuple of two floats
        The lowest and the highest possible reward of a position.
    position_weight : array, optional
        The weight of each position in the reward of a slate.
    """
    roles = _slate_roles(log, dict.fromkeys([*propensities, *probabilities]))
    rows = _Rows(roles, set(propensities), reward_range)
    for chunk in replace(log, roles=roles).chunks(columns=roles.columns):
        rows.add(chunk)
    _, first, number = np.unique(rows.column("decision"), return_index=True, return_inverse=True)
    labels = {name: chunk.labels for name, chunk in rows.last.group.items()}
    codes = {name: rows.column(name) for name in labels}
    for name, column in codes.items():
        rows.check_same(name, column, first[number], [*labels[name], "nothing"])
    user = rows.column("user") if roles.user is not None else None
    if user is not None:
        rows.check_same(str(roles.user), user, first[number], None)
    reward, position = rows.column("reward"), rows.column("position")
    is_complete = np.bincount(number, np.isnan(reward)) == 0.0
    if not is_complete.any():
        raise LogError(
            f"{log.name}: slates need a reward at every position, got none with all rewards; write 0 for no click"
        )
    is_kept = is_complete[number]
    try:
        slates = SlateLog(
            first[number][is_kept] + 1,
            position[is_kept],
            reward[is_kept],
            position_weight,
            first_position=min(1, int(position.min())),
        )
    except ValueError as error:
        raise LogError(f"{log.name}: {error} ({SLATE_NUMBER})") from None
    index = GroupIndex(labels)
    kept_first = np.sort(first[is_complete])
    columns = {name: Categorical(column.astype(np.int32), labels[name]) for name, column in codes.items()}
    groups = index.encode(columns, len(reward))
    return LoggedSlates(
        slates,
        {name: rows.column(name)[is_kept] for name in roles.given},
        index,
        groups[kept_first],
        None if user is None else user[kept_first],
        len(reward),
        len(first),
        groups[np.sort(first)],
    )


def _slate_roles(log: Log, columns: dict[str, Any]) -> Roles:
    for name in ("decision", "position"):
        if getattr(log.roles, name) is None:
            what = "the id of the slate" if name == "decision" else "the position of the arm in its slate"
            raise LogError(f"{log.name}: slates need a {name} column, {what}; set {name}=... (--{name})")
    kept = ("arm", "reward", "groups", "decision", "user", "position")
    given = {name: column for name in kept if (column := getattr(log.roles, name))}
    # Numeric columns without a role of their own are read in the same way as factors.
    return resolve_roles(list(log.kinds), given | {"given": tuple(columns)}, False, log.name)[0]


class _Rows:
    """The rows of a log, collected chunk by chunk and validated."""

    def __init__(self, roles: Roles, propensities: set[str], reward_range: tuple[float, float]) -> None:
        self._roles, self._propensities, self._range = roles, propensities, reward_range
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self._locations: list[tuple[int, Location]] = []
        self.last: Chunk

    def add(self, chunk: Chunk) -> None:
        self._locations.append((chunk.first_row, chunk.location))
        self.last = chunk
        low, high = self._range
        rule = f"reward must be between {low:g} and {high:g}"
        remedy = "; set reward_range=(lowest, highest)"
        self._refuse((chunk.reward < low) | (chunk.reward > high), chunk, self._roles.reward, rule, remedy)
        columns: dict[str, Any] = {"reward": chunk.reward, "position": chunk.position, "user": chunk.user}
        columns |= {name: column.codes for name, column in chunk.group.items()}
        columns["decision"] = keys = np.asarray(chunk.decision)
        if (missing := np.flatnonzero(keys == UNKNOWN)).size:
            raise chunk.location.error("decision must not be empty", self._roles.decision, missing[0])
        for name, values in chunk.given.items():
            if isinstance(values, Categorical):
                raise chunk.location.error("probability must be a number, got text", name, 0)
            lowest = np.nextafter(0.0, 1.0) if name in self._propensities else 0.0
            rule = "propensity must be above 0 and at most 1" if lowest else "probability must be between 0 and 1"
            self._refuse(~((values >= lowest) & (values <= 1.0)), chunk, name, rule)
            columns[name] = values
        for name, values in columns.items():
            if values is not None:
                self._parts.setdefault(name, []).append(values)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all rows."""
        return np.concatenate(self._parts[name])

    def check_same(self, name: str, values: NDArray[Any], first: Ints, labels: list[Any] | None) -> None:
        """Raise an error unless all rows of a slate have the same value as its first row."""
        wrong = np.flatnonzero(values != values[first])
        if wrong.size:
            row = int(wrong[0])
            got = "" if labels is None else f", got {labels[values[row]]!r} after {labels[values[first[row]]]!r}"
            start, location = self._locations[bisect_right(self._locations, row, key=lambda pair: pair[0]) - 1]
            raise location.error(f"value must be the same in all rows of a slate{got}", name, row - start)

    @staticmethod
    def _refuse(is_wrong: NDArray[np.bool_], chunk: Chunk, column: str, rule: str, remedy: str = "") -> None:
        if is_wrong.any():
            row = int(is_wrong.argmax())
            values = chunk.given.get(column, chunk.reward)
            got = "nothing" if np.isnan(values[row]) else values[row].item()  # type: ignore[index]
            raise chunk.location.error(f"{rule}, got {got}{remedy}", column, row)
