"""Linear regression on the last hidden layer of a neural network."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.disjoint import DisjointModel
from fairbandits.models.first_half import next_update
from fairbandits.models.kernels.cholesky import refuse_singular, scale_by_root
from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.network import initial_layers, represent, train_layers
from fairbandits.models.normal_equations import NormalEquations
from fairbandits.models.reward_model import RewardModel, with_prefix
from fairbandits.models.ridge import in_widths
from fairbandits.models.rows import DenseRows, Row, Rows, SparseRows
from fairbandits.models.shared import SharedModel

# With fewer rewards, a network has too little to learn from.
_FIRST_TRAINING = 50


class NeuralLinearModel(RewardModel):
    """Ridge regressions on a learned representation of contexts.

    The representation z of a context is the last hidden layer of a network with rectified linear units, and a
    constant 1. The network is trained on all rewards so far, and trained from scratch again when there are enough
    new ones; the regressions are then solved again on the new representation. In between they learn every reward
    exactly.

    Parameters
    ----------
    width : int
        The number of features.
    ridge : float
        The ridge penalty.
    layer : {"disjoint", "shared"}
        Whether there is a regression for each arm, or one for all.
    hidden : tuple of int
        The number of units of each hidden layer.
    growth : float
        The network is trained again when the number of rewards has grown by this share.

    Attributes
    ----------
    layers : list of (weights, biases)
        The hidden layers.
    regression : DisjointModel or SharedModel
        The linear layer.
    squares : array of float
        The sum of squared rewards of each regression.
    """

    def __init__(self, width: int, ridge: float, layer: str, hidden: tuple[int, ...], growth: float) -> None:
        super().__init__(width)
        self._ridge = ridge
        self._class = SharedModel if layer == "shared" else DisjointModel
        self._hidden = hidden
        self._growth = growth
        self.layers = initial_layers((width, *hidden))
        self._n_trained = 0
        self._contexts: list[Floats] = []
        self._arms: list[int] = []
        self._rewards: list[float] = []
        # The contexts scored last, their representation and widths, which `sample` needs again.
        self._last: tuple[Rows, DenseRows, Floats] | None = None
        self.regression: DisjointModel | SharedModel = self._class(hidden[-1] + 1, ridge)
        self.squares: Floats = np.zeros(0)

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Return the expected reward and the width `sqrt(z' A^-1 z)` of every arm for every user."""
        represented = self._represent(rows)
        mean, width = self.regression.score(represented, arms)
        self._last = rows, represented, width
        return mean, width

    def sample(self, rows: Rows, arms: Ints, rng: np.random.Generator) -> Floats:
        """Draw the error of each mean, in units of its width; arms with a shared regression err together."""
        if not isinstance(self.regression, SharedModel):
            return self.regression.sample(rows, arms, rng)
        if self._last is None or self._last[0] is not rows:
            self.score(rows, arms)
        _, represented, width = cast(tuple[Rows, DenseRows, Floats], self._last)
        drawn = rng.standard_normal((rows.n_users, represented.width))
        if not scale_by_root(self.regression._gram(0), drawn):
            refuse_singular()
        z = represented.matrix.reshape(rows.n_users, rows.n_arms, -1)
        return in_widths((z @ drawn[:, :, None])[:, :, 0], width)

    def noise(self, arms: Ints, shape: float, scale: float) -> tuple[Floats, Floats]:
        """Return the shape and the scale of the inverse gamma posterior of the noise variance, one per regression.

        These are `a = a0 + n / 2` and `b = b0 + (sum r^2 - theta' A theta) / 2`.
        """
        regression = self.regression
        if isinstance(regression, SharedModel):
            # Plain indices, because the general case below takes several times as long for a single regression.
            a, b = np.full(1, shape), np.full(1, scale)
            if len(self.squares):
                a += 0.5 * regression.rows_learned[0]
                b += 0.5 * max(self.squares[0] - regression.theta[0] @ regression.moment[0], 0.0)
            return a, b
        known = (arms >= 0) & (arms < len(self.squares))
        at = arms[known]
        a, b = np.full(len(arms), shape), np.full(len(arms), scale)
        explained = (regression.theta[at] * regression.moment[at]).sum(axis=1)
        a[known] += 0.5 * regression.rows_learned[at]
        b[known] += 0.5 * np.maximum(self.squares[at] - explained, 0.0)
        return a, b

    def learn(self, arm: int, row: Row, reward: float) -> None:
        """Learn a reward in the linear layer; train the network when that is due."""
        if row.width != self.width:
            raise ValueError(f"row must be {self.width} wide, got {row.width}")
        context = row.dense()
        z = represent(self.layers, context[None])
        self.regression.learn(arm, Row.of_vector(z[0]), reward)
        self._add_square(arm, reward)
        self._last = None
        self._contexts.append(context)
        self._arms.append(arm)
        self._rewards.append(reward)
        if len(self._rewards) >= max(_FIRST_TRAINING, next_update(self._n_trained, self._growth)):
            self._train()

    def forget(self, arm: int) -> None:
        """Drop the regression of an arm; its rewards still train the network."""
        self.regression.forget(arm)
        if not isinstance(self.regression, SharedModel):
            self._arms = [-1 if each == arm else each for each in self._arms]
            self.squares[arm : arm + 1] = 0.0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights, the linear layer, and all rewards with their contexts."""
        named = {f"weights.{i}": weights for i, (weights, _) in enumerate(self.layers)}
        named |= {f"biases.{i}": biases for i, (_, biases) in enumerate(self.layers)}
        named |= {f"regression.{name}": array for name, array in self.regression.arrays().items()}
        return named | {
            "contexts": np.array(self._contexts).reshape(-1, self.width),
            "arms": np.array(self._arms, np.int64),
            "rewards": np.array(self._rewards),
            "n_trained": np.array(self._n_trained),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        contexts, arms, rewards = (np.array(arrays[name]) for name in ("contexts", "arms", "rewards"))
        if contexts.shape != (len(rewards), self.width) or arms.shape != rewards.shape:
            raise ValueError(
                f"contexts has shape {contexts.shape}, for {len(arms)} arms and {len(rewards)} rewards"
            )
        layers = [
            (np.array(arrays[f"weights.{i}"]), np.array(arrays[f"biases.{i}"])) for i in range(len(self.layers))
        ]
        for (weights, biases), (ours, _) in zip(layers, self.layers, strict=True):
            if weights.shape != ours.shape or biases.shape != ours.shape[1:]:
                raise ValueError(f"weights has shape {weights.shape}, for {ours.shape}")
        self.layers, self._n_trained, self._last = layers, int(arrays["n_trained"]), None
        self._contexts, self._arms, self._rewards = list(contexts), arms.tolist(), rewards.tolist()
        self.squares = self._sum_squares()
        self.regression.restore(with_prefix(arrays, "regression."))

    def _represent(self, rows: Rows) -> DenseRows:
        z = represent(self.layers, rows if isinstance(rows, SparseRows) else rows.matrix)
        return DenseRows(rows.n_users, rows.n_arms, z.shape[1], z)

    def _slots(self, arms: Ints) -> Ints:
        """Return the regressions of arms."""
        return self.regression.slots_in_equations(arms)

    def _add_square(self, arm: int, reward: float) -> None:
        slot = int(self._slots(np.array([arm]))[0])
        if slot >= len(self.squares):
            self.squares = np.append(self.squares, np.zeros(self.regression.n_slots - len(self.squares)))
        if slot >= 0:
            self.squares[slot] += reward * reward

    def _sum_squares(self) -> Floats:
        slots = self._slots(np.array(self._arms, np.int64))
        known = slots >= 0  # -1 is an arm that has been forgotten
        squares: Floats = np.bincount(slots[known], np.array(self._rewards)[known] ** 2).astype(np.float64)
        return squares

    def _train(self) -> None:
        """Train the network from scratch on all rewards, and solve the linear layer again."""
        contexts, rewards = np.array(self._contexts), np.array(self._rewards)
        self._n_trained = len(rewards)
        try:
            layers = train_layers(contexts, rewards, self._hidden)
            regression = self._solve(represent(layers, contexts), rewards)
        except ValueError:
            return  # contexts are too large to train on: the representation stays as it is
        self.layers, self.regression, self.squares = layers, regression, self._sum_squares()

    def _solve(self, z: Floats, rewards: Floats) -> DisjointModel | SharedModel:
        """Return the linear layer for rewards on a representation of their contexts."""
        slots = self._slots(np.array(self._arms))
        known = slots >= 0
        equations = NormalEquations(z.shape[1])
        equations.add(DenseRows(int(known.sum()), 1, z.shape[1], z[known]), slots[known], rewards[known])
        regression = self._class(z.shape[1], self._ridge)
        regression.learn_equations(equations, [(slot, slot) for slot in np.unique(slots[known]).tolist()])
        return regression
