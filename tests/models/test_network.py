"""Networks as a representation: compared with scikit-learn's, and computed by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

from fairbandits import Catalogue
from fairbandits.models import threads
from fairbandits.models.network import initial_layers, represent, train_layers
from fairbandits.models.rows import SparseRows, as_rows


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


def layers_of_scikit_learn(contexts, rewards, hidden, epochs):
    network = MLPRegressor(
        hidden_layer_sizes=hidden,
        batch_size=min(128, len(rewards)),
        learning_rate_init=0.01,
        tol=1e30,
        n_iter_no_change=epochs - 2,
        max_iter=epochs + 1,
        random_state=0,
    ).fit(contexts, rewards)
    assert network.n_iter_ == epochs
    return list(zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True))


@pytest.mark.parametrize(
    ("n", "hidden", "epochs"), [(50, (5,), 300), (131, (6, 4), 294), (300, (50,), 128), (3000, (7, 5, 3), 20)]
)
def test_trains_the_network_that_scikit_learn_trains(n, hidden, epochs):
    """The same initial weights, batches and steps, the L2 penalty included; some features are always zero."""
    rng = np.random.default_rng(n)
    contexts = rng.uniform(-1, 1, (n, 9)) * (rng.random((n, 9)) < 0.4) * (np.arange(9) > 0)
    rewards = rng.random(n)
    expected = layers_of_scikit_learn(contexts, rewards, hidden, epochs)
    for ours, theirs in zip(train_layers(contexts, rewards, hidden), expected, strict=True):
        for array, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(array, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("hidden", [(5,), (6, 4)])
@pytest.mark.parametrize("n_users", [1, 3, 400])
def test_sparse_contexts_are_represented_like_dense_ones(hidden, n_users):
    rng = np.random.default_rng(2)
    contexts = np.zeros((n_users, 6, 20))
    contexts[:, :, :5] = rng.standard_normal((n_users, 1, 5))  # shared by a user's arms
    contexts[:, :, 5:7] = rng.standard_normal((1, 6, 2))
    rows = as_rows(contexts.reshape(-1, 20), n_users=n_users)
    assert isinstance(rows, SparseRows)
    layers = [(weights, biases + 0.1) for weights, biases in initial_layers((20, *hidden))]
    expected = represent(layers, contexts.reshape(-1, 20))
    np.testing.assert_allclose(represent(layers, rows), expected, rtol=1e-12, atol=1e-12)
    users, arms = np.arange(0, n_users, 2), np.array([4, 1])
    selected = expected.reshape(n_users, 6, -1)[users[:, None], arms].reshape(2 * len(users), -1)
    np.testing.assert_allclose(represent(layers, rows.select(users, arms)), selected, rtol=1e-12, atol=1e-12)


def test_offers_of_a_catalogue_with_matches_are_represented_like_dense_ones(monkeypatch):
    monkeypatch.setattr(threads, "_PER_THREAD", 1)  # so that chunks of users are done by several threads
    monkeypatch.setattr(threads, "LEAST_WORK", 2)
    rng = np.random.default_rng(3)
    sexes = [str(sex) for sex in rng.choice(["f", "m"], 9)]
    catalogue = Catalogue(
        rng.random((9, 6)) * (rng.random((9, 6)) < 0.5), n_user_features=3, matches={"sex": sexes}
    )
    users = rng.random((300, 3))
    offer = catalogue.offer_many(users, {"sex": [str(sex) for sex in rng.choice(["f", "m"], 300)]})
    layers = initial_layers((offer.rows.width, 7))
    assert isinstance(offer.rows, SparseRows)
    expected = represent(layers, offer.rows.toarray())
    np.testing.assert_allclose(represent(layers, offer.rows), expected, rtol=1e-12, atol=1e-12)


def test_sparse_contexts_of_another_width_are_refused():
    with pytest.raises(ValueError, match="contexts must be 4 wide, got 5"):
        represent(initial_layers((4, 2)), as_rows(np.eye(5)))
