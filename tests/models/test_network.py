"""Networks as a representation: trained by scikit-learn, computed by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from fairbandits.models.network import initial_layers, represent, train_layers


def test_training_leaves_less_than_half_of_the_error_of_a_random_representation():
    rng = np.random.default_rng(0)
    contexts = rng.uniform(-1, 1, (2000, 4))
    rewards = 0.5 + 0.5 * contexts[:, 0] * contexts[:, 1]

    def unexplained(layers):
        z = represent(layers, contexts)
        return 1.0 - LinearRegression().fit(z[:1000], rewards[:1000]).score(z[1000:], rewards[1000:])

    assert unexplained(train_layers(contexts, rewards, (16,))) < 0.5 * unexplained(initial_layers((4, 16)))


def test_the_same_rewards_train_the_same_network():
    rng = np.random.default_rng(1)
    contexts, rewards = rng.random((60, 3)), rng.random(60)
    one, other = (train_layers(contexts, rewards, (5, 4)) for _ in range(2))
    assert [weights.shape for weights, _ in one] == [(3, 5), (5, 4)]
    for (weights, biases), (same, likewise) in zip(one, other, strict=True):
        assert weights.tobytes() == same.tobytes()
        assert biases.tobytes() == likewise.tobytes()


def test_contexts_too_large_to_train_on_are_refused():
    with pytest.raises(
        ValueError, match=r"contexts must be at most 1e\+10 in absolute value for a network, got 1e\+11"
    ):
        train_layers(np.full((50, 2), 1e11), np.ones(50), (3,))
