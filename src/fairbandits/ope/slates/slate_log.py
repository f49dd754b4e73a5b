"""A log of slates with a reward per position, on plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbandits.ope.array_validation import Floats, as_vector, check_lengths, first_where
from fairbandits.ope.estimators import importance_weights
from fairbandits.ope.slates.slate_rows import SlateRows


class SlateLog:
    """The slates and rewards of a log; every row is one position of one slate, in any order.

    Parameters
    ----------
    slate : array of int, shape (n_rows,)
        The id of the slate.
    position : array of int, shape (n_rows,)
        The position in the slate, numbered from `first_position` without gaps. Slates may have different lengths.
    reward : array of shape (n_rows,)
        The reward of the position, for example 1 for a click.
    position_weight : array of shape (n_positions,), optional
        The weight of each position in the reward of a slate, `sum of position_weight x reward`; 1 by default.
        `1 / log2(position + 2)` makes it the discounted cumulative gain (DCG).
    first_position : int
        The number of the first position.

    Attributes
    ----------
    rows : SlateRows
        The rows, sorted by slate and position.
    order : array of int, shape (n_rows,)
        The indices of the sorted rows in the arrays that were passed.
    reward : array of shape (n_rows,)
        The sorted rewards.
    position_weight : array of shape (n_positions,)
        The weight of each position.

    Examples
    --------
    >>> log = SlateLog(slate=[7, 7, 3, 3], position=[0, 1, 1, 0], reward=[0.0, 1.0, 1.0, 1.0])
    >>> log.rows.ids, log.slate_rewards()
    (array([3, 7]), array([2., 1.]))
    >>> log.per_slate("group", ["f", "f", "m", "m"]).tolist()
    ['m', 'f']
    """

    def __init__(
        self,
        slate: ArrayLike,
        position: ArrayLike,
        reward: ArrayLike,
        position_weight: ArrayLike | None = None,
        first_position: int = 0,
    ) -> None:
        self.rows, self.order = SlateRows.from_arrays(slate, position, first_position)
        unsorted = as_vector("reward", reward)
        check_lengths(slate=self.order, reward=unsorted)
        self.reward = unsorted[self.order]
        self.position_weight = _position_weights(position_weight, int(self.rows.length.max(initial=0)))

    def weighted_reward(self) -> Floats:
        """Return the reward of each row times the weight of its position."""
        return self.position_weight[self.rows.position] * self.reward

    def slate_rewards(self) -> Floats:
        """Return the reward of each slate."""
        return self.rows.sum(self.weighted_reward())

    def per_slate(self, name: str, values: ArrayLike) -> NDArray[Any]:
        """Return one value per slate, such as its user's group, from values that are equal in all of its rows."""
        array = np.asarray(values)
        check_lengths(**{"slate": self.order, name: array})
        self.rows.check_same(array[self.order], f"{name} must be the same in all rows of a slate")
        return array[self.order][self.rows.start]

    def weights(
        self, probability: ArrayLike, propensity: ArrayLike, check: Callable[[Floats, str], None] | None = None
    ) -> Floats:
        """Return the importance weights of the sorted rows.

        Parameters
        ----------
        probability, propensity : arrays of shape (n_rows,)
            The probabilities of the evaluated policy and of the logging policy.
        check : callable, optional
            A function that is called with both, and validates that they are probabilities of the right event.
        """
        w = importance_weights(probability, propensity)
        check_lengths(slate=self.order, probability=w)
        if check:
            check(np.asarray(probability, np.float64)[self.order], "probability")
            check(np.asarray(propensity, np.float64)[self.order], "propensity")
        return w[self.order]


def _position_weights(position_weight: ArrayLike | None, n_positions: int) -> Floats:
    if position_weight is None:
        return np.ones(n_positions)
    weights = as_vector("position_weight", position_weight)
    if len(weights) < n_positions:
        raise ValueError(
            f"position_weight must have a number for each of {n_positions} positions, got {len(weights)}"
        )
    if (weights < 0.0).any():
        raise ValueError(f"position_weight must be non-negative, got {first_where(weights, weights < 0.0)}")
    return weights
