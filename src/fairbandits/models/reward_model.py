"""The interface of reward models: expected rewards and their uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.row_batch import RowBatch
from fairbandits.models.rows import Row, Rows


class RewardModel(ABC):
    """The expected reward of arms and its uncertainty, learned one observation at a time.

    To use a custom model, derive a class and pass it to a policy: `LinUCB(model=MyModel)`. The policy creates an
    instance with the number of features when it sees the first contexts. Arms are numbered 0, 1, 2, ... by the
    policy; -1 stands for an arm about which nothing has been learned. The number of a forgotten arm is reused for
    the next new one. Rewards are passed scaled to [0, 1], whatever the policy's `reward_range`, and are predicted
    on that scale.

    Parameters
    ----------
    width : int
        The number of features.
    """

    #: Whether the same rewards in a different order lead to different predictions.
    order_dependent: ClassVar[bool] = True
    #: Whether two models can be merged.
    is_mergeable: ClassVar[bool] = False

    kinds: ClassVar[dict[str, type[RewardModel]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        RewardModel.kinds[f"{cls.__module__}.{cls.__qualname__}"] = cls

    def __init__(self, width: int) -> None:
        self.width = width

    @abstractmethod
    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Predict the reward of every arm for every user.

        Parameters
        ----------
        rows : Rows
            One row per arm for each user; `rows.toarray()` begins with the rows of the first user.
        arms : array of int, shape (n_arms,)
            The numbers of the arms.

        Returns
        -------
        mean, width : arrays of shape (n_users, n_arms)
            The expected rewards, and their uncertainty.
        """

    @abstractmethod
    def learn(self, arm: int, row: Row, reward: float) -> None:
        """Learn the reward of an arm with a context; if that is impossible, raise ValueError and change nothing.

        The arm is -1 if it has been forgotten since it was chosen.
        """

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the learned state as arrays."""

    @abstractmethod
    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""

    def forget(self, arm: int) -> None:  # noqa: B027 - optional
        """Discard the learned state of an arm; a model that cannot tell arms apart keeps it."""

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the learned state of another model; each pair holds the numbers of an arm here and there."""
        raise ValueError(f"policies with model={type(self).__name__} cannot be merged")

    def sample(self, rows: Rows, arms: Ints, rng: np.random.Generator) -> Floats:
        """Draw the error of each mean, in units of its width: standard normal, (n_users, n_arms)."""
        return rng.standard_normal((rows.n_users, rows.n_arms))


def with_prefix(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, without the prefix."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


class ZeroModel(RewardModel):
    """A model that predicts 0 with certainty and learns nothing, for policies that need no prediction."""

    order_dependent = False
    is_mergeable = True

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Return zeros."""
        shape = (rows.n_users, rows.n_arms)
        return np.zeros(shape), np.zeros(shape)

    def learn(self, arm: int, row: Row, reward: float) -> None:
        """Ignore a reward."""

    def learn_batch(self, batch: RowBatch, arms: Ints, rewards: Floats) -> bool:
        """Ignore many rewards."""
        return True

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return nothing."""
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore nothing."""

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add nothing."""
