"""Neural networks as a representation of contexts: their hidden layers, trained by Adam on squared errors."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_SHARED,
    N_SHARED,
    PATTERN,
    START,
    STOP,
    Fields,
    Floats,
    Ints,
    SplitRows,
)
from fairbandits.models.rows import SparseRows
from fairbandits.models.threads import USERS_AT_A_TIME, in_chunks

#: The weights and the biases of a layer.
Layer = tuple[Floats, Floats]

_BATCH = 128
# Training makes at least this many passes over the rewards, and takes at least this many steps.
_EPOCHS, _STEPS = 20, 300
_LEARNING_RATE = 0.01
# The rest are scikit-learn's defaults: Adam's decay rates and epsilon, and the L2 penalty of a batch.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
_PENALTY = 1e-4
# Squared errors of larger contexts exceed every tolerance.
_LARGEST = 1e10
# The learned state depends only on the rewards, not on a policy's random state, so that logs can be replayed.
_SEED = 0


def initial_layers(sizes: tuple[int, ...]) -> list[Layer]:
    """Return layers with random weights (Glorot and Bengio 2010), for contexts about which nothing is known.

    Examples
    --------
    >>> [weights.shape for weights, _ in initial_layers((5, 3, 2))]
    [(5, 3), (3, 2)]
    """
    rng = np.random.default_rng(_SEED)
    layers = []
    for n_in, n_out in pairwise(sizes):
        bound = np.sqrt(6.0 / (n_in + n_out))
        layers.append((rng.uniform(-bound, bound, (n_in, n_out)), np.zeros(n_out)))
    return layers


# -- representing ----------------------------------------------------------------------------------------


def represent(layers: list[Layer], contexts: Floats | SparseRows) -> Floats:
    """Return the last hidden layer for contexts, and a constant 1.

    Examples
    --------
    >>> represent([(np.array([[1.0], [-1.0]]), np.array([0.5]))], np.eye(2))
    array([[1.5, 1. ],
           [0. , 1. ]])
    """
    z = _first_sums(layers[0], contexts)
    for weights, biases in layers[1:]:
        np.maximum(z, 0.0, out=z)
        z = z @ weights
        z += biases
    represented = np.empty((len(z), z.shape[1] + 1))
    represented[:, -1] = 1.0
    np.maximum(z, 0.0, out=represented[:, :-1])
    return represented


def _first_sums(layer: Layer, contexts: Floats | SparseRows) -> Floats:
    """Return the sums of the units of the first layer, before rectification."""
    weights, biases = layer
    if not isinstance(contexts, SparseRows):
        sums: Floats = contexts @ weights
        sums += biases
        return sums
    if contexts.width != len(weights):  # kernels do not check their indices
        raise ValueError(f"contexts must be {len(weights)} wide, got {contexts.width}")
    out = np.empty((contexts.n_users, contexts.n_arms, biases.size))

    def part(first: int, end: int) -> int:
        return _sum_sparse(contexts.of_users(first, end), weights, biases, out[first:end])

    parts = contexts.parts
    of_arms = contexts.n_users * contexts.n_arms * (1 + parts.columns.size // max(len(parts.bounds), 1))
    work = (of_arms + parts.shared_columns.size) * biases.size
    in_chunks(part, contexts.n_users, USERS_AT_A_TIME, work)
    return out.reshape(-1, biases.size)


@kernel()
def _sum_sparse(rows: Fields, weights: Floats, biases: Floats, out: Floats) -> int:
    """Fill the sums of the first layer (users x arms x units); those of a shared part are computed once."""
    split = SplitRows(*rows)
    n_units = np.uint64(biases.size)
    for user in range(len(out)):
        first, n_shared = split.users[user, FIRST_SHARED], split.users[user, N_SHARED]
        shared = np.empty((n_shared, biases.size))
        for part in range(n_shared):
            for j in range(n_units):
                shared[part, j] = biases[j]
            lo, hi = split.shared_starts[first + part], split.shared_starts[first + part + 1]
            _add_entries(split.shared_columns, split.shared_values, lo, hi, weights, shared[part])
        for arm in range(out.shape[1]):
            own = split.users[user, FIRST_ARM] + arm
            part = split.which[split.users[user, PATTERN], arm]
            for j in range(n_units):
                out[user, arm, j] = shared[part, j]
            lo, hi = split.bounds[own, START], split.bounds[own, STOP]
            _add_entries(split.columns, split.values, lo, hi, weights, out[user, arm])
    return 0


@helper()
def _add_entries(columns: Ints, values: Floats, lo: int, hi: int, weights: Floats, sums: Floats) -> None:
    """Add the weights of entries lo to hi of a row, times its values."""
    for i in range(lo, hi):
        column = np.uint64(columns[i])
        for j in range(np.uint64(sums.size)):
            sums[j] += values[i] * weights[column, j]


# -- training --------------------------------------------------------------------------------------------


def train_layers(contexts: Floats, rewards: Floats, hidden: tuple[int, ...]) -> list[Layer]:
    """Train a network to predict rewards, by Adam on squared errors; return its hidden layers.

    The weights equal those of scikit-learn's `MLPRegressor` after every step. For batches and layers as small as
    these, `MLPRegressor` itself takes two to seven times as long, because of its overhead per batch.

    Raises ValueError for contexts on which the network cannot be trained.
    """
    if np.abs(contexts).max() > _LARGEST:
        raise ValueError(
            f"contexts must be at most {_LARGEST:g} in absolute value for a network, "
            f"got {np.abs(contexts).max():g}"
        )
    n, targets = len(rewards), rewards[:, None]
    batch = min(_BATCH, n)
    rng = np.random.RandomState(_SEED)
    network = _Network((contexts.shape[1], *hidden, 1), rng)
    order = np.arange(n)
    for _ in range(max(_EPOCHS, -(-_STEPS * batch // n))):
        rng.shuffle(order)
        for start in range(0, n, batch):
            rows = order[start : start + batch]
            network.step(contexts.take(rows, axis=0), targets.take(rows, axis=0))
    return network.layers[:-1]


class _Network:
    """A network with one output, and the state of Adam (Kingma and Ba 2015).

    Parameters, their gradient and its moments are one array each, so that a step of Adam is one loop; layers are
    views of these arrays.

    Parameters
    ----------
    sizes : tuple of int
        The number of features, the units of each hidden layer, and 1.
    rng : RandomState
        Draws the initial parameters.
    """

    def __init__(self, sizes: tuple[int, ...], rng: np.random.RandomState) -> None:
        self._n_weights = sum(n_in * n_out for n_in, n_out in pairwise(sizes))
        n = self._n_weights + sum(sizes[1:])
        self._parameters, self._gradient = np.empty((2, n))
        self._first_moment, self._second_moment = np.zeros((2, n))
        self._n_steps = 0
        self.layers = _layers_in(self._parameters, sizes)
        self._gradients = _layers_in(self._gradient, sizes)
        for weights, biases in self.layers:
            bound = np.sqrt(6.0 / sum(weights.shape))
            weights[:] = rng.uniform(-bound, bound, weights.shape)
            biases[:] = rng.uniform(-bound, bound, biases.shape)

    def step(self, contexts: Floats, targets: Floats) -> None:
        """Learn a batch in one step of Adam."""
        self._sum_gradient(contexts, targets)
        self._n_steps += 1
        rate = _LEARNING_RATE * math.sqrt(1.0 - _BETA_2**self._n_steps) / (1.0 - _BETA_1**self._n_steps)
        moments = self._first_moment, self._second_moment
        _move(self._parameters, self._gradient, moments, self._n_weights, len(contexts), rate)

    def _sum_gradient(self, contexts: Floats, targets: Floats) -> None:
        """Compute the gradient of half the sum of squared errors, by backpropagation."""
        inputs = [contexts]
        for weights, biases in self.layers:
            z = inputs[-1] @ weights
            z += biases
            inputs.append(z)
            if len(inputs) <= len(self.layers):
                np.maximum(z, 0.0, out=z)
        error = inputs.pop()
        error -= targets
        for i in reversed(range(len(self.layers))):
            weights_gradient, biases_gradient = self._gradients[i]
            np.matmul(inputs[i].T, error, out=weights_gradient)
            error.sum(axis=0, out=biases_gradient)
            if i:
                # The broadcast product of a column and a row is faster than their matrix product.
                weights = self.layers[i][0].T
                error = error * weights if len(weights) == 1 else error @ weights
                error *= inputs[i] > 0.0


@kernel()
def _move(
    parameters: Floats, gradient: Floats, moments: tuple[Floats, Floats], n_weights: int, n: int, rate: float
) -> None:
    """Move parameters by a step of Adam, given the summed gradient of a batch of n; only weights are penalised.

    The order of operations is scikit-learn's, so that the result is bitwise identical.
    """
    first, second = moments
    for i in range(parameters.size):
        penalty = _PENALTY * parameters[i] if i < n_weights else 0.0
        # Unlike `/`, `np.divide` has no branch for zeros, which would keep the compiler from using vector units.
        slope = np.divide(gradient[i] + penalty, n)
        first[i] = _BETA_1 * first[i] + (1.0 - _BETA_1) * slope
        second[i] = _BETA_2 * second[i] + (1.0 - _BETA_2) * (slope * slope)
        parameters[i] += np.divide(-rate * first[i], math.sqrt(second[i]) + _EPSILON)


def _layers_in(array: Floats, sizes: tuple[int, ...]) -> list[Layer]:
    """Return layers that are views of an array: all weights, then all biases."""
    shapes = list(pairwise(sizes))
    ends = np.cumsum([n_in * n_out for n_in, n_out in shapes] + list(sizes[1:]))
    parts = np.split(array, ends[:-1])
    weights = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=False)]
    return list(zip(weights, parts[len(shapes) :], strict=True))
