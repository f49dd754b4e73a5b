"""The reward model."""

import numpy as np
import pytest
from scipy import sparse

from fairbandits.ope.cross_fitting import CrossFittedRidge


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
