"""A stretch of a log, as arrays with one entry per decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairbandits.categorical import Categorical
from fairbandits.logs.errors import Place

Floats = NDArray[np.float64]

_NOWHERE = Place("log")


@dataclass(frozen=True, eq=False)
class Chunk:
    """A stretch of a log; what has no role in it is None.

    Attributes
    ----------
    first_row : int
        The number of its first row in the log, from 0.
    arm : Categorical
        The arm that was picked.
    reward : array of float
        What it gave; NaN where no reward came.
    propensity : array of float or None
        The probability with which it was picked, in (0, 1].
    group : mapping of str to Categorical
        By attribute, the user's group; -1 where it is not known.
    time : array of datetime64[us] or float, or None
        When; NaT or NaN where it is not known.
    contexts : csr_array, array of float, or None
        The user's features, one row per decision, where they were asked for.
    place : Place
        Its file, and the number of its first row there: for what is found to be wrong with it.
    """

    first_row: int
    arm: Categorical
    reward: Floats
    propensity: Floats | None
    group: Mapping[str, Categorical]
    time: NDArray[Any] | None = None
    contexts: csr_array[Any] | Floats | None = None
    place: Place = _NOWHERE

    def __len__(self) -> int:
        return len(self.reward)
