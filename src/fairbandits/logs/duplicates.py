"""Rows that repeat a decision, which occur in logs that were delivered or joined twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel
from fairbandits.logs.byte_kernels import Keys
from fairbandits.logs.column_kinds import ID
from fairbandits.logs.errors import LogError
from fairbandits.logs.fragments import BATCH_ROWS, LogFragment
from fairbandits.logs.id_keys import as_keys
from fairbandits.logs.roles import Roles

Rows = NDArray[np.int64]

_MIN_SLOTS = 1 << 16
# With linear probing and well-mixed keys, a search ends after 20 neighbouring slots on average.
_MAX_LOAD = 0.85
_STEP = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = np.uint64(0)


def find_duplicates(fragments: Sequence[LogFragment], roles: Roles, name: str) -> Rows:
    """Return the numbers of the rows that have the same decision and arm as an earlier row, in order.

    A slate has several rows with the same decision and different arms; these are not duplicates, and neither are
    rows without a decision. If the ids are increasing integers, there is nothing to find. Otherwise two columns
    are read once, and memory is needed for a hash set of 64-bit keys: 9.4 to 19 bytes per row, and half as much
    again while the set grows, if the number of rows is not known in advance.
    """
    decision, arm = roles.decision, roles.arm
    if decision is None:
        raise LogError(f"{name}: finding duplicates requires a decision column; set decision=... (--decision)")
    if _is_increasing(fragments, decision):
        return np.empty(0, np.int64)
    n_expected = sum(fragment.n_rows or 0 for fragment in fragments) / _MAX_LOAD
    seen = np.zeros(max(_MIN_SLOTS, 1 << math.ceil(math.log2(max(1.0, n_expected)))), np.uint64)
    n_seen, row = 0, 0
    found: list[Rows] = []
    for fragment in fragments:
        for location, batch in fragment.batches({decision: ID, arm: ID}, BATCH_ROWS):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            keys = _combine(*(as_keys(columns[name], name, location) for name in (decision, arm)))
            while n_seen + len(keys) > _MAX_LOAD * seen.size:
                seen = _grow(seen)
            is_repeated = np.zeros(len(keys), np.bool_)
            n_seen += _insert(seen, keys, is_repeated)
            found.append(row + np.flatnonzero(is_repeated))
            row += len(keys)
    return np.concatenate([np.empty(0, np.int64), *found])


def _is_increasing(fragments: Sequence[LogFragment], decision: str) -> bool:
    """Return whether ids are integers that increase from row to row, like those that a database assigns."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    last: NDArray[Any] | None = None
    for fragment in fragments:
        for _, batch in fragment.batches({decision: ID}, BATCH_ROWS):
            ids = batch.column(0)
            if not pa.types.is_integer(ids.type) or ids.null_count:
                return False
            values = ids.to_numpy(zero_copy_only=False)
            is_later = last is None or not len(values) or values[0] > last[-1]
            if not (is_later and (values[1:] > values[:-1]).all()):
                return False
            last = values if len(values) else last
    return True


def _combine(decisions: Keys, arms: Keys) -> Keys:
    """Return the keys of pairs, or 0 where there is no decision."""
    keys = decisions + arms * _STEP
    keys[keys == _EMPTY] = 1
    keys[decisions == _EMPTY] = _EMPTY
    return keys


@kernel()
def _insert(slots: Keys, keys: Keys, is_repeated: NDArray[np.bool_]) -> int:
    """Insert keys into a hash set; return the number of new keys, and mark the repeated ones."""
    mask = slots.size - 1
    n_new = 0
    for i in range(keys.size):
        key = keys[i]
        if key == _EMPTY:
            continue
        slot = np.int64(key & np.uint64(mask))
        while slots[slot] != _EMPTY and slots[slot] != key:
            slot = (slot + 1) & mask
        if slots[slot] == key:
            is_repeated[i] = True
        else:
            slots[slot] = key
            n_new += 1
    return n_new


def _grow(slots: Keys) -> Keys:
    larger = np.zeros(2 * slots.size, np.uint64)
    _insert(larger, slots, np.zeros(1, np.bool_))  # all keys are different, so none is marked
    return larger
