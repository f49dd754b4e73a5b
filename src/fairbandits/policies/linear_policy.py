"""What the policies share that predict rewards by a linear model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arm
from fairbandits.models import Bank, Model, Row, Rows, RowSums, as_model, feature_maps, logistic, look
from fairbandits.policies.base import Floats, Ints, Policy, Predictions
from fairbandits.policies.parameters import as_number
from fairbandits.policies.serialisation import part

# Dividing by less leaves the range of a float64.
_SMALLEST_RIDGE = 1e-50


class LinearPolicy(Policy):
    """A policy that predicts rewards by a linear model.

    A new policy is a subclass that says what to add to the predicted reward:

    >>> from fairbandits.policies import LinearPolicy
    >>> class Greedy(LinearPolicy):
    ...     def terms(self, predictions):
    ...         return 0.0, 0.0  # nothing for exploration, nothing for fairness
    >>> Greedy(ridge=2.0)
    Greedy(ridge=2.0)

    Parameters
    ----------
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared", "hybrid"} or Model
        One regression for each arm, one for all arms, or both; a `Model` says more.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties and draws comes from.
    """

    _fixed = (*Policy._fixed, "ridge", "model")

    def __init__(
        self,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.ridge = ridge
        self.model = model
        self._bank: Bank | None = None
        self._bank_is_for: tuple[Any, ...] = ()
        super().__init__(reward_range, random_state)

    @property
    def bank(self) -> Any:
        """The regressions."""
        if self.n_features_in_ is None:
            raise ValueError("the policy has seen no contexts yet; call choose first")
        asked = self.n_features_in_, self.ridge, self.model
        if self._bank is None or self._bank_is_for != asked:
            if self._bank is not None and self.rounds_learned:
                raise ValueError(
                    f"contexts are now {self.n_features_in_} wide, but what was learned is {self._bank.width}; a "
                    "feature map must not change once something was learned"
                )
            # All of these are free to change while nothing has been learned.
            self._bank = as_model(self.model).bank(self.n_features_in_, float(self.ridge))
            self._bank_is_for = asked
        return self._bank

    def coefficients(self, arm: ArmId | None = None) -> Floats:
        """Give theta: of one arm, or of the part that all arms share where no arm is named.

        With the logistic link they are those of the logit.
        """
        kind = as_model(self.model).kind
        if kind == "shared":
            slot = 0
        elif kind == "hybrid" and arm is None:
            slot = -1  # what an arm has that learned nothing: the common part
        else:
            slot = self._arms.rows.get(as_arm(arm), -1)
        theta: Floats = self.bank.coefficients(slot)
        return theta

    def draws(self, predictions: Predictions) -> Floats:
        """Draw how far off each mean is, in widths: normal; arms that share a model are off together."""
        drawn: Floats = self.bank.draw(predictions.contexts, self._slots(predictions.rows), self._rng)
        return drawn

    def _slots(self, at: Ints) -> Ints | None:
        return None if as_model(self.model).kind == "shared" else at

    def _prepare(self, rows: Rows) -> Rows:
        feature_map = as_model(self.model).feature_map
        return rows if feature_map is None else feature_maps.mapped(feature_map, rows)

    @property
    def _width(self) -> int | None:
        feature_map = as_model(self.model).feature_map
        return super()._width if feature_map is None else feature_maps.width_of(feature_map)

    @property
    def order_dependent(self) -> bool:
        """Whether the same rewards in another order lead to other predictions."""
        return as_model(self.model).order_dependent

    def _predict(self, rows: Rows, at: Ints) -> tuple[Floats, Floats]:
        mean, width = self.bank.score(rows, self._slots(at))
        if as_model(self.model).link == "logistic":
            low, high = self.reward_range
            mean, width = logistic.to_rewards(mean, width, float(low), float(high))
        return mean, width

    def _update(self, at: int, row: Row, reward: float) -> None:
        model = as_model(self.model)
        slot = 0 if model.kind == "shared" else at
        if slot < 0:
            return
        weight = 1.0
        if model.link == "logistic":
            low, high = self.reward_range
            seen = look(self.bank, self._slots(np.array([slot])), row)
            reward, weight = logistic.working_row(*seen, (reward - low) / (high - low))
        self.bank.learn(slot, row, reward, weight)

    @property
    def is_additive(self) -> bool:
        """Whether what a log teaches can be summed up."""
        return not self.order_dependent and type(self)._update is LinearPolicy._update

    @property
    def _pooled(self) -> bool:
        return as_model(self.model).kind == "shared"

    def _learn_sums(self, sums: RowSums, ours: Ints, theirs: Ints) -> None:
        self.bank.add_rows(sums, zip(ours.tolist(), theirs.tolist(), strict=True))

    def _forget(self, at: int) -> None:
        if self._bank is not None and as_model(self.model).kind != "shared":
            self._bank.reset(at)

    def _absorb(self, other: Self) -> None:
        if other._bank is None:
            return
        if as_model(self.model).kind == "shared":
            pairs = [(0, 0)]
        else:
            pairs = [(self._arms.claim(arm), slot) for arm, slot in other._arms.rows.items()]
        self.bank.absorb(other._bank, pairs)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._state()
        # Whether somebody has chosen before anything was learned makes no difference.
        if self.rounds_learned:
            arrays |= {f"bank.{name}": array for name, array in self.bank.arrays().items()}
        return header, arrays

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(header, arrays)
        stored = part(arrays, "bank.")
        if stored:
            self.bank.restore(stored)

    def _check_params(self) -> None:
        super()._check_params()
        as_number("ridge", self.ridge, above=_SMALLEST_RIDGE)
        as_model(self.model)
