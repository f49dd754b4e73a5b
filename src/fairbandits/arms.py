"""The ids of arms, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.dataframes import as_frame
from fairbandits.labels import as_label, column_labels, is_listed

ArmId = str | int
Ints = NDArray[np.int64]


class ArmIndex:
    """The number of each arm: its row in the arrays of the reward model and of the group record.

    An arm gets a number when something is first learned about it; the number of a forgotten arm is reused. Arms
    that were offered but never learned have no number, and cost nothing.
    """

    def __init__(self) -> None:
        self.rows: dict[ArmId, int] = {}
        self._free: list[int] = []
        self._was_free = False
        self._last: tuple[Sequence[ArmId], Ints] | None = None
        self._places: dict[ArmId, int] | None = None

    def __contains__(self, arm: object) -> bool:
        return arm in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def lookup(self, arms: Any, n: int) -> tuple[Sequence[ArmId], Ints]:
        """Check the ids of n arms and return their numbers, -1 for an arm that has none.

        Most rounds offer the same arms as the round before, so the last result is cached.
        """
        ids: Sequence[ArmId] = range(n) if arms is None else _as_tuple(arms)
        if self._last is not None and self._last[0] == ids and len(ids) == n and _are_plain(ids):
            return self._last
        return self.lookup_known(ids if arms is None else as_arms(ids, n))

    def lookup_known(self, ids: Sequence[ArmId]) -> tuple[Sequence[ArmId], Ints]:
        """Return the numbers of ids that have already been checked."""
        if self._last is None or self._last[0] is not ids:
            get = self.rows.get
            self._last = ids, np.array([get(arm, -1) for arm in ids], np.int64)
            self._places = None
        return self._last

    def claim(self, arm: ArmId) -> int:
        """Return the number of an arm, and give it one if it has none."""
        row = self.rows.get(arm)
        if row is None:
            self._was_free = bool(self._free)
            row = self._free.pop() if self._free else len(self.rows)
            self.rows[arm] = row
            self._update_last(arm, row)
        return row

    def claim_many(self, arms: Iterable[ArmId]) -> list[ArmId]:
        """Claim numbers for the arms that have none, in order; return these arms."""
        new = [arm for arm in arms if arm not in self.rows]
        if new:
            from_free = [self._free.pop() for _ in range(min(len(self._free), len(new)))]
            first = len(self.rows) + len(from_free)
            fresh = range(first, first + len(new) - len(from_free))
            self.rows.update(zip(new, [*from_free, *fresh], strict=True))
            self._last = None
        return new

    def unclaim_many(self, arms: Sequence[ArmId], n_rows: int) -> None:
        """Undo the last `claim_many`, given its result and the number of rows in use before it."""
        rows = [self.rows.pop(arm) for arm in arms]
        self._free += [row for row in reversed(rows) if row < n_rows]
        self._last = None

    def unclaim(self, arm: ArmId) -> None:
        """Undo the last claim, which was for an arm that had no number before."""
        row = self.rows.pop(arm)
        if self._was_free:
            self._free.append(row)
        self._update_last(arm, -1)

    def release(self, arm: ArmId) -> int | None:
        """Free the number of an arm, and return it; None if the arm had none."""
        row = self.rows.pop(arm, None)
        if row is not None:
            self._free.append(row)
            self._update_last(arm, -1)
        return row

    def _update_last(self, arm: ArmId, row: int) -> None:
        """Update the cached result, because looking up many arms again takes long."""
        if self._last is None:
            return
        ids, numbers = self._last
        if self._places is None:
            self._places = {arm: place for place, arm in enumerate(ids)}
        place = self._places.get(arm)
        if place is not None:
            numbers = numbers.copy()  # a caller may still hold the old array
            numbers[place] = row
            self._last = ids, numbers

    @property
    def n_rows(self) -> int:
        """The number of rows in use, including those that have been freed."""
        return len(self.rows) + len(self._free)

    def to_json(self) -> dict[str, Any]:
        """Return the index as lists."""
        return {"arms": list(self.rows), "rows": list(self.rows.values()), "free": list(self._free)}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> ArmIndex:
        """Rebuild an index from the lists that `to_json` returned."""
        index = cls()
        index.rows = dict(zip(plain["arms"], plain["rows"], strict=True))
        index._free = list(plain["free"])
        if sorted([*index.rows.values(), *index._free]) != list(range(index.n_rows)):
            raise ValueError("arms must be numbered 0, 1, 2, ...")
        return index


def as_arm(arm: Any) -> ArmId:
    """Check one arm id."""
    return as_label(arm, "arm id must be a string or an integer")


def _as_tuple(arms: Any) -> tuple[Any, ...]:
    if type(arms) is tuple or type(arms) is list:
        return tuple(arms)
    if isinstance(arms, AbstractSet | Mapping):
        raise ValueError(f"arms must be ordered, got a {type(arms).__name__}; pass a list with one id per context")
    labels = column_labels(arms, "arms")
    if labels is not None:
        return tuple(labels)
    if not is_listed(arms) or as_frame(arms, "arms") is not None:
        raise ValueError(f"arms must be a sequence of ids, one per row of contexts, got {_shown(arms)}")
    return tuple(arms)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | int | float) else f"a {type(value).__name__}"


def _are_plain(ids: Sequence[Any]) -> bool:
    # True and 1.0 are equal to 1, but are not ids.
    return isinstance(ids, range) or {*map(type, ids)} <= {int, str}


def as_arms(arms: Any, n: int | None = None) -> tuple[ArmId, ...]:
    """Check the ids of n arms, or of any number of arms without n."""
    ids = _as_tuple(arms)
    if n is not None and len(ids) != n:
        raise ValueError(f"arms must have one id per row of contexts, got {len(ids)} for {n} row(s)")
    checked = tuple(as_arm(arm) for arm in ids)
    if len(set(checked)) < len(checked):
        seen: set[ArmId] = set()
        twice = sorted({arm for arm in checked if arm in seen or seen.add(arm)}, key=str)  # type: ignore[func-returns-value]
        raise ValueError(f"arm ids must be unique, got {twice[:5]} more than once")
    return checked
