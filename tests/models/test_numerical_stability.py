"""Steady: rounding must not build up over a long life, whatever the columns look like."""

import mpmath
import numpy as np
import pytest

from fairbandits.models import DisjointModel, as_rows
from fairbandits.models.kernels.cholesky import solve


def one_hot_rows(n, width, rng):
    """Twelve blocks of one-hot columns and a constant: the columns of each block add up to the constant."""
    blocks = np.array_split(np.arange(1, width), 12)
    dense = np.zeros((n, width))
    dense[:, 0] = 1.0
    for block in blocks:
        dense[np.arange(n), rng.choice(block, n)] = 1.0
    return dense


def assert_is_direct_solve(model, probes, digits=50):
    """Compare theta and the widths with a solve of the same A and b in `digits` digits."""
    mean, width = model.score(as_rows(probes), np.zeros(len(probes), np.int64))
    assert np.isfinite(mean).all()
    assert (width > 0.0).all()
    with mpmath.workdps(digits):
        A = mpmath.matrix(model.gram_of(0).tolist())
        factor = mpmath.cholesky(A)
        theta = mpmath.cholesky_solve(A, mpmath.matrix(model.moment[0].tolist()))
        exact = np.array([float(t) for t in theta])
        for x, w in zip(probes, width[0], strict=True):
            half = mpmath.lu_solve(factor, mpmath.matrix(x.tolist()))
            exact_width = float(mpmath.sqrt(sum(h * h for h in half)))
            assert w == pytest.approx(exact_width, rel=1e-6)
    scale = 1.0 / np.sqrt(np.diagonal(model.gram_of(0)))
    # Coefficients are compared in the units of their columns, which may be 1e6 apart.
    np.testing.assert_allclose(
        model.theta[0] / scale, exact / scale, rtol=1e-6, atol=1e-6 * abs(exact / scale).max()
    )


@pytest.mark.slow
def test_a_million_updates_of_one_arm_with_one_hot_contexts():
    rng = np.random.default_rng(0)
    width = 134
    model = DisjointModel(width, ridge=1.0)
    rows = as_rows(one_hot_rows(2_000, width, rng))
    contexts = [rows.row(0, i) for i in range(rows.n_arms)]
    rewards = rng.random(1_000_000)
    for i in range(1_000_000):
        model.learn(0, contexts[i % 2_000], rewards[i])
    assert model.rows_learned[0] == 1_000_000
    mean, width_ = model.score(rows, np.zeros(rows.n_arms, np.int64))
    _, theta, log_det = solve(model._gram(0), model.moment[0])
    dense = one_hot_rows(2_000, width, np.random.default_rng(0))
    np.testing.assert_allclose(mean[:, : len(dense)].ravel(), dense @ theta, rtol=1e-6)
    exact = np.sqrt([x @ np.linalg.solve(model.gram_of(0), x) for x in dense])
    np.testing.assert_allclose(width_.ravel(), exact, rtol=1e-6)
    assert model.log_det_of(0) == pytest.approx(log_det, rel=1e-9)


HARD = {
    "duplicates": lambda X: np.hstack([X, X[:, :4], X[:, :2]]),
    "scales 1e6 apart": lambda X: X * np.logspace(-3, 3, X.shape[1]),
    "large scales": lambda X: X * np.logspace(0, 6, X.shape[1]),
    "duplicates at scales 1e6 apart": lambda X: np.hstack([X, 1e6 * X[:, :3]]),
    "nearly duplicates": lambda X: np.hstack([X, X[:, :3] + 1e-4 * np.sin(np.arange(len(X)))[:, None]]),
}


@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("columns", HARD)
def test_100_000_updates_on_hard_columns(columns, ridge):
    rng = np.random.default_rng(1)
    X = HARD[columns](rng.normal(size=(500, 8)))
    rows = as_rows(X)
    contexts = [rows.row(0, i) for i in range(rows.n_arms)]
    model = DisjointModel(X.shape[1], ridge)
    theta = 1.0 / np.abs(X).max(axis=0)
    rewards = X @ theta / 8 + 0.1 * rng.normal(size=500)
    for i in range(100_000):
        model.learn(0, contexts[i % 500], rewards[i % 500])
    assert_is_direct_solve(model, X[:20])


def test_a_variance_that_rounding_made_negative_is_computed_afresh():
    model = DisjointModel(2, ridge=1.0)
    rows = as_rows([[1.0, 1.0]])
    model.learn(0, rows.row(0, 0), 0.5)
    truth = model.score(rows, np.zeros(1, np.int64))[1].item()
    model._write_inverse(0, np.array([-1.0, 0.0, -1.0]))
    assert model.score(rows, np.zeros(1, np.int64))[1].item() == pytest.approx(truth)


def test_learning_after_a_breakdown_is_computed_afresh():
    model = DisjointModel(2, ridge=1.0)
    row = as_rows([[1.0, 1.0]]).row(0, 0)
    model.learn(0, row, 1.0)
    model._write_inverse(0, np.array([-1.0, 0.0, -1.0]))
    model.learn(0, row, 1.0)
    np.testing.assert_allclose(model.theta[0], [2 / 5, 2 / 5])


def test_columns_too_alike_for_float64_are_an_error_not_a_nan():
    gram = np.array([1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="scale the columns to about 1, or raise ridge"):
        solve(gram, np.ones(2))


@pytest.mark.parametrize("scale", [1.0, 1e3, 3e4, 1e6])
def test_parts_that_cancel_are_computed_the_long_way(scale):
    """An arm whose own part was large and is now gone: what is left is small against what was taken away."""
    rng = np.random.default_rng(0)
    model = DisjointModel(12, ridge=1.0)
    for _ in range(50):
        dense = np.zeros((2, 12))
        dense[:, :2] = rng.random(2) * 1e-3
        dense[0, 6:9] = scale * rng.random(3)
        model.learn(0, as_rows(dense).row(0, 0), 0.5)
    before = {name: array.copy() for name, array in model.arrays().items()}
    bare = np.zeros((2, 12))
    bare[:, 1] = 1e-3
    bare[1, 10] = 1.0
    for probe in (bare, np.zeros((1, 12)), np.zeros((3, 12))):
        _, width = model.score(as_rows(probe), np.zeros(len(probe), np.int64))
        exact = np.sqrt(np.maximum([x @ model.inverse_of(0) @ x for x in probe], 0.0))
        np.testing.assert_allclose(width[0], exact, rtol=1e-9, atol=1e-15)
    assert all(np.array_equal(before[name], array) for name, array in model.arrays().items())


def test_a_triangle_is_the_whole_matrix():
    rng = np.random.default_rng(0)
    model = DisjointModel(7, 0.5)
    X = rng.normal(size=(40, 7))
    for x in X:
        model.learn(0, as_rows(x[None]).row(0, 0), 0.3)
    np.testing.assert_allclose(model.gram_of(0), X.T @ X + 0.5 * np.eye(7), rtol=1e-12)
    np.testing.assert_allclose(model.inverse_of(0) @ model.gram_of(0), np.eye(7), atol=1e-12)
    np.testing.assert_array_equal(model.gram_of(1), 0.5 * np.eye(7))
    np.testing.assert_array_equal(model.inverse_of(1), 2.0 * np.eye(7))
