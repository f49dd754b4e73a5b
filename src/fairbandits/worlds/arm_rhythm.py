"""Arms that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The fractional parts of multiples of the golden ratio fill [0, 1) evenly, however many there are.
_GOLDEN = 0.6180339887498949


class ArmRhythm:
    """The rhythm in which each arm is on offer, then away, then on offer again.

    Parameters
    ----------
    present : float
        The share of the time during which an arm is on offer.
    period : int
        The number of rounds from one arrival of an arm to the next.
    start : float
        The phase of the first arm, in [0, 1). Further arms follow in the order in which they are first offered.

    Examples
    --------
    >>> rhythm = ArmRhythm(present=0.5, period=10, start=0.0)
    >>> [rhythm.places(round_, ("a", "b", "c")).tolist() for round_ in (0, 3, 6)]
    [[0, 2], [0], [1]]
    """

    def __init__(self, present: float, period: int, start: float) -> None:
        self._present, self._period, self._start = present, period, start
        self._phase_of: dict[Any, float] = {}
        self._arms: Sequence[Any] = ()
        self._phases = np.empty(0)

    def places(self, round_: int, arms: Sequence[Any]) -> NDArray[np.int64]:
        """Return the indices of the arms on offer in a round: those that are present, or the next to arrive."""
        if arms is not self._arms:
            for arm in arms:
                self._phase_of.setdefault(arm, (self._start + _GOLDEN * len(self._phase_of)) % 1.0)
            self._phases = np.array([self._phase_of[arm] for arm in arms])
            self._arms = arms
        position = (round_ / self._period + self._phases) % 1.0
        on_offer = position < self._present
        return np.flatnonzero(on_offer) if on_offer.any() else np.array([position.argmax()])
