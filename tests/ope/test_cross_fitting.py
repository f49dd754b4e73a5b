"""The reward model."""

import numpy as np
import pytest
from scipy import sparse

from fairbandits.ope.cross_fitting import CrossFittedRidge, assign_folds


def test_sparse_and_dense_features_are_equivalent():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 12)) < 0.2).astype(float)
    arm, fold, reward = rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.random(300)
    models = [CrossFittedRidge(3, 12, folds=2) for _ in range(2)]
    for model, features in zip(models, (X, sparse.csr_array(X)), strict=True):
        model.learn(features, arm, reward, fold)
        model.solve()
        predictions = model.predict(features, fold)
        model.add_residuals(features, arm, reward - predictions[np.arange(300), arm])
    one, two = models
    assert np.allclose(one.predict(X, fold), two.predict(sparse.csr_array(X), fold), atol=1e-12)
    weights = rng.random((3, 12))
    assert one.variance(weights) == pytest.approx(two.variance(weights), rel=1e-9)


def test_arms_that_appear_later():
    """The sums grow by more than the new arms need, and must not be taken for further arms."""
    rng = np.random.default_rng(0)
    model = CrossFittedRidge(n_arms=3, width=2)
    for arms in (2, 3):
        features, arm = rng.random((200, 2)), rng.integers(arms, size=200)
        model.learn(features, arm, rng.random(200), assign_folds(np.arange(200), 5))
    model.solve()
    for arms in (2, 3):
        model.add_residuals(rng.random((200, 2)), rng.integers(arms, size=200), rng.normal(size=200))
    assert model.variance(np.ones((3, 2))) > 0.0
