"""What a policy is made of, and what a subclass says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, ArmIndex
from fairbandits.fairness import GroupKey, GroupRewards
from fairbandits.fairness.group_rewards import as_range
from fairbandits.models import Row, Rows, RowSums
from fairbandits.policies.decision import Decision, Scores
from fairbandits.policies.ledger import Ledger
from fairbandits.policies.parameters import Parameters
from fairbandits.policies.picker import (
    pick_best,
    pick_best_in_order,
    pick_in_turn,
    share_of_best,
)
from fairbandits.policies.serialisation import (
    as_generator,
    params_to_dict,
)
from fairbandits.policies.slate import Slate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Term = Floats | float


@dataclass(slots=True, eq=False)
class Predictions:
    """What a policy sees of a round, for one user or many: arrays with one line per user, one column per arm.

    Attributes
    ----------
    mean, width : arrays of shape (n_users, n_arms)
        The predicted reward, and how unsure it is.
    groups : tuple
        The group of each user, as pairs of attribute and value.
    rows : array of int, shape (n_arms,)
        The arms on offer, as the group record numbers them; -1 for one that nobody received yet.
    contexts : Rows
        The contexts, user after user.
    """

    mean: Floats
    width: Floats
    groups: tuple[GroupKey, ...]
    rows: Ints
    contexts: Rows


class Core(Parameters):
    """The parts of a policy, and the hooks of its subclasses."""

    groups: GroupRewards

    _kinds: ClassVar[dict[str, type[Core]]] = {}
    _fixed: tuple[str, ...] = ("reward_range",)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Core._kinds[kind_of(cls)] = cls

    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0), random_state: Any = None) -> None:
        self.reward_range = reward_range
        self.random_state = random_state
        self._check_params()
        self._rng = as_generator(random_state)
        self._arms = ArmIndex()
        self._ledger = Ledger()
        self.groups = GroupRewards(reward_range, self._arms)
        self.n_features_in_: int | None = None
        self.rounds_learned = 0
        # Plain values that go into the policy's file and come back with it: how its contexts are encoded, say.
        self.metadata: dict[str, Any] = {}

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Say what exploration and what fairness add to the predicted reward."""
        raise NotImplementedError(
            f"{type(self).__name__} must define terms(predictions) -> (exploration, fairness)"
        )

    def pick(self, scores: Scores, rng: np.random.Generator) -> tuple[int, float | None]:
        """Pick an arm by its score; return its place and the probability with which it was picked."""
        return pick_best(scores.total, rng)

    def chances(self, scores: Scores) -> Floats | None:
        """Give the probability with which `pick` picks each arm, from scores with one line per user.

        Override it together with `pick`; None stands for "no closed form", and `probabilities` then draws.
        """
        return share_of_best(scores.total) if type(self).pick is Core.pick else None

    def pick_slate(self, scores: Scores, k: int, rng: np.random.Generator) -> tuple[list[int], float | None]:
        """Pick k arms in order; return their places and the probability of just these in just this order.

        Each is picked among those that are left, as `pick` picks one. Where the picks of a slate hang together,
        as they do when all come from one draw, say here what their probability is.
        """
        if type(self).pick is Core.pick:
            return pick_best_in_order(scores.total, k, rng)
        return pick_in_turn(self.pick, scores, k, rng)

    @property
    def order_dependent(self) -> bool:
        """Whether the same rewards in another order lead to other predictions: for models that forget."""
        return False

    @property
    def arms_learned(self) -> tuple[ArmId, ...]:
        """The arms of which something has been learned."""
        return tuple(self._arms.rows)

    def _prepare(self, rows: Rows) -> Rows:
        """Change contexts before they are used: for policies that leave columns out."""
        return rows

    def _predict(self, rows: Rows, at: Ints) -> tuple[Floats, Floats]:
        """Predict nothing: for policies without a model."""
        shape = (rows.n_users, rows.n_arms)
        return np.zeros(shape), np.zeros(shape)

    def _note(self, decision: Decision | Slate) -> None:
        """Note more of a decision that has been learned: for policies that keep a record of their own."""

    @property
    def notes_more(self) -> bool:
        """Whether the policy keeps a record of its own of each decision that it learned."""
        return type(self)._note is not Core._note

    def _update(self, at: int, row: Row, reward: float) -> None:
        """Learn nothing: for policies without a model."""

    @property
    def is_additive(self) -> bool:
        """Whether what a log teaches can be summed up: not where order matters, or a subclass learns its way."""
        return not self.order_dependent and type(self)._update is Core._update

    @property
    def _pooled(self) -> bool | None:
        """Whether all arms share one regression; None where there is no regression."""
        return None

    @property
    def _learned_width(self) -> int | None:
        """The width of what has been learned; None while that is nothing."""
        return self.n_features_in_ if self.rounds_learned else None

    def _learn_sums(self, sums: RowSums, ours: Ints, theirs: Ints) -> None:
        """Learn nothing: for policies without a model."""

    def _forget(self, at: int) -> None:
        """Drop what the model knows of an arm."""

    def _check_alike(self, other: Core) -> None:
        if type(other) is not type(self):
            raise ValueError(f"cannot merge a {type(self).__name__} with a {type(other).__name__}")
        ours, theirs = (params_to_dict(policy.get_params()) | {"random_state": None} for policy in (self, other))
        if ours != theirs:
            different = [name for name in ours if ours[name] != theirs[name]]
            raise ValueError(f"policies with different parameters do not merge; these differ: {different}")

    def _absorb(self, other: Self) -> None:
        """Add what the other's model has learned."""

    def _check_params(self) -> None:
        """Refuse parameters that make no sense; subclasses add theirs."""
        as_range(self.reward_range)
        as_generator(self.random_state)

    def _has_learned(self) -> bool:
        return self.rounds_learned > 0 or bool(self.groups.attributes)

    def _params_changed(self, names: set[str]) -> None:
        if "random_state" in names:
            self._rng = as_generator(self.random_state)
        if "reward_range" in names:
            self.groups = GroupRewards(self.reward_range, self._arms)


def kind_of(cls: type) -> str:
    """Name a class in a file: ours by name alone, wherever they will be moved; others by their module too."""
    if cls.__module__.split(".")[0] == "fairbandits":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"
