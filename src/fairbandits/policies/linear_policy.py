"""What the policies share that predict rewards by ridge regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arm
from fairbandits.linear import RidgeBank, Row, Rows
from fairbandits.policies.base import Floats, Ints, Policy
from fairbandits.policies.params import as_number
from fairbandits.policies.plain import part

MODELS = ("disjoint", "shared")
DTYPES = ("float64", "float32")

# Dividing by less leaves the range of a float64.
_SMALLEST_RIDGE = 1e-50


class LinearPolicy(Policy):
    """A policy that predicts rewards by ridge regression.

    A new policy is a subclass that says what to add to the predicted reward:

    >>> from fairbandits.policies import LinearPolicy
    >>> class Greedy(LinearPolicy):
    ...     def terms(self, seen):
    ...         return 0.0, 0.0  # nothing for exploration, nothing for fairness
    >>> Greedy(ridge=2.0)
    Greedy(ridge=2.0)

    Parameters
    ----------
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared"}
        One regression for each arm, or one for all arms.
    dtype : {"float64", "float32"}
        How A^-1 is kept; see `RidgeBank`.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties and draws comes from.
    """

    _fixed = (*Policy._fixed, "ridge", "model", "dtype")

    def __init__(
        self,
        ridge: float = 1.0,
        model: str = "disjoint",
        dtype: str = "float64",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.ridge = ridge
        self.model = model
        self.dtype = dtype
        self._bank: RidgeBank | None = None
        super().__init__(reward_range, random_state)

    @property
    def bank(self) -> RidgeBank:
        """The regressions."""
        if self.n_features_in_ is None:
            raise ValueError("the policy has seen no contexts yet; call choose first")
        asked = self.n_features_in_, self.ridge, self.dtype
        if self._bank is None or (self._bank.width, self._bank.ridge, self._bank.dtype) != asked:
            # All of these are free to change while nothing has been learned.
            self._bank = RidgeBank(self.n_features_in_, float(self.ridge), self.dtype)
        return self._bank

    def coefficients(self, arm: ArmId | None = None) -> Floats:
        """Give theta: of one arm, or of the shared model where no arm is named."""
        slot = 0 if self.model == "shared" else self._arms.rows.get(as_arm(arm), -1)
        bank = self.bank
        return bank.theta[slot].copy() if 0 <= slot < bank.n_slots else np.zeros(bank.width)

    def _predict(self, rows: Rows, at: Ints) -> tuple[Floats, Floats]:
        return self.bank.score(rows, None if self.model == "shared" else at)

    def _update(self, at: int, row: Row, reward: float) -> None:
        if self.model == "shared":
            self.bank.learn(0, row, reward)
        elif at >= 0:
            self.bank.learn(at, row, reward)

    def _forget(self, at: int) -> None:
        if self.model == "disjoint" and self._bank is not None:
            self._bank.reset(at)

    def _absorb(self, other: Self) -> None:
        if other._bank is None:
            return
        if self.model == "shared":
            self.bank.absorb(0, other._bank, 0)
            return
        for arm, slot in other._arms.rows.items():
            self.bank.absorb(self._arms.claim(arm), other._bank, slot)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._state()
        if self._bank is not None:
            arrays |= {f"bank.{name}": array for name, array in self._bank.arrays().items()}
        return header, arrays

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(header, arrays)
        stored = part(arrays, "bank.")
        if stored:
            self.bank.restore(stored)

    def _check_params(self) -> None:
        super()._check_params()
        as_number("ridge", self.ridge, above=_SMALLEST_RIDGE)
        if self.model not in MODELS:
            raise ValueError(f"model must be one of {', '.join(MODELS)}; got {self.model!r}")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}; got {self.dtype!r}")
