"""Arm ids to row numbers, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ArmId = str | int
Ints = NDArray[np.int64]


class ArmIndex:
    """Which row of the arrays belongs to which arm.

    A row is given out when an arm first learns something, and again after the arm was forgotten. Arms
    that were only ever offered have none, and cost nothing.
    """

    def __init__(self) -> None:
        self.rows: dict[ArmId, int] = {}
        self._free: list[int] = []
        self._last: tuple[Sequence[ArmId], Ints] | None = None
        self._places: dict[ArmId, int] | None = None

    def __contains__(self, arm: object) -> bool:
        return arm in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def lookup(self, arms: Any, n: int) -> tuple[Sequence[ArmId], Ints]:
        """Check the ids of n arms and find their rows, -1 for an arm that has none.

        Most rounds offer what the round before offered, so the last answer is kept.
        """
        ids: Sequence[ArmId] = range(n) if arms is None else _as_tuple(arms)
        if self._last is not None and self._last[0] == ids and len(ids) == n and _are_plain(ids):
            return self._last
        return self.lookup_known(ids if arms is None else as_arms(ids, n))

    def lookup_known(self, ids: Sequence[ArmId]) -> tuple[Sequence[ArmId], Ints]:
        """Find the rows of ids that have been checked before."""
        if self._last is None or self._last[0] is not ids:
            get = self.rows.get
            self._last = ids, np.array([get(arm, -1) for arm in ids], np.int64)
            self._places = None
        return self._last

    def row_for(self, arm: ArmId) -> int:
        """Find the row that an arm has, or would be given."""
        row = self.rows.get(arm)
        if row is None:
            return self._free[-1] if self._free else len(self.rows)
        return row

    def claim(self, arm: ArmId) -> int:
        """Find the row of an arm, giving it one if it has none."""
        row = self.rows.get(arm)
        if row is None:
            row = self.rows[arm] = self.row_for(arm)
            self._note(arm, row)
            if self._free:
                self._free.pop()
        return row

    def _note(self, arm: ArmId, row: int) -> None:
        """Bring the last answer up to date: asking again for all of many arms takes long."""
        if self._last is None:
            return
        ids, at = self._last
        if self._places is None:
            self._places = {arm: place for place, arm in enumerate(ids)}
        place = self._places.get(arm)
        if place is not None:
            at = at.copy()  # somebody may still hold the old one
            at[place] = row
            self._last = ids, at

    def release(self, arm: ArmId) -> int | None:
        """Take the row of an arm back; None if it had none."""
        row = self.rows.pop(arm, None)
        if row is not None:
            self._free.append(row)
            self._note(arm, -1)
        return row

    @property
    def n_rows(self) -> int:
        """How many rows have been given out, those that came back included."""
        return len(self.rows) + len(self._free)

    def to_json(self) -> dict[str, Any]:
        """Give the index as plain lists."""
        return {"arms": list(self.rows), "rows": list(self.rows.values()), "free": self._free}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> ArmIndex:
        """Take an index from what `to_json` gave."""
        index = cls()
        index.rows = dict(zip(plain["arms"], plain["rows"], strict=True))
        index._free = list(plain["free"])
        if sorted([*index.rows.values(), *index._free]) != list(range(index.n_rows)):
            raise ValueError("the rows of the arms are not numbered 0, 1, 2, ...")
        return index


def as_arm(arm: Any) -> ArmId:
    """Check one arm id."""
    if isinstance(arm, np.generic):
        arm = arm.item()
    if isinstance(arm, str | int) and not isinstance(arm, bool):
        return arm
    raise ValueError(f"an arm id is a string or a whole number; got {arm!r} of type {type(arm).__name__}")


def _as_tuple(arms: Any) -> tuple[Any, ...]:
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise ValueError(f"arms must be a sequence of ids, one for each row of contexts; got {arms!r}")
    return tuple(arms.tolist() if isinstance(arms, np.ndarray) else arms)


def _are_plain(ids: Sequence[Any]) -> bool:
    # True and 1.0 are equal to 1, but no ids.
    return isinstance(ids, range) or {*map(type, ids)} <= {int, str}


def as_arms(arms: Any, n: int | None = None) -> tuple[ArmId, ...]:
    """Check the ids of n arms, or of any number."""
    ids = _as_tuple(arms)
    if n is not None and len(ids) != n:
        raise ValueError(f"got {len(ids)} arm id(s) for {n} row(s) of contexts; give one id for each row")
    checked = tuple(as_arm(arm) for arm in ids)
    if len(set(checked)) < len(checked):
        seen: set[ArmId] = set()
        twice = sorted({arm for arm in checked if arm in seen or seen.add(arm)}, key=str)  # type: ignore[func-returns-value]
        raise ValueError(f"arm ids must differ; these stand more than once: {twice[:5]}")
    return checked
