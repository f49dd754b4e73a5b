"""Neural networks as a representation of contexts: their hidden layers, trained by scikit-learn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fairbandits.models.kernels.layouts import Floats

#: The weights and the biases of a hidden layer.
Layer = tuple[Floats, Floats]

_BATCH = 128
# A training goes through the rewards at least this often, and takes at least this number of steps.
_EPOCHS, _STEPS = 20, 300
_LEARNING_RATE = 0.01
# Squared errors of larger contexts exceed every tolerance.
_LARGEST = 1e10
# What is learned depends on the rewards alone, not on a policy's random state, so that logs can be replayed.
_SEED = 0


def initial_layers(sizes: tuple[int, ...]) -> list[Layer]:
    """Return layers with random weights (Glorot and Bengio 2010), for contexts that nothing is known about.

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


def represent(layers: list[Layer], contexts: Floats) -> Floats:
    """Return the last hidden layer for contexts, given as a matrix, and a constant 1.

    Examples
    --------
    >>> represent([(np.array([[1.0], [-1.0]]), np.array([0.5]))], np.eye(2))
    array([[1.5, 1. ],
           [0. , 1. ]])
    """
    z = contexts
    for weights, biases in layers:
        z = z @ weights
        z += biases
        np.maximum(z, 0.0, out=z)
    return np.concatenate([z, np.ones((len(z), 1))], axis=1)


def train_layers(contexts: Floats, rewards: Floats, hidden: tuple[int, ...]) -> list[Layer]:
    """Train a network to predict rewards, by Adam on squared errors; return its hidden layers.

    Raises ValueError for contexts on which it cannot be trained.
    """
    if np.abs(contexts).max() > _LARGEST:
        raise ValueError(
            f"contexts must be at most {_LARGEST:g} in absolute value for a network, "
            f"got {np.abs(contexts).max():g}"
        )
    from sklearn.neural_network import MLPRegressor  # noqa: PLC0415  (takes longer than a training)

    batch = min(_BATCH, len(rewards))
    epochs = max(_EPOCHS, -(-_STEPS * batch // len(rewards)))
    # No epoch improves by this tolerance, so training ends after a fixed number of them, without a warning.
    network = MLPRegressor(
        hidden_layer_sizes=hidden,
        batch_size=batch,
        learning_rate_init=_LEARNING_RATE,
        tol=1e30,
        n_iter_no_change=epochs - 2,
        max_iter=epochs + 1,
        random_state=_SEED,
    ).fit(contexts, rewards)
    return list(zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True))
