"""A chunk of a log, as arrays with one entry per decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairbandits.categorical import Categorical
from fairbandits.logs.errors import Location

Floats = NDArray[np.float64]

_UNKNOWN = Location("log")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a log; attributes whose role has no column are None.

    Attributes
    ----------
    first_row : int
        The number of the first row within the log, from 0.
    arm : Categorical
        The arm that was chosen.
    reward : array of float
        The reward; NaN where it is missing.
    propensity : array of float or None
        The probability with which the arm was chosen, in (0, 1].
    group : mapping of str to Categorical
        The user's group by attribute; code -1 where it is unknown.
    time : array of datetime64[us] or float, or None
        The time of the decision; NaT or NaN where it is unknown.
    contexts : csr_array, array of float, or None
        The user's features, one row per decision, if they were requested.
    user : array of uint64 or None
        A key of the user's id (see `id_keys.py`); 0 where it is unknown.
    decision : array of uint64 or None
        A key of the decision's id, as for users, if its column was requested by name.
    position : array of int or None
        The position of the arm in its slate, if its column was requested by name.
    given : mapping of str to Categorical or array of float
        The factors for which comparisons are adjusted: text as codes, numbers as floats, NaN where unknown.
    columns : mapping of str to array
        The columns that were requested unchanged: numbers as numbers, text as objects, NaN or None where missing.
    location : Location
        The file and the number of the first row within it, for error messages.
    """

    first_row: int
    arm: Categorical
    reward: Floats
    propensity: Floats | None
    group: Mapping[str, Categorical]
    time: NDArray[Any] | None = None
    contexts: csr_array[Any] | Floats | None = None
    user: NDArray[np.uint64] | None = None
    decision: NDArray[np.uint64] | None = None
    position: NDArray[np.int64] | None = None
    given: Mapping[str, Categorical | Floats] = field(default_factory=dict)
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    location: Location = _UNKNOWN

    def __len__(self) -> int:
        return len(self.reward)
