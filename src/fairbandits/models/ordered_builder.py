"""A builder for reward models whose parameters are set by the policy itself."""

from __future__ import annotations

from collections.abc import Callable

from fairbandits.models.reward_model import RewardModel
from fairbandits.models.rows import Rows


class OrderedBuilder:
    """Builds models that learn rewards in order, so that rewards cannot be summed and models cannot be merged.

    Parameters
    ----------
    make : callable
        Takes the width of the contexts and the ridge penalty, and returns a model that has learned nothing.
    """

    order_dependent = True
    is_additive = False
    is_mergeable = False
    width = None

    def __init__(self, make: Callable[[int, float], RewardModel]) -> None:
        self._make = make

    def transform(self, rows: Rows) -> Rows:
        """Return contexts as they are."""
        return rows

    def build(self, width: int, ridge: float) -> RewardModel:
        """Return a model of rewards in [0, 1] that has learned nothing."""
        return self._make(width, ridge)
